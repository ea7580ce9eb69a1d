// SPDX-License-Identifier: Apache-2.0
// The page on generated data, whose answers the tests know: controls, requests, pictures, hostile names.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { kLive, kWeb, start, Visit } from "./browser.mjs";

const { kHostile } = await import(join(kWeb, "test/data.mjs"));
const { start_mock } = await import(join(kWeb, "test/mock.mjs"));
const kRange = "range=1764000000000-1764003600000";

describe("the page on generated data", { skip: kLive !== undefined }, () => {
  let target;
  before(async () => (target = await start()));
  after(() => target.close());

  test("hostile names are text on every view", async () => {
    const visit = await Visit.open(target);
    const inert = (fragment, wanted) => visit.inert(fragment, wanted);
    await inert(`#overview?${kRange}`, kHostile.slice(0, 2));
    await inert(`#explore?${kRange}`, kHostile.slice(0, 2));
    await inert(`#processes?${kRange}`, [...kHostile.filter((name) => !name.includes("desrever")), "<i>pod</i>"]);
    for (const name of kHostile) await inert(`#process?${kRange}&${new URLSearchParams({ of_host: "node-1", pid: "1", process: name })}`, [name]);
    await inert(`#graph?${kRange}`, kHostile.slice(0, 3));
    await inert(`#jvms?${kRange}&${new URLSearchParams({ function: kHostile[0] })}`, [...kHostile.slice(0, 2), "OpenJDK <VM>"]);
    await inert(`#jobs?job=job_2&task=task_7`, kHostile.slice(0, 2));
    await inert(`#jobs?job=job_2&stage=map`, kHostile.slice(0, 1));
    await inert(`#jobs?job=job_2`, [kHostile[0], "terasort <b>1</b>"]);
    await inert(`#phases?${kRange}`, [kHostile[0]]);
    await inert(`#alerts?${kRange}`, [kHostile[1]]);
    await inert(`#health`, ["/etc/atalaya/<b>host</b>.lua", "sink <img src=x onerror=alert(1)>", ...kHostile.slice(0, 2)]);
    assert.ok((await visit.page.locator("header option").allTextContents()).includes(`terasort <b>, ${kHostile[0]}`));
    await visit.done();
  });

  test("an image of a hostile server acts on nothing", async () => {
    const visit = await Visit.open(target, `#explore?${kRange}&${new URLSearchParams({ process: "hostile image" })}`);
    const found = await visit.page.locator(".flame").evaluate((flame) => ({
      names: [...new Set([...flame.querySelectorAll("*")].map((element) => element.localName))].sort(), attributes: [...flame.querySelectorAll("*")].flatMap((element) => element.getAttributeNames()).filter((name) => /^on|href|style/.test(name)),
      outside: flame.outerHTML.includes("192.0.2.1"),
    }));
    assert.deepEqual(found, { names: ["foreignObject", "g", "input", "rect", "svg", "text", "title"], attributes: [], outside: false });
    assert.equal(await visit.page.evaluate(() => window.injected), undefined);
    // The policy of the page blocks such parts while the image is parsed, and says so.
    assert.deepEqual(visit.problems.filter((text) => !text.includes("Content Security Policy")), []);
    visit.problems.length = 0;
    await visit.done();
  });

  test("the server's clock and zone, whatever the browser's are", async () => {
    const visit = await Visit.open(target, "#overview", { timezoneId: "America/New_York" });
    assert.match(await visit.page.locator(".window-text").textContent(), /UTC\+05:30/);
    const { now } = await (await fetch(`${target.base}/api/page/info`)).json();
    const to = Number(visit.api("processes")[0].get("to"));
    assert.ok(Math.abs(now - to) < 60_000, `${now - to}`);
    const wanted = new Date(to + 330 * 60_000).toISOString().slice(11, 16);
    assert.ok((await visit.page.locator(".window-text").textContent()).includes(`– ${wanted}`));
    await visit.done();
  });

  test("a drag on one chart retimes all of them, and the flame graph", async () => {
    const visit = await Visit.open(target, `#explore?${kRange}`);
    const sent = visit.asked.length;
    await visit.drag(visit.page.locator(".panel .u-over").first(), 0.25, 0.5);
    const [from, to] = [visit.state().get("from"), visit.state().get("to")];
    assert.ok(Math.abs(to - from - 900_000) < 30_000);
    const requests = [...visit.api("series", sent).filter((query) => query.get("metric") !== "sys.cpu.usage"), ...visit.api("flamegraph", sent)];
    assert.equal(requests.length, 3);
    for (const query of requests) assert.deepEqual([query.get("from"), query.get("to")], [from, to]);
    await visit.page.goBack();
    await visit.settled();
    assert.equal(visit.state().get("from"), null);
    await visit.done();
  });

  test("a chart by keys: values are read out, a selection is chosen", async () => {
    const visit = await Visit.open(target, `#explore?${kRange}`);
    await visit.page.locator(".panel .chart").first().focus();
    await visit.page.keyboard.press("Home");
    assert.match(await visit.page.locator("#announcements").textContent(), /^2025-11-24 .*: java [\d.]+ %, /);
    for (let i = 0; i < 3; ++i) await visit.page.keyboard.press("PageDown");
    for (let i = 0; i < 4; ++i) await visit.page.keyboard.press("Shift+PageDown");
    await visit.page.keyboard.press("Enter");
    await visit.settled();
    assert.ok(Number(visit.state().get("to")) > Number(visit.state().get("from")));
    await visit.done();
  });

  test("Shift and drag compares two times in a differential flame graph", async () => {
    const visit = await Visit.open(target, `#explore?${kRange}`);
    await visit.drag(visit.page.locator(".strip-picture"), 0.1, 0.3, { shift: true });
    const base = [visit.state().get("base_from"), visit.state().get("base_to")];
    const query = visit.api("flamegraph").at(-1);
    assert.deepEqual([query.get("diff_from"), query.get("diff_to"), query.get("by")], [...base, "name"]);
    assert.match(await visit.page.locator(".flame-card").textContent(), /Flame graph: difference/);
    await visit.page.getByRole("button", { name: "End comparison" }).click();
    await visit.settled();
    const single = visit.api("flamegraph").at(-1);
    assert.deepEqual([single.get("diff_from"), single.get("by")], [null, "process"]);
    await visit.done();
  });

  test("a legend entry hides its series", async () => {
    const visit = await Visit.open(target, `#explore?${kRange}`);
    const entry = visit.page.locator(".panel").first().locator(".legend button").first();
    assert.equal(await entry.getAttribute("aria-pressed"), "true");
    await entry.click();
    assert.equal(await visit.page.locator(".panel").first().locator(".legend button").first().getAttribute("aria-pressed"), "false");
    await visit.done();
  });

  test("panels: suggested metrics and tags by keys, grouping, aggregation, removal, and the address restores them", async () => {
    const visit = await Visit.open(target, `#explore?${kRange}`);
    await visit.page.getByRole("button", { name: "Add a panel" }).click();
    await visit.settled();
    const panel = visit.page.locator(".panel").nth(2);
    const metric = panel.getByRole("combobox", { name: "Add a metric" });
    await metric.fill("disk writes");
    await panel.getByRole("option").first().waitFor();
    assert.match(await panel.getByRole("option").first().textContent(), /^proc\.disk\.writes\.mb/);
    await visit.page.keyboard.press("ArrowDown");
    assert.equal(await panel.getByRole("option").first().getAttribute("aria-selected"), "true");
    await visit.page.keyboard.press("Enter");
    await visit.settled();
    await panel.getByRole("combobox", { name: "Add a filter" }).fill("host=");
    await panel.getByRole("option", { name: "host=node-2" }).click();
    await visit.settled();
    await panel.getByRole("combobox", { name: "Group by" }).fill("proc");
    await panel.getByRole("option", { name: "process" }).click();
    await visit.settled();
    await panel.getByLabel("Aggregate").selectOption("p95");
    await visit.settled();
    await panel.getByLabel("Every").selectOption("1m");
    await visit.settled();
    await panel.getByLabel("Show").selectOption("20");
    await panel.getByLabel("rate").check();
    await visit.settled();
    const query = visit.api("series").at(-1);
    assert.deepEqual(Object.fromEntries(["metric", "tag", "group_by", "aggregate", "every", "top", "rate", "other"].map((key) => [key, query.get(key)])),
      { metric: "proc.disk.writes.mb", tag: "host=node-2", group_by: "process", aggregate: "p95", every: "1m", top: "20", rate: "true", other: null });
    const title = await panel.locator("h2").textContent(), chips = await panel.locator(".chip").allTextContents();
    await visit.page.reload();
    await visit.settled();
    assert.equal(await panel.locator("h2").textContent(), title);
    assert.deepEqual(await panel.locator(".chip").allTextContents(), chips);
    await panel.locator("summary").click();
    await panel.getByRole("button", { name: "Remove host=node-2" }).click();
    await visit.settled();
    assert.equal(visit.api("series").at(-1).get("tag"), null);
    await panel.getByRole("button", { name: "Remove panel" }).click();
    await visit.settled();
    assert.equal(await visit.page.locator(".panel").count(), 2);
    await visit.done();
  });

  test("changes of a panel at once are all kept", async () => {
    const visit = await Visit.open(target, `#explore?${kRange}`);
    const panel = visit.page.locator(".panel").first();
    await panel.locator("summary").click();
    await panel.evaluate((root) => {
      const field = (name) => [...root.querySelectorAll("label")].find((label) => label.textContent.startsWith(name)).querySelector("select, input");
      const choose = (name, value) => {
        field(name).value = value;
        field(name).dispatchEvent(new Event("change"));
      };
      choose("Every", "1m");
      choose("Show", "20");
      field("rate").click();
    });
    await visit.settled();
    const query = visit.api("series").findLast((one) => one.get("metric") === "proc.cpu.user");
    assert.deepEqual([query.get("every"), query.get("top"), query.get("rate")], ["1m", "20", "true"]);
    await visit.done();
  });

  test("the height of all charts", async () => {
    const visit = await Visit.open(target, `#explore?${kRange}`);
    const heights = () => visit.page.locator(".panel .uplot canvas").evaluateAll((all) => all.map((canvas) => canvas.clientHeight));
    assert.deepEqual(await heights(), [180, 180]);
    await visit.page.getByRole("button", { name: "L", exact: true }).click();
    await visit.settled();
    assert.deepEqual(await heights(), [320, 320]);
    await visit.done();
  });

  test("an experiment sets the window, and another one is compared with it", async () => {
    const visit = await Visit.open(target, "#explore");
    await visit.page.getByLabel("Experiment").selectOption({ label: "terasort <b>" });
    await visit.settled();
    assert.equal(Number(visit.state().get("to")) - Number(visit.state().get("from")), 300_000);
    await visit.page.getByLabel("Compare with").selectOption({ label: `terasort <b>, ${kHostile[0]}` });
    await visit.settled();
    const query = visit.api("flamegraph").at(-1);
    assert.equal(query.get("diff_to") - query.get("diff_from"), 100_000);
    await visit.done();
  });

  test("2,000 processes: few elements, sorted by heads, filtered, opened by keys", async () => {
    const visit = await Visit.open(target, `#processes?${kRange}`);
    const table = visit.page.getByRole("grid", { name: "Processes" });
    assert.equal(await table.getAttribute("aria-rowcount"), "2001");
    assert.ok(await table.locator(".rows .row").count() < 80);
    const names = async () => (await table.locator(".rows .row:not([hidden])").evaluateAll((rows) => rows.sort((a, b) => a.dataset.at - b.dataset.at).map((row) => row.querySelector(".process").textContent)));
    await table.getByRole("button", { name: "process" }).click();
    assert.equal(await table.locator("[aria-sort=ascending]").textContent(), "process ▴");
    const sorted = await names();
    assert.deepEqual(sorted, [...sorted].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)));
    await table.focus();
    await visit.page.keyboard.press("End");
    assert.ok((await names()).at(-1) >= sorted.at(-1));
    await visit.page.getByRole("searchbox", { name: "Filter processes" }).fill("__proto");
    await visit.page.waitForFunction(() => document.querySelector("[role=grid]").getAttribute("aria-rowcount") < 100);
    assert.ok((await names()).every((name) => name.startsWith("__proto")));
    await table.focus();
    await visit.page.keyboard.press("Home");
    await visit.page.keyboard.press("Enter");
    await visit.settled();
    assert.equal(visit.view(), "process");
    assert.match(visit.state().get("process"), /^__proto/);
    await visit.page.goBack();
    await visit.settled();
    assert.equal(await visit.page.getByRole("searchbox", { name: "Filter processes" }).inputValue(), "__proto");
    await visit.done();
  });

  test("a process has one colour in charts and tables", async () => {
    const visit = await Visit.open(target, `#overview?${kRange}`);
    const in_legend = await visit.page.locator(".legend button", { hasText: "java" }).first().locator(".swatch").evaluate((swatch) => swatch.style.backgroundColor);
    const in_table = await visit.page.locator(".top-card .row", { hasText: "java" }).first().locator(".swatch").evaluate((swatch) => swatch.style.backgroundColor);
    assert.equal(in_table, in_legend);
    await visit.done();
  });

  test("everything of one process, asked for by its exact name", async () => {
    const name = "*[x]!";
    const visit = await Visit.open(target, `#process?${kRange}&${new URLSearchParams({ of_host: "node-1", pid: "300", process: "java" })}`);
    const titles = await visit.page.locator("main h2").allTextContents();
    for (const title of ["CPU", "Memory", "Disk", "TCP", "Time in garbage collections", "Energy", "Phases", "Flame graph", "Sent to"]) assert.ok(titles.includes(title), title);
    await visit.go(`#process?${kRange}&${new URLSearchParams({ of_host: "node-1", pid: "1", process: name })}`);
    assert.equal(visit.api("process").at(-1).get("process"), "\\*\\[x\\]\\!");
    await visit.done();
  });

  test("the flame graph zooms by click and keys, searches, and says where stacks are", async () => {
    const visit = await Visit.open(target, `#explore?${kRange}`);
    const flame = visit.page.locator(".flame");
    const hidden = () => flame.locator(".frames g[display=none]").count();
    assert.equal(await hidden(), 0);
    await flame.locator(".frames g").nth(1).click();
    assert.ok(await hidden() > 0);
    await flame.focus();
    await visit.page.keyboard.press("Escape");
    assert.equal(await hidden(), 0);
    await visit.page.keyboard.press("ArrowDown");
    await visit.page.keyboard.press("ArrowDown");
    assert.match(await visit.page.locator("#announcements").textContent(), /samples, [\d.]+ %\)$/);
    await visit.page.keyboard.press("Enter");
    assert.ok(await hidden() > 0);
    await flame.locator("input[type=search]").fill("memcpy");
    assert.match(await flame.locator(".matched").textContent(), /Matched: [\d.]+ %/);
    await visit.page.getByLabel("Profile").selectOption("wall");
    await visit.settled();
    assert.match(await visit.page.locator(".flame-card .empty").textContent(), /No wall clock stacks\. Profiles with stacks: cpu, offcpu\..*atalaya run pipelines\/profile\.lua/);
    await visit.done();
  });

  test("the traffic graph, its edges and the heat map", async () => {
    const visit = await Visit.open(target, `#graph?${kRange}`);
    assert.ok(await visit.page.locator(".graph-card svg rect").count() > 10);
    assert.equal(await visit.page.locator(".heat tbody tr").count(), 4);
    await visit.page.locator(".graph-card select").first().selectOption("host");
    await visit.settled();
    assert.equal(visit.api("graph").at(-1).get("by"), "host");
    assert.equal(visit.api("matrix").at(-1).get("by"), "host");
    await visit.page.locator(".graph-card select").nth(1).selectOption("10%");
    await visit.settled();
    assert.equal(visit.api("graph").at(-1).get("min_share"), "10%");
    await visit.done();
  });

  test("a function of the JVMs shows its trace", async () => {
    const visit = await Visit.open(target, `#jvms?${kRange}`);
    assert.match(await visit.page.locator(".numbers").textContent(), /JVMs6.*58\.8 Hz/);
    await visit.page.locator(".functions-card tbody tr", { hasText: "memcpy" }).click();
    await visit.settled();
    assert.equal(await visit.page.locator(".trace li").first().textContent(), "memcpy");
    await visit.done();
  });

  test("a job: tasks, phases, critical path, the flame graph of a task, slow tasks per node, findings", async () => {
    const visit = await Visit.open(target, "#jobs");
    await visit.page.locator(".jobs-card tbody tr").first().focus();
    await visit.page.keyboard.press("Enter");
    await visit.settled();
    assert.equal(visit.state().get("job"), "job_1");
    assert.equal(await visit.page.locator(".tasks-card .lane-bar").count(), 120);
    assert.equal(await visit.page.locator(".scatter circle").count(), 120);
    assert.deepEqual(await visit.page.locator(".nodes-card .bars b").allTextContents(), ["2", "9"]);
    assert.match(await visit.page.locator(".findings-card").textContent(), /was not measured.*3 times slower/);
    assert.match(await visit.page.locator(".lane-bar").first().getAttribute("aria-label"), /(lowest|lower|medium|higher|highest) speed|not graded/);
    assert.match(await visit.page.locator(".path-card").textContent(), /between tasks.*20\.0 %.*as fast as the others.*-25\.0 %.*rough/);
    assert.equal(await visit.page.locator(".flame-card").isVisible(), false);
    await visit.page.locator(".lane-bar[aria-label*='on the critical path']").first().focus();
    await visit.page.keyboard.press("Enter");
    await visit.settled();
    assert.notEqual(visit.state().get("task"), null);
    assert.equal(await visit.page.locator(".flame-card svg").isVisible(), true);
    assert.match(await visit.page.locator(".waits-card").textContent(), /Step 1 of 1 of the critical path.*when its slot became free.*By reason.*disk.*13 s.*By owner, in bursts.*holder of/);
    await visit.page.locator(".tasks-card select").selectOption("map");
    await visit.settled();
    assert.deepEqual([visit.state().get("stage"), visit.state().get("task")], ["map", null]);
    assert.equal(await visit.page.locator(".waits-card").isVisible(), false);
    assert.match(await visit.page.locator(".flame-card").textContent(), /slow tasks of stage map.*\+12 samples per task/);
    await visit.page.locator(".clusters-card select").selectOption("spill");
    await visit.settled();
    await visit.page.getByRole("button", { name: "Show the time of the job" }).click();
    await visit.settled();
    assert.ok(visit.state().get("from") !== null);
    await visit.done();
  });

  test("an alert shows its time", async () => {
    const visit = await Visit.open(target, `#alerts?${kRange}`);
    await visit.page.locator(".alerts-card tbody tr").nth(1).click();
    await visit.settled();
    assert.ok(visit.state().get("from") !== null);
    await visit.done();
  });

  test("a store without a metric: the pipeline that collects it, and no request for it", async () => {
    const context = await target.browser.newContext(), page = await context.newPage(), asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.route("**/api/page/metrics", async (route) => {
      const all = await (await route.fetch()).json();
      await route.fulfill({ json: all.filter(({ name }) => !name.startsWith("proc.net.")) });
    });
    await page.goto(target.base);
    await page.waitForFunction(() => document.querySelector("main .view") !== null && document.querySelector(".card.busy") === null);
    assert.match(await page.locator(".card", { hasText: "Network by process" }).textContent(), /atalaya run pipelines\/network\.lua/);
    assert.ok(!asked.some((url) => url.includes("proc.net.")));
    await context.close();
  });

  test("a host filters all requests", async () => {
    const visit = await Visit.open(target, "#overview");
    const sent = visit.asked.length;
    await visit.page.getByLabel("Host").selectOption("node-2");
    await visit.settled();
    for (const path of ["series", "processes", "spans"]) assert.ok(visit.api(path, sent).every((query) => query.get("host") === "node-2"), path);
    await visit.done();
  });

  test("live mode reads new data, and stops", async () => {
    const context = await target.browser.newContext(), page = await context.newPage(), asked = [];
    page.on("request", (request) => asked.push(request.url()));
    const health = () => asked.filter((url) => url.includes("/api/page/health")).length;
    const pressed = (state) => page.waitForFunction((wanted) => document.querySelector(".live").getAttribute("aria-pressed") === wanted, String(state));
    // The page's time stands still but for runFor(): how fast this machine is changes nothing.
    const settled = async () => {
      await page.clock.runFor(1000);
      await page.waitForFunction(() => document.querySelector(".card.busy, .pending") === null);
    };
    await page.clock.install();
    await page.goto(`${target.base}/#health?range=5m`);
    await page.locator(".agent-card .badge").waitFor();
    await page.clock.pauseAt(Date.now() + 60_000);
    await page.keyboard.press("l");
    await pressed(true);
    await settled();
    const early = health();
    await page.clock.runFor(5000);
    await page.waitForFunction(() => document.querySelector(".card.busy") === null);
    assert.equal(health(), early + 1);
    await page.keyboard.press("l");
    await pressed(false);
    await settled();
    const stopped = health();
    await page.clock.runFor(60_000);
    assert.equal(health(), stopped);
    await context.close();
  });

  test("live mode waits for a slow server", async () => {
    const context = await target.browser.newContext(), page = await context.newPage();
    let asked = 0, release;
    const held = new Promise((resolve) => (release = resolve));
    await page.route("**/api/page/health", async (route) => {
      ++asked;
      await held;
      await route.continue();
    });
    await page.clock.install();
    await page.goto(`${target.base}/#health?range=5m&live=1`);
    await page.locator(".agent-card.busy").waitFor();
    await page.clock.runFor(60_000);
    assert.equal(asked, 1);
    release();
    await page.locator(".agent-card .badge").waitFor();
    await page.clock.runFor(6100);
    await page.waitForFunction(() => document.querySelector(".card.busy") === null);
    assert.ok(asked > 1);
    await context.close();
  });

  test("a server with tokens: the page asks, and asks again after a wrong one", async () => {
    const mock = await start_mock({ token: "secret" });
    const context = await target.browser.newContext(), page = await context.newPage();
    await page.goto(mock.url);
    for (const token of ["wrong", "secret"]) {
      await page.locator("dialog input").fill(token);
      await page.keyboard.press("Enter");
    }
    await page.locator(".overview").waitFor();
    assert.equal(await page.evaluate(() => sessionStorage.getItem("atalaya-token")), "secret");
    assert.ok(!mock.asked.some((url) => url.includes("secret")));
    await context.close();
    await mock.close();
  });

  test("a server that ends is reported, with a way to go on", async () => {
    let mock = await start_mock();
    const port = Number(new URL(mock.url).port);
    const context = await target.browser.newContext(), page = await context.newPage();
    await page.goto(`${mock.url}/#health`);
    await page.locator(".agent-card .badge").waitFor();
    await mock.close();
    await page.keyboard.press("r");
    assert.match(await page.locator(".agent-card .error").textContent(), /Is `atalaya serve` running\?/);
    mock = await start_mock({ port });
    await page.locator(".agent-card .error button").click();
    await page.locator(".agent-card .badge").waitFor();
    await context.close();
    await mock.close();
  });
});
