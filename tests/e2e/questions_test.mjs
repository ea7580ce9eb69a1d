// SPDX-License-Identifier: Apache-2.0
// The ten questions of docs/tutorial/slow-job.md, each answered on the page in at most three clicks. page_test.py plants the job of
// slow_job.py in the store of a live agent: BEGIN (ms) is its begin. A drag, and a choice in a list, count as a click.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { start, Visit } from "./browser.mjs";

const kBegin = Number(process.env.BEGIN), kMost = 3;
const second = (count) => kBegin + 1000 * count;
// Steps of the first run: compress, write, network, java; a minute each. The second run begins five minutes later.
const kCompress = [second(300), second(360)], kWrite = [second(360), second(420)], kLater = [second(600), second(840)];
const kRun = 300_000, kJava = 120_000;  // ms from the first run to the second one, and from writing to Java
const middle = ([from, to], later = 0) => (from + to) / 2 + later;
const inside = ([from, to], later = 0) => [from + later + 8000, to + later - 8000];  // a drag ends within a few seconds
const number = (text) => Number(/[\d.]+/.exec(text)[0]);

function near(text, expected, part = 0.05) {
  assert.ok(Math.abs(number(text) - expected) <= part * expected, `${text} is not ${expected}`);
}

// A visit that counts.
class Reader {
  static async open(target) {
    const reader = new Reader();
    reader.clicks = 0;
    reader.visit = await Visit.open(target);
    reader.page = reader.visit.page;
    return reader;
  }

  async did(action) {
    ++this.clicks;
    await action;
    await this.visit.settled();
  }

  view(name) {
    return this.did(this.page.locator("nav a", { hasText: name }).click());
  }

  // A drag on a chart, over a time.
  time(chart, [from, to], options) {
    return this.did(this.visit.drag(chart, this.visit.part(from), this.visit.part(to), options));
  }

  async done() {
    assert.ok(this.clicks <= kMost, `${this.clicks} clicks`);
    await this.visit.done();
  }
}

