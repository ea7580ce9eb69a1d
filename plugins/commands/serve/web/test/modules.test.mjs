// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { module_of } from "./modules.mjs";

test("values have the units that readers expect", async () => {
  const { value_text, unit_text, axis_steps, count_text } = await module_of("data/units");
  const cases = [
    [1536, "By", "1.5 KiB"], [1, "MiBy", "1 MiB"], [1024, "MiBy", "1 GiB"], [0.5, "MiBy/s", "512 KiB/s"], [2.5, "Mibit/s", "2.5 Mibit/s"], [2048, "Mibit/s", "2 Gibit/s"], [0, "By", "0 B"],
    [153.26, "%", "153.3 %"], [0.1234, "%", "0.123 %"], [1500, "ms", "1.5 s"], [0.02, "ms", "20 µs"], [3e9, "ns", "3 s"], [7200, "s", "2 h"], [0.25, "s/s", "250 ms/s"],
    [190000, "1", "190 k"], [12, "/s", "12 /s"], [40, "Cel", "40 °C"], [3, "{core}", "3 cores"], [null, "By", "–"], [NaN, "%", "–"], [-2048, "By", "-2 KiB"], [5, null, "5"],
  ];
  for (const [value, unit, text] of cases) assert.equal(value_text(value, unit), text);
  assert.equal(unit_text("proc.cpu.user", "%"), "% of one core");
  assert.equal(unit_text("sys.mem.usage", "%"), "%");
  assert.ok(axis_steps("MiBy").every((step) => Number.isInteger(Math.log2(step))));
  assert.equal(axis_steps("%"), undefined);
  assert.equal(count_text(1234567), "1\u202f234\u202f567");
});

test("times are those of the server's zone", async () => {
  const time = await module_of("data/time");
  time.set_clock(Date.now(), 330);
  const at = Date.UTC(2026, 10, 25, 20, 15, 5);
  assert.equal(time.moment_text(at), "2026-11-26 01:45:05");
  assert.equal(time.moment_of("2026-11-26 01:45:05"), at);
  assert.equal(time.moment_of("25 o'clock"), null);
  assert.equal(time.zone_text(), "UTC+05:30");
  for (const most of [2, 5, 9]) {
    const marks = time.time_marks(at, at + 86_400_000, most);
    assert.ok(marks.length >= 1 && marks.length <= most + 1, `${marks.length} of ${most}`);
    for (const mark of marks) assert.equal(time.clock_text(mark).slice(3), "00:00");
  }
  assert.deepEqual([500, 1500, 65_000, 3_600_000, 90_000_000].map(time.duration_text), ["500 ms", "1.5 s", "1 min 5 s", "1 h", "1 d 1 h"]);
  assert.equal(time.relative_ms("15m"), 900_000);
  assert.equal(time.relative_ms("<b>"), null);
});

test("time without any value is a gap", async () => {
  const { with_gaps } = await module_of("charts/gaps");
  assert.deepEqual(with_gaps([10, 20, 60, 70], 10, [[1, 2, 3, 4], [5, null, 7, 8]]), [[10, 20, 30, 60, 70], [1, 2, null, 3, 4], [5, null, null, 7, 8]]);
  assert.deepEqual(with_gaps([10, 20, 30], 10, [[1, 2, 3]]), [[10, 20, 30], [1, 2, 3]]);
  assert.deepEqual(with_gaps([10, 60, 110], 10, [[1, 2, 3]]), [[10, 60, 110], [1, 2, 3]]);  // a source that is slower than the interval
  assert.deepEqual(with_gaps([], 10, [[]]), [[], []]);
  // Each value keeps its time, and a pause is between no two values.
  for (let seed = 1; seed < 200; ++seed) {
    const times = Array.from({ length: 60 }, (_, i) => i + 1).filter((i) => (Math.floor(i / 5) * seed * 7919) % 11 < 6).map((i) => 5 * i), values = times.map((time) => time / 5);
    const [shown, column] = with_gaps(times, 5, [values]);
    const known = shown.flatMap((time, i) => (column[i] === null ? [] : [[time, column[i]]]));
    assert.deepEqual(known, times.map((time, i) => [time, values[i]]));
    for (let i = 1; i < shown.length; ++i) {
      assert.ok(shown[i] > shown[i - 1]);
      if (column[i] !== null && column[i - 1] !== null) assert.equal(shown[i] - shown[i - 1], 5);
    }
  }
});

test("a stack's areas sum to the values, and its gaps are those of all series", async () => {
  const { stack } = await module_of("charts/chart");
  const lines = [{ values: [1, 2, null, null] }, { values: [null, 3, null, 5] }];
  assert.deepEqual(stack(lines, 4), [[1, 2, null, 0], [1, 5, null, 5]]);
});

