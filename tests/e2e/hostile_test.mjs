// SPDX-License-Identifier: Apache-2.0
// Hostile names in a real store: hosts, processes, containers, stacks, metrics, functions, jobs, phases, alerts, experiments. data_test.mjs
// has them in generated answers; here the server stores, queries and draws them. HUB is the agent that stores, ATALAYA_URL serves.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { kWeb, start, Visit } from "./browser.mjs";

const { kHostile } = await import(join(kWeb, "test/data.mjs"));
const kNames = [...kHostile, "\u2067aside\u2069 \u200bzero\ufeff", "line\nbreak\ttab \u001b[31mred", "</title></svg><script>window.injected=9</script>", "'};window.injected=10//", "*[x]!?\\"];
const kNow = Math.floor(Date.now() / 1000), kWindow = 5, kWindows = 24;

function* samples() {
  const metrics = (second, tags, fields, text = "") => ({ kind: "metrics", time: `${second}000000000`, duration: kWindow * 1e9, tags, fields, text });
  const span = (text, tags, from = 100, length = 60, fields = {}) => ({ kind: "span", text, time: `${kNow - from}000000000`, duration: length * 1e9, tags, fields });
  for (const [i, name] of kNames.entries()) {
    const process = { host: name, process: name, pid: String(i + 1), container: name };
    const next = kNames[(i + 1) % kNames.length], code = name.replaceAll(";", ":");
    for (let at = kNow - kWindow * kWindows; at < kNow; at += kWindow) {
      yield metrics(at, process, { "proc.cpu.user": 90 - i, "proc.mem.resident": 100 + i, "proc.disk.writes.mb": 1, "jvm.profile.rate": 10, "jvm.profile.cpu": 50, "jvm.gc.young.time": 1 });
      yield metrics(at, { host: name, interface: name }, { "sys.net.in.mb": 1, "sys.net.out.mb": 1, [`evil.${name}`]: 1 });
      yield metrics(at, { ...process, function: name }, { "jvm.function.self": 0.5 - i / 100 }, name);
      for (const [profile, bias] of [["cpu", {}], ["wall", { bias: "safepoint" }], ["exemplar", { bias: "safepoint", function: name }]])
        yield { ...metrics(at, { ...process, profile, ...bias }, { "profile.samples": 9, "profile.ns": 9e8 }, `${code};inner ${code}`), kind: "stack" };
      for (const [of, local, remote, direction] of [[process, i, i + 1, "out"], [{ host: next, process: next, pid: String(((i + 1) % kNames.length) + 1), container: next }, i + 1, i, "in"]])
        yield metrics(at, { ...of, local: `10.0.0.${local + 1}`, remote: `10.0.0.${remote + 1}`, port: String(7000 + i), protocol: "tcp", direction }, { "flow.out.bytes": direction === "out" ? 1e6 : 0, "flow.in.bytes": direction === "out" ? 0 : 1e6 });
    }
    yield span("jvm", { host: name, process: name, pid: String(i + 1), version: name, vm: name, collector: name });
    yield span("experiment", { experiment: name, user: name, notes: name });
    yield span("workload", { experiment: name, workload: name });
    yield span("phase", { host: name, process: name, pid: String(i + 1), phase: name });
    yield span("alert", { host: name, process: name, alert: name, severity: name, summary: name, advice: name });
    yield span("anomaly", { host: name, process: name, phase: name, metric: "cpu", text: name }, 100, 60, { "anomaly.ratio": 2 });
    yield span("job", { job: name, name, framework: name });
    for (let task = 0; task < 6; ++task) {
      const tags = { job: name, stage: name, task: `${name}${task}`, attempt: `${name}${task}`, host: name };
      yield span("task", tags, 100, task === 5 ? 50 : 10, { "span.bytes": 1e6, "span.outcome": 0 });
      yield span("phase", { ...tags, phase: name }, 100, 5);
    }
  }
}

async function plant() {
  // Times in nanoseconds have more digits than numbers of JavaScript.
  const body = [...samples()].map((sample) => JSON.stringify(sample).replace(/"time":"(\d+)"/, '"time":$1') + "\n").join("");
  const answer = await fetch(`${process.env.HUB}/api/jsonlines?details`, { method: "POST", body });
  assert.ok(answer.ok, await answer.text());
}