describe("ten questions about a slow job", () => {
  let target;
  before(async () => (target = await start()));
  after(() => target.close());

  const question = (text, answer) => test(text, async () => {
    const reader = await Reader.open(target);
    await answer(reader, reader.visit, reader.page);
    await reader.done();
  });

  question("1. Which processes used the CPU in a minute?", async (reader, visit, page) => {
    await reader.time(visit.card("CPU by process").locator(".u-over"), inside(kCompress));
    const row = page.locator(".top-card .rows .row[data-at='0']");
    assert.equal(await row.locator(".process").textContent(), "gzip");
    near(await row.locator(".number").nth(1).textContent(), 98);
  });

  question("2. Which process wrote most, and when?", async (reader, visit, page) => {
    await reader.view("Processes");
    await reader.did(page.getByRole("grid", { name: "Processes" }).getByRole("button", { name: "Disk writes" }).click());
    await reader.did(page.locator(".processes-card .rows .row[data-at='0']").click());
    assert.equal(visit.state().get("process"), "dd");
    const disk = visit.card("Disk");
    near((await visit.values_at(disk, middle(kWrite, kRun))).writes, 60);
    await disk.locator(".chart").focus();
    const read = async (key) => {
      await page.keyboard.press(key);
      return page.locator("#announcements").textContent();
    };
    // It wrote in this minute only.
    assert.ok(await read("Home") >= moment(kWrite[0] + kRun) && await read("End") <= moment(kWrite[1] + kRun + 10_000));
  });

  question("3. Why was the host slow at a time?", async (reader, visit, page) => {
    const pressure = visit.card("Pressure: share of time that tasks waited");
    near((await visit.values_at(pressure, middle(kWrite))).disk, 68);
    await reader.time(pressure.locator(".u-over"), kWrite);
    await reader.did(page.getByRole("button", { name: "Explain this window" }).click());
    const text = await page.locator(".explain-card .explanation").textContent();
    assert.match(text, /Disk writes: \+2[2-6]\S* MiB\/s .*most of it: dd/);
    assert.match(text, /I\/O pressure/);
  });

  question("4. Which processes exchange traffic?", async (reader, visit, page) => {
    await reader.view("Graph");
    const cells = await page.locator(".edges-card tbody tr").first().locator("td").allTextContents();
    assert.match(cells[0], /server\.py/);
    assert.match(cells[1], /client\.py/);
    near(cells[2], (60 * 90) / 1024);
    assert.match(cells[2], /GiB/);
  });

  question("5. Where does the time of Java go?", async (reader, visit, page) => {
    await reader.view("JVMs");
    await reader.did(page.locator(".functions-card tbody tr").first().click());
    assert.equal(await visit.page.locator(".detail-card h2").textContent(), "Churn grow");
    assert.equal(await page.locator(".trace li").first().textContent(), "Churn grow (Churn.java:14)");
  });

  question("6. What differs between two times?", async (reader, visit, page) => {
    await reader.view("Explore");
    await reader.time(page.locator(".panel .u-over").first(), inside(kWrite, kRun));
    await reader.did(visit.drag(page.locator(".strip-picture"), ...inside(kWrite).map((time) => outer(visit, time)), { shift: true }));
    const titles = await page.locator(".flame .frames title").allTextContents();
    const copied = titles.find((title) => title.startsWith("copy_from_user_[k]"));
    assert.match(copied, /before 20\.\d+ %, \+50\.\d+/);
  });

  question("7. How long are the garbage collections?", async (reader, visit, page) => {
    await reader.view("Processes");
    await reader.did(page.locator(".processes-card .rows .row", { hasText: "java" }).first().click());
    const run = visit.state().get("pid") === "4206" ? kRun : 0;
    const values = await visit.values_at(visit.card("Time in garbage collections"), middle(kWrite, kJava + run));
    near(values.young, 40);
    near(values.full, 22);
  });

  question("8. What differs between two runs?", async (reader, visit, page) => {
    await reader.view("Explore");
    await reader.did(page.getByLabel("Experiment").selectOption({ label: "after" }));
    await reader.did(page.getByLabel("Compare with").selectOption({ label: "before" }));
    const query = visit.api("flamegraph").at(-1);
    assert.deepEqual(["from", "to", "diff_from", "diff_to"].map((name) => Number(query.get(name))), [...kLater, kCompress[0], kCompress[0] + 240_000]);
    const titles = await page.locator(".flame .frames title").allTextContents();
    const frame = (name) => titles.find((title) => title.startsWith(name));
    assert.match(frame("copy_from_user_[k]"), /, \+1\.2/);
    assert.match(frame("submit_bio_[k]"), /, -1\.2/);
    assert.match(await page.locator(".flame-card h2").textContent(), /difference/);
  });

  question("9. How did the CPU time of the processes develop?", async (reader, visit) => {
    const chart = visit.card("CPU by process");
    const values = await visit.values_at(chart, middle(kCompress));
    near(values.gzip, 98);
    near(values.head, 18, 0.1);
    const later = await visit.values_at(chart, middle(kWrite, kJava));
    near(later.java, 184);
    assert.equal(later.gzip, undefined);
  });

  question("10. How do I show this to somebody else?", async (reader, visit, page) => {
    await reader.time(visit.card("CPU by process").locator(".u-over"), kWrite);
    const seen = async (one) => [await one.locator(".window-text").textContent(), await one.locator(".top-card .rows").textContent()];
    const other = await Visit.open(target, new URL(page.url()).hash);
    assert.deepEqual(await seen(other.page), await seen(page));
    await other.done();
  });
});

// The local time of this host, which serves the page.
function moment(time) {
  return new Date(time - 60_000 * new Date(time).getTimezoneOffset()).toISOString().slice(0, 19).replace("T", " ");
}

// The part of the whole time line at a time.
function outer(visit, time) {
  const query = visit.api("series").filter((one) => one.get("metric") === "sys.cpu.usage" && one.get("points") === "200").at(-1);
  const [from, to] = [Number(query.get("from")), Number(query.get("to"))];
  return (time - from) / (to - from);
}
