// SPDX-License-Identifier: Apache-2.0
// Figures of the page in a real Chromium, with their goals: `node tests/e2e/figures.mjs`. With generated data by default, else with
// ATALAYA_URL and END (ms), the end of the data: `./dev bench page` runs it like this. It prints medians and fails if a goal is missed;
// the figures of a busy machine are no conclusion.
import { kLive, start, Visit } from "./browser.mjs";

const kTimes = Number(process.env.TIMES ?? 5);
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const kEnd = Number(process.env.END ?? 1764000000000), kHour = 3_600_000;
const kDay = `range=${kEnd - 24 * kHour}-${kEnd}`;
const kLast = kLive === undefined ? "" : `?range=${kEnd - kHour}-${kEnd}`;
const panel = new URLSearchParams({ m: "proc.cpu.user", by: "pid", n: "200", e: "5m", s: "1" });

async function repeated(work) {
  const values = [];
  for (let i = 0; i < kTimes; ++i) values.push(await work(i));
  return median(values);
}

// From the navigation to the first painted content, and to charts of all data.
async function paint(target) {
  const seen = [];
  for (let i = 0; i < kTimes; ++i) {
    const visit = await Visit.open(target, `#overview${kLast}`);
    seen.push(await visit.page.evaluate(() => ({ first: performance.getEntriesByName("first-contentful-paint")[0].startTime, charts: performance.now() })));
    await visit.done();
  }
  return [median(seen.map(({ first }) => first)), median(seen.map(({ charts }) => charts))];
}

// From the end of a drag over 24 hours of 200 series to the painted new window, with the time of the answers in it.
async function brush(target) {
  const visit = await Visit.open(target, `#explore?${kDay}&${new URLSearchParams({ p: panel.toString() })}`);
  await visit.page.locator(".panel .u-over").first().waitFor();
  const value = await repeated(async () => {
    const box = await visit.page.locator(".panel .u-over").first().boundingBox();
    await visit.page.mouse.move(box.x + box.width * 0.2, box.y + 60);
    await visit.page.mouse.down();
    await visit.page.mouse.move(box.x + box.width * 0.8, box.y + 60);
    // The listener is there before the button is released: input does not wait for scripts.
    await visit.page.evaluate(() => (window.brushed = new Promise((done) => addEventListener("mouseup", () => {
      const begin = performance.now();
      const settled = () => (document.querySelector(".panel.busy") === null ? requestAnimationFrame(() => done(performance.now() - begin)) : requestAnimationFrame(settled));
      requestAnimationFrame(settled);
    }, { once: true, capture: true }))) && undefined);
    await visit.page.mouse.up();
    const ms = await visit.page.evaluate(() => window.brushed);
    await visit.page.goBack();
    await visit.settled();
    return ms;
  });
  const redraw = await visit.page.evaluate(() => {
    dispatchEvent(new Event("atalaya-theme"));
    const begin = performance.now();
    dispatchEvent(new Event("atalaya-theme"));
    return new Promise((done) => requestAnimationFrame(() => done(performance.now() - begin)));
  });
  await visit.done();
  return [value, redraw];
}

// Long frames while 2,000 rows scroll by the wheel.
async function scroll(target) {
  const visit = await Visit.open(target, `#processes${kLast}`);
  const table = await visit.page.locator(".table").boundingBox();
  await visit.page.mouse.move(table.x + 200, table.y + 200);
  await visit.page.evaluate(() => {
    window.frames_seen = [];
    window.work = [];
    let last = performance.now();
    const next = (now) => {
      window.frames_seen.push(now - last);
      last = now;
      requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
    new PerformanceObserver((list) => window.work.push(...list.getEntries().map((entry) => entry.duration))).observe({ entryTypes: ["longtask"] });
  });
  for (let i = 0; i < 60; ++i) await visit.page.mouse.wheel(0, 700);
  const seen = await visit.page.evaluate(() => ({ frames: window.frames_seen.slice(2), work: window.work, rows: document.querySelectorAll(".rows .row").length }));
  await visit.done();
  return seen;
}

async function flame(target) {
  const visit = await Visit.open(target, `#health`);
  const value = await repeated(async (i) => {
    await visit.page.evaluate(() => (window.begin = performance.now()));
    await visit.go(`#explore?range=${kEnd - 2 * kHour}-${kEnd}&from=${kEnd - kHour + i}&to=${kEnd}`);
    await visit.page.locator(".flame svg").waitFor();
    const ms = await visit.page.evaluate(() => performance.now() - window.begin);
    await visit.go("#health");
    return ms;
  });
  await visit.done();
  return value;
}

const target = await start();
const line = (what, value) => console.log(`${what.padEnd(66)} ${value.padStart(16)}`);
const goal = (what, value, unit, most) => {
  const met = value <= most;
  if (!met) process.exitCode = 1;
  line(what, `${value.toFixed(0)} ${unit}`.trim());
  console.log(`  goal: at most ${most} ${unit}: ${met ? "pass" : "FAIL"}`);
};
try {
  console.log(kLive === undefined ? "generated data" : kLive);
  const [first, charts] = await paint(target);
  goal("first paint", first, "ms", 1000);
  line("all charts and tables of the overview", `${charts.toFixed(0)} ms`);
  const [brushed, redraw] = await brush(target);
  goal("brush over 24 h x 200 series, with the answers", brushed, "ms", 300);
  line("drawing of 200 series", `${redraw.toFixed(0)} ms`);
  const { frames, work, rows } = await scroll(target);
  const sorted = [...frames].sort((a, b) => a - b);
  line(`scrolling of the table of processes (${rows} elements): frame p50, p99`, `${sorted[Math.floor(sorted.length / 2)].toFixed(0)}, ${sorted[Math.floor(sorted.length * 0.99)].toFixed(0)} ms`);
  goal("tasks longer than 50 ms in it", work.length, "", 0);
  goal("flame graph of 1,000,000 samples and charts of Explore, from the click", await flame(target), "ms", 500);
} finally {
  await target.close();
}