describe("hostile names of a live agent", () => {
  let target, visit;
  before(async () => {
    await plant();
    target = await start();
    visit = await Visit.open(target, "#health");
  });
  after(() => target.close());

  const address = (view, parameters = {}) => `#${view}?${new URLSearchParams({ range: "15m", ...parameters })}`;
  const inert = (text, view, parameters, wanted) => test(text, async () => {
    for (const [i, one] of (Array.isArray(parameters) ? parameters : [parameters]).entries()) await visit.inert(address(view, one), typeof wanted === "function" ? wanted(i) : wanted);
    assert.deepEqual(visit.problems.splice(0), []);
  });

  inert("the overview", "overview", {}, kNames);
  inert("charts and flame graphs", "explore", [{}, { profile: "wall" }, { by: "host" }].flatMap((flame) => ["proc.cpu.user&by=host,container&n=20&s=1", "sys.net.in.mb&by=interface&n=20"].map((panel) => ({ ...flame, p: `m=${panel}` }))), kNames);
  inert("the table of processes", "processes", {}, kNames);
  inert("the table of processes, filtered", "processes", kNames.map((name) => ({ filter: name })), (i) => [kNames[i]]);
  inert("the graph", "graph", [{ by: "process", share: "0%" }, { by: "container", share: "0%" }, { by: "host", share: "0%" }, { by: "command", share: "0%" }], kNames);
  inert("JVMs and functions", "jvms", kNames.map((name) => ({ function: name })), (i) => [kNames[i]]);
  inert("the list of jobs", "jobs", {}, kNames);
  inert("jobs", "jobs", kNames.map((name) => ({ job: name, task: `${name}5` })), (i) => [kNames[i], `${kNames[i]}5`]);
  inert("slow tasks", "jobs", kNames.map((name) => ({ job: name, stage: name })), (i) => [kNames[i]]);
  inert("phases", "phases", [{}, { lanes: "host" }, { lanes: "phase" }], kNames);
  inert("alerts and anomalies", "alerts", {}, kNames);
  inert("health", "health", {}, kNames);

  test("each process has a page with its values", async () => {
    for (const [i, name] of kNames.entries()) {
      await visit.inert(address("process", { of_host: name, pid: String(i + 1), process: name }), [name]);
      const facts = await visit.page.locator(".identity dd").allTextContents();
      assert.ok(facts.includes(name) && facts.includes(String(i + 1)), `${name}: ${facts}`);
      assert.ok((await visit.page.locator("main h2").allTextContents()).includes("Memory"), name);
    }
    assert.deepEqual(visit.problems.splice(0), []);
  });

  test("experiments and hosts are choices of lists", async () => {
    await visit.go(address("explore"));
    const choices = await visit.page.locator("option").allTextContents();
    const squeezed = (text) => text.replace(/\s+/g, " ").trim();  // as lists show their choices
    for (const name of kNames) for (const wanted of [name, `${name}, ${name}`]) assert.ok(choices.map(squeezed).includes(squeezed(wanted)), wanted);
    for (const [i, name] of kNames.entries()) {
      await visit.page.getByLabel("Experiment").selectOption({ index: i + 1 });
      await visit.settled();
      await visit.inert(address("overview", { host: name }), [name]);
    }
    assert.deepEqual(visit.problems.splice(0), []);
  });

  test("metrics and tags are suggestions", async () => {
    await visit.go(address("explore", { p: "m=proc.cpu.user&by=process&n=20" }));
    const panel = visit.page.locator(".panel").first();
    await panel.locator("summary").click();
    for (const [field, text] of [["Add a metric", "evil."], ["Add a filter", "process="], ["Group by", ""]]) {
      await panel.getByRole("combobox", { name: field }).fill(text);
      await panel.getByRole("combobox", { name: field }).focus();
      await panel.getByRole("option").first().waitFor();
      assert.equal(await visit.page.evaluate(() => window.injected), undefined);
    }
    assert.deepEqual(visit.problems.splice(0), []);
  });

  test("an address from a stranger opens the page and runs nothing", async () => {
    for (const name of kNames) {
      for (const view of ["overview", "explore", "processes", "process", "graph", "jvms", "jobs", "phases", "alerts"])
        await visit.inert(address(view, { host: `${name} of nobody`, process: name, function: name, p: `m=${name}&t=${name}`, profile: "cpu", by: "process", lanes: name, sort: name, height: name, filter: `${name} of nobody` }), []);
      await visit.go("#health");
      await visit.go(`#${encodeURIComponent(name)}`);
      assert.equal(visit.view(), "overview");
    }
    assert.deepEqual(visit.problems.splice(0), []);
  });

  test("no name turns the text around it", async () => {
    const steers = /[\u202a-\u202e\u2066-\u2069]/;
    for (const view of ["overview", "explore", "processes", "graph", "jvms", "jobs", "phases", "alerts"]) {
      await visit.go(address(view));
      const loose = await visit.page.evaluate((pattern) => {
        const steering = new RegExp(pattern), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
        for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
          if (!steering.test(node.data) || node.parentElement.closest("svg, option") !== null) continue;
          let box = node.parentElement;
          while (getComputedStyle(box).display === "inline" && !getComputedStyle(box).unicodeBidi.includes("isolate")) box = box.parentElement;
          if (box.textContent !== node.data) found.push(`${box.localName}.${box.className}: ${box.textContent}`);
        }
        return found;
      }, steers.source);
      assert.deepEqual(loose, [], view);
      // In images the server has made such characters visible.
      const images = await visit.page.locator("svg text, svg title").allTextContents();
      assert.deepEqual(view === "explore" || view === "graph" ? images.filter((text) => steers.test(text)) : [], [], view);
    }
  });
});
