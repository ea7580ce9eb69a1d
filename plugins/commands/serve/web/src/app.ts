// SPDX-License-Identifier: Apache-2.0
// The page of `atalaya serve`: the frame around the views, and the way from a change of the address to the view.
import "uplot/dist/uPlot.min.css";
import "./app.css";
import { get, text_of, when_token_is_missing } from "./data/api";
import { announce, h } from "./parts/dom";
import { Header } from "./frame/header";
import { Help } from "./frame/help";
import { start_keys } from "./frame/keys";
import { address_of, changed, current, go, moves, outer, refresh, start } from "./data/state";
import { Strip } from "./frame/strip";
import { start_theme } from "./frame/theme";
import { moment_text, set_clock } from "./data/time";
import { ask_for_token } from "./frame/token";
import type { Info } from "./data/types";
import type { Page, View } from "./view";
import { make_alerts } from "./views/alerts";
import { make_explore } from "./views/explore";
import { make_graph } from "./views/graph";
import { make_health } from "./views/health";
import { make_jobs } from "./views/jobs";
import { make_jvms } from "./views/jvms";
import { make_overview } from "./views/overview";
import { make_phases } from "./views/phases";
import { make_process } from "./views/process";
import { make_processes } from "./views/processes";

const kPages: Page[] = [
  { name: "overview", title: "Overview", about: "resources by process", make: make_overview },
  { name: "explore", title: "Explore", about: "charts and flame graphs", make: make_explore },
  { name: "processes", title: "Processes", about: "all processes of a window", make: make_processes },
  { name: "graph", title: "Graph", about: "traffic", make: make_graph },
  { name: "jvms", title: "JVMs", about: "hot functions", make: make_jvms },
  { name: "jobs", title: "Jobs", about: "tasks and findings", make: make_jobs },
  { name: "phases", title: "Phases", about: "lanes of phases", make: make_phases },
  { name: "alerts", title: "Alerts", about: "alerts and anomalies", make: make_alerts },
  { name: "health", title: "Health", about: "the agent itself", make: make_health },
];
// Opened from others.
const kInner: Page[] = [{ name: "process", title: "Process", about: "one process", make: make_process }];
const kInfoMs = 60_000;
const kRestMs = 150;  // between two updates of a view: a held key must not send requests for each step

// A view is another one if its subject is.
function identity(): string {
  const state = current();
  return state.view === "process" ? `process ${state.own.get("of_host")} ${state.own.get("pid")} ${state.own.get("process")}` : state.view;
}

class Frame {
  private view: View | null = null;
  private shown = "";
  private timer = 0;
  private updated = 0;
  private later = 0;
  private readonly nav = h("nav", { "aria-label": "Views" });
  private readonly main = h("main", { id: "view", tabindex: "-1" });
  private readonly strip = new Strip();
  readonly header: Header;

  constructor(page: HTMLElement, private readonly info: Info, help: Help) {
    this.header = new Header(info, () => help.show());
    page.replaceChildren(
      h("a", { class: "skip", href: "#view", onclick: (event: Event) => {
        event.preventDefault();
        this.main.focus();
      } }, "Skip to the view"),
      h("div", { class: "side" }, h("p", { class: "brand" }, "Atalaya"), this.nav, this.header.page_buttons, h("p", { class: "version" }, info.version)),
      h("div", { class: "content" }, h("header", { class: "top" }, this.header.root, this.strip.root), this.main),
      h("div", { id: "announcements", class: "hidden", role: "status", "aria-live": "polite" }), help.root);
    addEventListener("resize", () => this.strip.update());
    document.addEventListener("visibilitychange", () => this.schedule());
  }

  update(): void {
    this.links();
    const wanted = identity();
    const page = [...kPages, ...kInner].find((one) => one.name === current().view);
    if (page === undefined) return go({ view: "overview" }, true);
    this.header.update();
    this.strip.update();
    const fresh = this.shown !== wanted;
    if (fresh) {
      this.view?.close();
      this.view = page.make(this.info);
      this.shown = wanted;
      this.main.replaceChildren(this.view.root);
      this.main.setAttribute("aria-label", page.title);
      document.title = page.name === "process" ? `${current().own.get("process") ?? "process"} – Atalaya` : `${page.title} – Atalaya`;
      this.main.scrollTop = 0;
      announce(page.title);
    }
    this.update_view(fresh);
    this.schedule();
  }

  private update_view(at_once: boolean): void {
    clearTimeout(this.later);
    const rest = kRestMs - (performance.now() - this.updated);
    const waits = rest > 0 && !at_once;
    this.main.classList.toggle("pending", waits);
    if (waits) {
      this.later = window.setTimeout(() => this.update_view(true), rest);
      return;
    }
    this.updated = performance.now();
    this.view?.update();
  }

  redraw(): void {
    this.view?.redraw?.();
  }

  private links(): void {
    const view = current().view;
    const active = view === "process" ? "processes" : view;
    this.nav.replaceChildren(...kPages.map((page, i) => h("a", { href: address_of(changed({ view: page.name })), "aria-current": page.name === active ? "page" : null, title: `${page.about} (${i + 1})` }, page.title)));
    this.nav.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // A refresh ends requests that still run: a slow server would never finish one.
  private follow(): void {
    if (this.main.querySelector(".card.busy") === null) refresh();
    else this.timer = window.setTimeout(() => this.follow(), 1000);
  }

  // In live mode; a hidden page reads nothing.
  private schedule(): void {
    clearTimeout(this.timer);
    if (!current().live || !moves() || document.hidden) return;
    const { from, to } = outer();
    this.timer = window.setTimeout(() => this.follow(), Math.max(5000, Math.min(60_000, (to - from) / 300)));
  }
}

// A store whose newest data is older than the default range opens at its newest data.
function newest_first(info: Info): void {
  const state = current();
  if (location.hash !== "" || info.store.to === null || info.store.to >= outer().from) return;
  const from = Math.max(info.store.from ?? 0, info.store.to - 3600_000);
  if (from < info.store.to) go({ ...state, own: {}, range: `${from}-${info.store.to + 1000}` }, true);
  announce(`The newest data is of ${moment_text(info.store.to)}`);
}

async function begin(): Promise<void> {
  const page = document.getElementById("page");
  if (page === null) return;
  let frame: Frame | null = null;
  start_theme(() => frame?.redraw());
  when_token_is_missing(ask_for_token);
  try {
    const info = await get<Info>("info", location.hash === "" ? { extent: "true" } : {});
    set_clock(info.now, info.utc_offset_minutes);
    const help = new Help();
    frame = new Frame(page, info, help);
    const shown = frame;
    start(() => shown.update());
    start_keys(kPages, () => shown.header, help);
    newest_first(info);
    shown.update();
    // The clocks of browser and server drift apart, and the zone changes twice a year.
    setInterval(() => {
      if (!document.hidden) get<Info>("info").then((next) => set_clock(next.now, next.utc_offset_minutes), () => undefined);
    }, kInfoMs);
  } catch (error) {
    page.replaceChildren(h("div", { class: "error start", role: "alert" }, h("h1", {}, "Atalaya"), h("p", {}, text_of(error)), h("button", { type: "button", onclick: () => void begin() }, "Try again")));
  }
}

void begin();
