// SPDX-License-Identifier: Apache-2.0
// The controls above all views: host, range, window, live, experiments, theme, help.
import { announce, h, replace, select } from "../parts/dom";
import { named_times } from "../data/experiments";
import { current, go, kRanges, moves, outer, refresh, shift, visit, choose, widen, window_span } from "../data/state";
import { next_theme, theme } from "./theme";
import { duration_text, moment_of, moment_text, now, span_text, zone_text } from "../data/time";
import type { Info } from "../data/types";

const kNames: Record<string, string> = { "5m": "5 minutes", "15m": "15 minutes", "1h": "1 hour", "6h": "6 hours", "24h": "24 hours", "7d": "7 days" };

export class Header {
  readonly root = h("div", { class: "controls" });
  readonly page_buttons: HTMLElement;  // of the whole page
  private readonly text = h("button", { type: "button", class: "window-text", title: "Type a start and an end", onclick: () => this.edit() });
  private readonly live = h("button", { type: "button", class: "live", title: "Follow the newest data (l)", onclick: () => toggle_live() }, "Live");
  private readonly theme = h("span", { class: "word" });
  private readonly experiments = h("span");
  private readonly dialog = h("dialog", { class: "times", "aria-label": "Start and end of the window" });

  constructor(private readonly info: Info, help: () => void) {
    this.theme.textContent = `Theme: ${theme()}`;
    this.page_buttons = h("div", { class: "page-buttons" },
      h("button", { type: "button", title: "Theme (t)", "aria-label": "Theme", onclick: () => this.change_theme() }, h("span", { "aria-hidden": "true" }, "◐"), this.theme),
      h("button", { type: "button", title: "Keys and hints (?)", "aria-label": "Help", onclick: help }, h("span", { "aria-hidden": "true" }, "?"), h("span", { class: "word" }, "Help")));
    this.root.append(h("div", { class: "places" }), h("div", { class: "moves" },
      h("button", { type: "button", title: "Earlier ([)", "aria-label": "Earlier", onclick: () => shift(-0.5) }, "◀"),
      this.text,
      h("button", { type: "button", title: "Later (])", "aria-label": "Later", onclick: () => shift(0.5) }, "▶"),
      h("button", { type: "button", title: "Wider (-)", "aria-label": "Wider", onclick: widen }, "−"),
      h("button", { type: "button", title: "Newest data (r)", "aria-label": "Refresh", onclick: refresh }, "⟳"),
      this.live), this.experiments, this.dialog);
    this.load_experiments();
  }

  update(): void {
    const state = current(), span = window_span();
    const ranges = kRanges.map((range) => [range, `last ${kNames[range]}`] as const);
    const known = (kRanges as readonly string[]).includes(state.range);
    const more = known ? [] : [[state.range, moves() ? `last ${state.range}` : `fixed: ${duration_text(outer().to - outer().from)}`] as const];
    const hosts = [...new Set([...this.info.hosts, ...(state.host === "" ? [] : [state.host])])];
    replace(this.root.querySelector(".places")!,
      select("Host", [["", hosts.length === 1 ? hosts[0]! : `all ${hosts.length} hosts`], ...(hosts.length > 1 || state.host !== "" ? hosts.map((host) => [host, host] as const) : [])], state.host, (host) => go({ host })),
      select("Range", [...ranges, ...more], state.range, (range) => go({ range, window: null, live: state.live && (kRanges as readonly string[]).includes(range) })));
    this.text.textContent = `${span_text(span)} (${duration_text(span.to - span.from)}) ${zone_text()}`;
    this.live.setAttribute("aria-pressed", String(state.live));
  }

  change_theme(): void {
    this.theme.textContent = `Theme: ${next_theme()}`;
    announce(this.theme.textContent);
  }

  private edit(): void {
    const span = window_span();
    const from = h("input", { type: "text", value: moment_text(span.from), "aria-label": "Start" }), to = h("input", { type: "text", value: moment_text(span.to), "aria-label": "End" });
    const wrong = h("p", { class: "error", role: "alert" });
    const apply = (event: Event) => {
      event.preventDefault();
      const start = moment_of(from.value), end = to.value.trim() === "now" ? now() : moment_of(to.value);
      if (start === null || end === null || start >= end) {
        wrong.textContent = "Write times such as 2026-11-25 10:31 or 10:31:05; the start is before the end.";
        return;
      }
      this.dialog.close();
      choose({ from: start, to: end });
    };
    replace(this.dialog, h("form", { onsubmit: apply }, h("h2", {}, "Window"), h("label", {}, "Start ", from), h("label", {}, "End ", to), h("p", { class: "muted" }, `Times of the server, ${zone_text()}`), wrong,
      h("div", { class: "buttons" }, h("button", { type: "submit", class: "primary" }, "Show"), h("button", { type: "button", onclick: () => this.dialog.close() }, "Cancel"))));
    this.dialog.showModal();
    from.select();
  }

  private load_experiments(): void {
    named_times().then((times) => {
      if (times.length === 0) return;
      const box = select("Experiment", [["", "choose…"], ...times.map((time, i) => [String(i), time.label] as const)], "", (value) => {
        const time = times[Number(value)];
        if (value !== "" && time !== undefined) visit(time);
      });
      replace(this.experiments, box);
    }, () => undefined);  // the views report a store that cannot be read
  }
}

export function toggle_live(): void {
  const state = current();
  if (state.live) return go({ live: false });
  go({ live: true, window: null, range: moves() ? state.range : "15m" });
}
