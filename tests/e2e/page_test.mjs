// SPDX-License-Identifier: Apache-2.0
// The page on any store: `npm run e2e` in plugins/commands/serve/web uses generated data, with
// ATALAYA_URL=http://127.0.0.1:8080 a running serve.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { kLive, nameless, roles, start, Visit } from "./browser.mjs";

const kViews = ["overview", "explore", "processes", "graph", "jvms", "jobs", "phases", "alerts", "health"];

describe("the page", () => {
  let target;
  before(async () => (target = await start()));
  after(() => target.close());

  for (const view of kViews)
    for (const width of [1400, 400])
      test(`${view} at ${width} pixels: no error, no request outside, names for all controls, no scrolling to the side`, async () => {
        const visit = await Visit.open(target, `#${view}`, { viewport: { width, height: 900 } });
        assert.equal(await visit.page.locator(".card .error").count(), 0, await visit.page.locator(".card .error").allTextContents());
        assert.ok(await visit.page.locator("main h2").count() > 0);
        assert.deepEqual(await nameless(visit.page), []);
        const seen = await roles(visit.page);
        for (const role of ["main", "navigation", "slider", "heading"]) assert.ok(seen.has(role), `${role} of ${[...seen]}`);
        assert.ok(await visit.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
        await visit.done();
      });

  test("links and number keys open the views", async () => {
    const visit = await Visit.open(target);
    assert.equal(visit.view(), "overview");
    for (const [i, view] of kViews.entries()) {
      await visit.page.locator("nav a").nth(i).click();
      await visit.settled();
      assert.equal(visit.view(), view);
      assert.equal(await visit.page.locator("nav a[aria-current=page]").textContent(), await visit.page.locator("nav a").nth(i).textContent());
    }
    for (const [i, view] of kViews.entries()) {
      await visit.page.keyboard.press(String(i + 1));
      await visit.settled();
      assert.equal(visit.view(), view);
    }
    await visit.page.goBack();
    await visit.settled();
    assert.equal(visit.view(), "alerts");
    await visit.done();
  });

  test("the time line sets the window of all views by mouse and keys", async () => {
    const visit = await Visit.open(target, "#overview?range=15m");
    await visit.drag(visit.page.locator(".strip-picture"), 0.2, 0.6);
    const [from, to] = [Number(visit.state().get("from")), Number(visit.state().get("to"))];
    assert.ok(Math.abs(to - from - 0.4 * 900_000) < 30_000, `${to - from}`);
    const start_slider = visit.page.getByRole("slider", { name: "Start of the window" });
    await start_slider.focus();
    await visit.page.keyboard.press("ArrowLeft");
    await visit.settled();
    assert.equal(Number(visit.state().get("from")), from - 9000);
    assert.equal(await start_slider.getAttribute("aria-valuenow"), String(from - 9000));
    await visit.drag(visit.page.locator(".strip-part"), 0.5, 0.7);
    assert.ok(Number(visit.state().get("from")) > from);
    await visit.page.locator(".strip").dblclick({ position: { x: 5, y: 20 } });
    await visit.settled();
    assert.equal(visit.state().get("from"), null);
    await visit.done();
  });

  // A server that was just started has too few samples to explain a window.
  test("the window is explained on request, and another window has no explanation", { skip: kLive !== undefined }, async () => {
    const visit = await Visit.open(target, "#overview?range=15m");
    const card = visit.page.locator(".explain-card");
    assert.equal(await card.locator(".explanation").count(), 0);
    await card.getByRole("button", { name: "Explain this window" }).click();
    await visit.settled();
    assert.match(await card.locator(".explanation").textContent(), /Ruled out: memory of processes, disk writes/);
    await visit.drag(visit.page.locator(".strip-picture"), 0.2, 0.6);
    await visit.settled();
    assert.equal(await card.locator(".explanation").count(), 0);
    await visit.done();
  });

  test("an address restores the view", async () => {
    const visit = await Visit.open(target, "#explore?range=1h");
    await visit.drag(visit.page.locator(".strip-picture"), 0.3, 0.5);
    await visit.page.getByRole("button", { name: "Compare with before" }).click();
    await visit.settled();
    const facts = async () => [await visit.page.locator(".window-text").textContent(), await visit.page.locator("main h2").allTextContents(), await visit.page.locator(".strip-part").getAttribute("title"), await visit.page.locator(".toolbar").textContent()];
    const before_reload = await facts();
    await visit.page.goto("about:blank");
    await visit.page.goBack();
    await visit.settled();
    assert.deepEqual(await facts(), before_reload);
    await visit.done();
  });

  test("keys move and widen the window", async () => {
    const visit = await Visit.open(target, "#health?range=15m");
    await visit.drag(visit.page.locator(".strip-picture"), 0.4, 0.6);
    const first = Number(visit.state().get("from")), length = Number(visit.state().get("to")) - first;
    await visit.page.keyboard.press("[");
    assert.equal(Number(visit.state().get("from")), first - Math.round(length / 2));
    await visit.page.keyboard.press("]");
    assert.equal(Number(visit.state().get("from")), first);
    await visit.page.keyboard.press("Escape");
    assert.equal(visit.state().get("from"), null);
    await visit.page.keyboard.press("-");
    const [from, to] = visit.state().get("range").split("-").map(Number);
    assert.equal(to - from, 1_800_000);
    await visit.done();
  });

  test("the theme changes by key and button, and stays", async () => {
    const visit = await Visit.open(target, "#overview", { colorScheme: "dark" });
    const background = () => visit.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await background();
    await visit.page.keyboard.press("t");
    const light = await background();
    assert.notEqual(light, dark);
    await visit.page.reload();
    await visit.settled();
    assert.equal(await background(), light);
    await visit.page.getByRole("button", { name: "Theme" }).click();
    assert.equal(await background(), dark);
    await visit.done();
  });

  test("the help opens by key and closes", async () => {
    const visit = await Visit.open(target);
    await visit.page.keyboard.press("?");
    const help = visit.page.getByRole("dialog", { name: "Help" });
    await help.waitFor();
    await visit.page.keyboard.press("Escape");
    await help.waitFor({ state: "hidden" });
    await visit.page.getByRole("button", { name: "Help" }).click();
    await help.getByRole("button", { name: "Close" }).click();
    await help.waitFor({ state: "hidden" });
    await visit.done();
  });

  test("health lists the features of the agent's host, those that are off with the way to turn them on", async () => {
    const visit = await Visit.open(target, "#health");
    await visit.page.locator(".features-card tbody tr").first().waitFor();
    const rows = await visit.page.locator(".features-card tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
    const of_state = (state) => rows.filter((row) => row[2] === state);
    assert.equal(of_state("on").length + of_state("off").length + of_state("unknown").length, rows.length);
    assert.ok(of_state("on").length > 0);
    for (const [feature, , , missing, remedy] of of_state("off")) assert.ok(feature !== "" && missing !== "" && remedy !== "", feature);
    assert.match(await visit.page.locator(".features-card .note").textContent(), new RegExp(`^${of_state("on").length} on`));
    await visit.done();
  });

  test("typed times set the window; wrong ones are explained", async () => {
    const visit = await Visit.open(target, "#health?range=1764000000000-1764003600000");
    await visit.page.locator(".window-text").click();
    const start_field = visit.page.getByRole("textbox", { name: "Start" });
    await start_field.fill("yesterday or so");
    await visit.page.getByRole("button", { name: "Show", exact: true }).click();
    assert.match(await visit.page.locator("dialog .error").textContent(), /Write times such as/);
    await start_field.fill(await visit.page.getByRole("slider", { name: "Start of the window" }).getAttribute("aria-valuetext"));
    await visit.page.getByRole("button", { name: "Show", exact: true }).click();
    assert.equal(visit.state().get("from"), "1764000000000");
    await visit.done();
  });

  test("views that come and go leave no elements and listeners behind", async () => {
    const visit = await Visit.open(target, "#overview?range=1764000000000-1764003600000");
    const session = await visit.page.context().newCDPSession(visit.page);
    await session.send("Performance.enable");
    const count = async () => {
      for (const view of kViews) await visit.go(`#${view}?range=1764000000000-1764003600000`);
      await visit.go("#overview?range=1764000000000-1764003600000");
      for (let i = 0; i < 3; ++i) await session.send("HeapProfiler.collectGarbage");
      const { metrics } = await session.send("Performance.getMetrics");
      return Object.fromEntries(metrics.filter(({ name }) => ["Nodes", "JSEventListeners"].includes(name)).map(({ name, value }) => [name, value]));
    };
    await count();
    const early = await count();
    for (let i = 0; i < (kLive === undefined ? 3 : 1); ++i) await count();
    const late = await count();
    assert.ok(late.JSEventListeners <= early.JSEventListeners * 1.05 + 20, JSON.stringify({ early, late }));
    assert.ok(late.Nodes <= early.Nodes * 1.1 + 200, JSON.stringify({ early, late }));
    await visit.done();
  });
});
