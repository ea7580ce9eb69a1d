// SPDX-License-Identifier: Apache-2.0
// Two browsers in live mode that go through all views: `MINUTES=30 node tests/e2e/soak.mjs`. After a warm-up of a third of the time it
// collects garbage and notes the memory and elements of both pages 20 times, and of the processes SERVER_PID and AGENT_PID.
// It fails if one of them grows: by the law of growth.mjs, with the allowances below. LEAK=1 plants a leak in the first page, so that
// it must fail. `./dev soak page` runs it.
import { readFileSync } from "node:fs";
import { setTimeout as after } from "node:timers/promises";
import { start, Visit } from "./browser.mjs";
import { growth, kPerHour } from "./growth.mjs";

const kMinutes = Number(process.env.MINUTES ?? 30), kNotes = 20, kMs = 60_000;
const kViews = ["overview", "explore", "processes", "graph", "jvms", "jobs", "phases", "alerts", "health"];
const kStay = 3000;  // ms in a view
const kRange = kMinutes < 15 ? "1m" : "5m";  // it is full of data when the warm-up ends
// A rise over the whole run that is none: of memory in bytes, else elements. Allocators and caches grow in steps, a browser keeps a
// list of its last requests, and the largest answer of serve has as many processes as the host.
const kAllowances = { "JS heap": 2 ** 20, elements: 500, listeners: 100, serve: 2 ** 24, agent: 2 ** 22 };

async function facts(session) {
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  const value = (name) => metrics.find((metric) => metric.name === name).value;
  return { "JS heap": value("JSHeapUsedSize"), elements: value("Nodes"), listeners: value("JSEventListeners") };
}

function resident(variable) {
  const pid = process.env[variable];
  return pid === undefined ? {} : { [variable === "SERVER_PID" ? "serve" : "agent"]: 1024 * Number(/VmRSS:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) };
}

async function opened(first) {
  const target = await start(), visit = await Visit.open(target, `#${kViews[first]}?range=${kRange}&live=1`);
  const session = await visit.page.context().newCDPSession(visit.page);
  await session.send("Performance.enable");
  return { target, visit, session, at: first, views: 0, leaks: process.env.LEAK === "1" && first === 0 };
}

// Clicks on one view after the other until the time is over. All notes are made in the first view: others have other sizes.
async function go_through(browser, until) {
  while (Date.now() < until) {
    browser.at = (browser.at + 1) % kViews.length;
    ++browser.views;
    await browser.visit.page.locator(`nav a[href^="#${kViews[browser.at]}"]`).click();
    await browser.visit.settled();
    if (browser.leaks) await browser.visit.page.evaluate(() => (window.leaked ??= []).push(Array.from({ length: 16384 }, Math.random)));
    await after(Math.min(kStay, Math.max(0, until - Date.now())));
  }
  await browser.visit.page.locator(`nav a[href^="#${kViews[0]}"]`).click();
  await browser.visit.settled();
}

const shown = (value) => (Math.abs(value) > 1e5 ? `${(value / 2 ** 20).toFixed(1)} MiB` : value.toFixed(0));
const browsers = [await opened(0), await opened(1)];
const begin = Date.now(), warm = (kMinutes * kMs) / 3, step = (kMinutes * kMs - warm) / kNotes, notes = [];
for (let i = 0; i <= kNotes; ++i) {
  const until = begin + warm + i * step;
  await Promise.all(browsers.map((browser) => go_through(browser, until)));
  const note = { ...resident("SERVER_PID"), ...resident("AGENT_PID") };
  for (const [number, { session }] of browsers.entries())
    for (const [name, value] of Object.entries(await facts(session))) note[`${name} of page ${number + 1}`] = value;
  notes.push(note);
  console.log(`${((Date.now() - begin) / kMs).toFixed(1)} min: ${Object.entries(note).map(([name, value]) => `${name} ${shown(value)}`).join(", ")}`);
}
let problems = 0;
for (const name of Object.keys(notes[0])) {
  const allowance = kAllowances[name.replace(/ of page \d+$/, "")];
  const { mean, rise, bound, grows } = growth(notes.map((note) => note[name]), step / 1000, allowance);
  problems += grows ? 1 : 0;
  console.log(`${name.padEnd(24)} mean ${shown(mean).padStart(10)}, rise ${shown(rise).padStart(10)}, bound ${shown(bound).padStart(10)}: ${grows ? "FAIL" : "pass"}`);
}
for (const { visit, target, views } of browsers) {
  console.log(`${views} views, ${visit.asked.length} requests`);
  for (const problem of visit.problems) console.log(problem);
  problems += visit.problems.length;
  await visit.page.context().close();
  await target.close();
}
console.log(`goal: no rise beyond ${100 * kPerHour} % per hour and the allowance, no problem on a page: ${problems === 0 ? "pass" : "FAIL"}`);
process.exitCode = problems === 0 ? 0 : 1;
