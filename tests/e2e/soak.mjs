// SPDX-License-Identifier: Apache-2.0
// Two browsers in live mode: `MINUTES=30 node tests/e2e/soak.mjs` prints memory and elements of both once a minute, after a collection of
// garbage; it fails if the last third needs more than the second one. With SERVER_PID also the memory of a running serve (ATALAYA_URL).
import { readFileSync } from "node:fs";
import { setTimeout as after } from "node:timers/promises";
import { start, Visit } from "./browser.mjs";

const kMinutes = Number(process.env.MINUTES ?? 30), kGrowth = 1.1;
const targets = [await start(), await start()];
const views = ["#overview?range=5m&live=1", "#explore?range=5m&live=1"];
const seen = [];

async function facts(session) {
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  const value = (name) => metrics.find((metric) => metric.name === name).value;
  return [value("JSHeapUsedSize"), value("Nodes"), value("JSEventListeners")];
}

function server_bytes() {
  const pid = process.env.SERVER_PID;
  return pid === undefined ? [] : [Number(/VmRSS:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) * 1024];
}

const visits = [], sessions = [];
for (const [i, target] of targets.entries()) {
  const visit = await Visit.open(target, views[i]);
  const session = await visit.page.context().newCDPSession(visit.page);
  await session.send("Performance.enable");
  visits.push(visit);
  sessions.push(session);
}
for (let minute = 1; minute <= kMinutes; ++minute) {
  await after(60_000);
  const row = [...(await facts(sessions[0])), ...(await facts(sessions[1])), ...server_bytes()];
  seen.push(row);
  console.log(`${minute} min: ${row.map((value) => (value > 1e5 ? `${(value / 2 ** 20).toFixed(1)} MiB` : value)).join(", ")}; requests ${visits.map((visit) => visit.asked.length).join(", ")}`);
}
const third = Math.floor(seen.length / 3), mean = (rows, i) => rows.reduce((sum, row) => sum + row[i], 0) / rows.length;
const grown = third < 2 ? [] : seen[0].flatMap((_, i) => (mean(seen.slice(-third), i) > kGrowth * mean(seen.slice(third, 2 * third), i) ? [i] : []));
for (const visit of visits) {
  for (const problem of visit.problems) console.log(problem);
  await visit.page.context().close();
}
for (const target of targets) await target.close();
console.log(grown.length === 0 ? "no growth" : `growth of the values ${grown.map((i) => i + 1).join(", ")}`);
process.exitCode = grown.length === 0 ? 0 : 1;
