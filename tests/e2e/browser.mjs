// SPDX-License-Identifier: Apache-2.0
// A real Chromium on the page of `serve`. Every page that a test opens is watched: an error on its console, an exception of its script or
// a request to another host fails the test.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const kWeb = join(dirname(fileURLToPath(import.meta.url)), "../../plugins/commands/serve/web");
const { chromium } = createRequire(join(kWeb, "package.json"))("playwright-core");
const { start_mock } = await import(join(kWeb, "test/mock.mjs"));

const kFlags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-precise-memory-info"];
export const kLive = process.env.ATALAYA_URL;  // of a running serve; without it the tests use generated data
export const kPatience = 60_000;

export async function start() {
  const mock = kLive === undefined ? await start_mock() : null;
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: kFlags });
  return { base: kLive ?? mock.url, mock, browser, close: async () => {
    await browser.close();
    await mock?.close();
  } };
}

// Problems of a page, except failures of requests that the test expects.
export function watch(page, base) {
  const problems = [], asked = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(`console: ${message.text()}`);
  });
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("pageerror", (error) => problems.push(`script: ${error.stack}`));
  page.on("request", (request) => {
    asked.push(request.url());
    if (!request.url().startsWith(base + "/") && !request.url().startsWith("data:")) problems.push(`request outside: ${request.url()}`);
  });
  return { problems, asked };
}

// As the server writes controls and characters that steer the direction of writing into images.
function visible(name) {
  const hex = (sign, length) => sign.codePointAt(0).toString(16).padStart(length, "0");
  return name.replace(/[\u0000-\u001f\u007f]/g, (sign) => `\\x${hex(sign, 2)}`).replace(/[\u0080-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, (sign) => `\\u{${hex(sign, 1)}}`);
}

export class Visit {
  constructor(page, base, watched) {
    Object.assign(this, { page, base, ...watched });
  }

  static async open({ browser, base }, fragment = "", options = {}) {
    const context = await browser.newContext({ viewport: { width: 1400, height: 1000 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(kPatience);
    const visit = new Visit(page, base, watch(page, base));
    await page.goto(`${base}/${fragment}`);
    await visit.settled();
    return visit;
  }

  // All cards of the view have their answers, and are drawn.
  async settled() {
    await this.page.waitForFunction(() => document.querySelector("main .view, .error.start, dialog[open]") !== null && document.querySelector(".card.busy, .pending") === null);
    await this.painted();
  }

  async painted() {
    await this.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }

  async go(fragment) {
    await this.page.evaluate((hash) => (location.hash = hash), fragment);
    await this.settled();
  }

  // The parameters of the address.
  state() {
    return new URLSearchParams(new URL(this.page.url()).hash.split("?")[1] ?? "");
  }

  view() {
    return new URL(this.page.url()).hash.replace(/^#|\?.*/g, "") || "overview";
  }

  // Requests of the API since a count.
  api(path, since = 0) {
    return this.asked.slice(since).filter((url) => new URL(url).pathname === `/api/page/${path}`).map((url) => new URL(url).searchParams);
  }

  card(title) {
    return this.page.locator(".card", { has: this.page.getByRole("heading", { name: title, exact: true }) });
  }

  // The window of the last charts, and the part of it at a time in ms.
  part(time) {
    const query = this.api("series").filter((one) => one.get("metric") !== "sys.cpu.usage").at(-1);
    const [from, to] = [Number(query.get("from")), Number(query.get("to"))];
    return (time - from) / (to - from);
  }

  // The texts that a chart shows under the mouse at a time, by series.
  async values_at(card, time) {
    const chart = card.locator(".u-over");
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.boundingBox();
    await this.page.mouse.move(box.x + box.width * this.part(time), box.y + box.height / 2);
    await card.locator(".tip .when").waitFor();
    await this.painted();
    return Object.fromEntries(await card.locator(".tip div:not(.when)").evaluateAll((rows) => rows.map((row) => [row.querySelector("span").textContent, row.querySelector("b").textContent])));
  }

  // A view that shows hostile names runs none of them, and shows these.
  async inert(fragment, wanted) {
    await this.go(fragment);
    const text = await this.page.locator("body").evaluate((body) => body.textContent);
    for (const name of wanted) assert.ok(text.includes(name) || text.includes(visible(name)), `${fragment}: ${name}`);
    const facts = await this.page.evaluate(() => ({
      injected: window.injected, title: /^[\w ]+ – Atalaya$/.test(document.title) || location.hash.startsWith("#process?"),
      pictures: document.querySelectorAll("img, iframe, object, embed, b > b, i[onclick]").length, scripts: document.scripts.length,
      handlers: [...document.querySelectorAll("*")].flatMap((element) => [...element.attributes]).filter(({ name }) => name.startsWith("on")).length,
      links: [...document.links].filter((link) => !link.getAttribute("href").startsWith("#")).length,
    }));
    assert.deepEqual(facts, { injected: undefined, title: true, pictures: 0, scripts: 1, handlers: 0, links: 0 }, fragment);
  }

  async drag(locator, from, to, options = {}) {
    await locator.scrollIntoViewIfNeeded();
    const box = await locator.boundingBox(), y = box.y + box.height / 2;
    if (options.shift) await this.page.keyboard.down("Shift");
    await this.page.mouse.move(box.x + box.width * from, y);
    await this.page.mouse.down();
    await this.page.mouse.move(box.x + box.width * ((from + to) / 2), y);
    await this.page.mouse.move(box.x + box.width * to, y);
    await this.page.mouse.up();
    if (options.shift) await this.page.keyboard.up("Shift");
    await this.settled();
  }

  async done() {
    assert.deepEqual(this.problems, []);
    await this.page.context().close();
  }
}

// Elements that a user can operate, but that have no name for a screen reader.
export async function nameless(page) {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  const operable = new Set(["button", "link", "textbox", "searchbox", "combobox", "checkbox", "slider", "listbox", "grid", "dialog", "region", "navigation"]);
  await session.detach();
  return nodes.filter((node) => !node.ignored && operable.has(node.role?.value) && (node.name?.value ?? "") === "").map((node) => node.role.value);
}

export async function roles(page) {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  await session.detach();
  return new Set(nodes.filter((node) => !node.ignored).map((node) => node.role?.value));
}