test("overlapping spans of a lane are in different rows, and no two lanes share one", async () => {
  const { placed } = await module_of("charts/lanes");
  const bars = Array.from({ length: 200 }, (_, i) => ({ lane: `lane ${i % 7}`, name: String(i), from: (i * 37) % 500, to: ((i * 37) % 500) + 20 + (i % 30), about: "" }));
  const { bars: found, lanes, rows } = placed(bars, { from: 0, to: 1000 });
  assert.equal(found.length, bars.length);
  for (const a of found) for (const b of found) if (a !== b && a.row === b.row) assert.ok(a.lane === b.lane && (a.to <= b.from || b.to <= a.from));
  assert.equal(lanes.reduce((sum, lane) => sum + lane.rows, 0), rows);
});

test("a panel is the same after its address", async () => {
  const { panel_of_text, text_of_panel } = await module_of("parts/panel");
  const panel = { metrics: ["a.b", "c&d"], tags: ["process=<img>", "x=\\*"], by: ["host", "process"], aggregate: "p95", every: "1m-max", top: 20, rate: true, stacked: false };
  assert.deepEqual(panel_of_text(text_of_panel(panel)), panel);
  const hostile = panel_of_text("m=x&a=evil&e=;drop&n=1e9&by=,,");
  assert.deepEqual([hostile.aggregate, hostile.every, hostile.top, hostile.by], ["zimsum", "", 8, []]);
});

test("an address with nonsense is the default state", async () => {
  const { address_of, current } = await module_of("data/state");
  assert.equal(address_of(current()), "#overview");
  globalThis.location.hash = "#graph?range=99999999d&from=5&to=4&host=a%26b&live=1&by=host";
  const again = await module_of("data/state");
  assert.deepEqual({ ...again.current(), own: String(again.current().own) }, { view: "graph", range: "15m", window: null, baseline: null, host: "a&b", live: true, own: "by=host" });
  assert.equal(again.address_of(again.current()), "#graph?host=a%26b&live=1&by=host");
  globalThis.location.hash = "";
});

test("suggestions contain all words; starts come first", async () => {
  const { matching } = await module_of("parts/combo");
  const all = ["sys.mem.total", "proc.mem.resident", "mem"].map((value) => ({ value, about: "size" }));
  assert.deepEqual(matching(all, "mem").map(({ value }) => value), ["mem", "sys.mem.total", "proc.mem.resident"]);
  assert.deepEqual(matching(all, "mem proc").map(({ value }) => value), ["proc.mem.resident"]);
  assert.deepEqual(matching(all, "nothing"), []);
});

test("an exact text fits only itself", async () => {
  const { exactly, address } = await module_of("data/api");
  assert.equal(exactly("*[a]?!~\\ plain"), "\\*\\[a\\]\\?\\!\\~\\\\ plain");
  assert.equal(address("series", { metric: "a&b", host: "", top: 0, tag: ["x=1", "y=2"] }), "/api/page/series?metric=a%26b&top=0&tag=x%3D1&tag=y%3D2");
});

test("features of any shape are read, those that are off first, with what to do", async () => {
  const { features_of } = await module_of("data/health_facts");
  for (const value of [null, 5, "x", {}]) assert.equal(features_of(value), null);
  assert.deepEqual(features_of([null, 5, {}]), [{ feature: "", kind: "", state: "unknown", needs: [] }]);
  const need = (name, met) => ({ name, met, if_missing: `without ${name}`, remedy: `get ${name}` });
  const found = features_of([{ feature: "a", kind: "source", state: "on", needs: [need("x", "yes")] }, { feature: "b", kind: "sink", state: "off", problem: "cannot be opened", needs: [need("y", "no"), need("z", "yes")] }]);
  assert.deepEqual(found, [
    { feature: "b", kind: "sink", state: "off", needs: [{ name: "plugin", missing: "cannot be opened", remedy: "" }, { name: "y", missing: "without y", remedy: "get y" }] },
    { feature: "a", kind: "source", state: "on", needs: [] }]);
});

test("a status of any shape is read, and its losses are listed", async () => {
  const { status_of, troubles } = await module_of("data/health_facts");
  for (const value of [null, 5, "x", [], { ledger: "x" }, { ledger: [null, 5, {}] }]) assert.doesNotThrow(() => status_of(value));
  const status = status_of({ balanced: false, ledger: [{ pipeline: "p", component: "c", type: "sink", errors: 2, reasons: { filtered: 5, "queue full": 3 } }] });
  assert.deepEqual(troubles(status), ["The ledger is not balanced", "p, c: 3 samples dropped (queue full)", "p, c: 2 errors"]);
});
