// SPDX-License-Identifier: Apache-2.0
// Two browsers in live mode that go through all views: `MINUTES=30 node tests/e2e/soak.mjs`. After a warm-up of a third of the time it
// collects garbage and notes the memory and elements of both pages 20 times, and of the processes SERVER_PID and AGENT_PID.
// It fails if one of them grows: if the slope of the straight line through its values, less two standard errors, is more than
// 10 % of their mean per hour. `./dev soak page` runs it.
import { readFileSync } from "node:fs";
import { setTimeout as after } from "node:timers/promises";
import { start, Visit } from "./browser.mjs";

const kMinutes = Number(process.env.MINUTES ?? 30), kNotes = 20, kGrowth = 0.1, kMs = 60_000;
const kViews = ["overview", "explore", "processes", "graph", "jvms", "jobs", "phases", "alerts", "health"];
const kStay = 3000;  // ms in a view

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
  const target = await start(), visit = await Visit.open(target, `#${kViews[first]}?range=5m&live=1`);
  const session = await visit.page.context().newCDPSession(visit.page);
  await session.send("Performance.enable");
  return { target, visit, session, at: first, views: 0 };
}

// Clicks on one view after the other until the time is over. All notes are made in the first view: others have other sizes.
async function go_through(browser, until) {
  while (Date.now() < until) {
    browser.at = (browser.at + 1) % kViews.length;
    ++browser.views;
    await browser.visit.page.locator(`nav a[href^="#${kViews[browser.at]}"]`).click();
    await browser.visit.settled();
    await after(Math.min(kStay, Math.max(0, until - Date.now())));
  }
  await browser.visit.page.locator(`nav a[href^="#${kViews[0]}"]`).click();
  await browser.visit.settled();
  browser.at = 0;
}

// Of equidistant values.
function slope_of(values) {
  const n = values.length, mean = values.reduce((sum, value) => sum + value, 0) / n, middle = (n - 1) / 2;
  const spread = values.reduce((sum, _, i) => sum + (i - middle) ** 2, 0);
  const slope = values.reduce((sum, value, i) => sum + (i - middle) * (value - mean), 0) / spread;
  const rest = values.reduce((sum, value, i) => sum + (value - mean - slope * (i - middle)) ** 2, 0);
  return { mean, slope, error: Math.sqrt(rest / (n - 2) / spread) };
}

const shown = (value) => (value > 1e5 ? `${(value / 2 ** 20).toFixed(1)} MiB` : value.toFixed(0));
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
  const { mean, slope, error } = slope_of(notes.map((note) => note[name]));
  const hour = (3_600_000 / step) * 100 / mean, grows = (slope - 2 * error) * hour > 100 * kGrowth;
  problems += grows ? 1 : 0;
  console.log(`${name.padEnd(24)} mean ${shown(mean).padStart(10)}, ${(slope * hour).toFixed(1)} % per hour (standard error ${(error * hour).toFixed(1)}): ${grows ? "FAIL" : "pass"}`);
}
for (const { visit, target, views } of browsers) {
  console.log(`${views} views, ${visit.asked.length} requests`);
  for (const problem of visit.problems) console.log(problem);
  problems += visit.problems.length;
  await visit.page.context().close();
  await target.close();
}
console.log(`goal: no growth beyond ${100 * kGrowth} % per hour, no problem on a page: ${problems === 0 ? "pass" : "FAIL"}`);
process.exitCode = problems === 0 ? 0 : 1;
