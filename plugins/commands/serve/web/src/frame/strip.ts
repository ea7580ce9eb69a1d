// SPDX-License-Identifier: Apache-2.0
// The time line above all views: the CPU of the hosts over the whole range, and the chosen window as a part of it. Drag to choose,
// drag the part to move it, drag an end or use the arrow keys to change it.
import { address, exactly, get } from "../data/api";
import { known_of } from "../data/catalogue";
import { announce, h, s } from "../parts/dom";
import { choose, compare, current, go, outer, window_span } from "../data/state";
import { mark_texts, moment_text, span_text, time_marks } from "../data/time";
import type { SeriesAnswer, Span } from "../data/types";

const kHeight = 44;
type Grip = "from" | "to" | "both" | "new";

export class Strip {
  readonly root: HTMLElement;
  private readonly picture = s("svg", { class: "strip-picture", preserveAspectRatio: "none", "aria-hidden": "true" });
  private readonly marks = h("div", { class: "strip-marks", "aria-hidden": "true" });
  private readonly part = h("div", { class: "strip-part" });
  private readonly base = h("div", { class: "strip-base", title: "The time to compare with" });
  private readonly ends: Record<"from" | "to", HTMLElement>;
  private key = "";
  private abort = new AbortController();
  private dragged: { grip: Grip; at: number; span: Span } | null = null;
  private pending: Span | null = null;

  constructor() {
    this.ends = { from: this.end("from", "Start of the window"), to: this.end("to", "End of the window") };
    this.root = h("div", { class: "strip", role: "group", "aria-label": "Time line" }, this.picture, this.marks, this.base, this.part, this.ends.from, this.ends.to);
    this.root.addEventListener("pointerdown", (event) => this.down(event));
    this.root.addEventListener("pointermove", (event) => this.move(event));
    this.root.addEventListener("pointerup", (event) => this.up(event));
    this.root.addEventListener("pointercancel", () => this.drop());
    this.root.addEventListener("dblclick", () => go({ window: null }));
  }

  update(): void {
    const { from, to } = outer();
    this.place(this.pending ?? window_span());
    const inside = (mark: number) => this.percent(mark) > 2 && this.percent(mark) < 97;  // else their text is cut
    const marks = time_marks(from, to, Math.max(2, this.root.clientWidth / 110)).filter(inside);
    const texts = mark_texts(marks);
    this.marks.replaceChildren(...marks.map((mark, i) => {
      const label = h("span", {}, texts[i]!.replace("\n", " "));
      label.style.left = `${this.percent(mark)}%`;
      return label;
    }));
    void this.load();
  }

  private end(which: "from" | "to", label: string): HTMLElement {
    return h("div", { class: `strip-end ${which}`, role: "slider", tabindex: "0", "aria-label": label, "data-grip": which, onkeydown: (event: Event) => this.press(event as KeyboardEvent, which) });
  }

  private percent(ms: number): number {
    const { from, to } = outer();
    return Math.max(0, Math.min(100, (100 * (ms - from)) / (to - from)));
  }

  private time_at(x: number): number {
    const box = this.root.getBoundingClientRect(), { from, to } = outer();
    return from + (to - from) * Math.max(0, Math.min(1, (x - box.left) / box.width));
  }

  private place(span: Span): void {
    const [left, right] = [this.percent(span.from), this.percent(span.to)];
    const all = current().window === null && this.pending === null;
    this.root.classList.toggle("whole", all);
    this.part.style.left = `${left}%`;
    this.part.style.width = `${Math.max(0.2, right - left)}%`;
    this.part.title = span_text(span);
    const range = outer();
    for (const [which, at] of [["from", left], ["to", right]] as const) {
      const end = this.ends[which];
      end.style.left = `${at}%`;
      end.setAttribute("aria-valuemin", String(range.from));
      end.setAttribute("aria-valuemax", String(range.to));
      end.setAttribute("aria-valuenow", String(Math.round(span[which])));
      end.setAttribute("aria-valuetext", moment_text(span[which]));
    }
    const base = current().baseline;
    this.base.hidden = base === null || base.to <= range.from || base.from >= range.to;
    if (base === null) return;
    this.base.style.left = `${this.percent(base.from)}%`;
    this.base.style.width = `${Math.max(0.3, this.percent(base.to) - this.percent(base.from))}%`;
  }

  private async load(): Promise<void> {
    const { from, to } = outer();
    const query = { metric: "sys.cpu.usage", from, to, points: 200, host: exactly(current().host) };
    const key = address("series", query);
    if (key === this.key) return;
    this.key = key;
    this.abort.abort();
    this.abort = new AbortController();
    try {
      const [metric] = await known_of([query.metric]);
      if (metric === undefined || this.key !== key) return;
      this.draw(await get<SeriesAnswer>("series", query, this.abort.signal));
    } catch {
      // The time line works without a picture; the view says why there is no data.
      if (this.key === key) this.picture.replaceChildren();
    }
  }

  private draw(answer: SeriesAnswer): void {
    const { from, to } = outer();
    const values = answer.series[0]?.values ?? [];
    const most = values.reduce<number>((top, value) => Math.max(top, value ?? 0), 1);
    let path = "", open = false;
    answer.times.forEach((time, i) => {
      const value = values[i];
      const right = (1000 * (time - from)) / (to - from), left = right - (1000 * answer.every) / (to - from);
      if (typeof value !== "number") {
        if (open) path += `V${kHeight}Z`;
        open = false;
        return;
      }
      const y = (kHeight - (kHeight - 4) * (value / most)).toFixed(1);
      path += open ? `V${y}H${right.toFixed(1)}` : `M${left.toFixed(1)} ${kHeight}V${y}H${right.toFixed(1)}`;
      open = true;
    });
    if (open) path += `V${kHeight}Z`;
    this.picture.setAttribute("viewBox", `0 0 1000 ${kHeight}`);
    this.picture.replaceChildren(s("path", { d: path, class: "strip-area" }));
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0) return;
    const target = event.target as HTMLElement;
    const grip: Grip = event.shiftKey ? "new" : (target.dataset.grip as Grip | undefined) ?? (target === this.part && current().window !== null ? "both" : "new");
    this.dragged = { grip, at: this.time_at(event.clientX), span: window_span() };
    this.root.setPointerCapture(event.pointerId);
  }

  private move(event: PointerEvent): void {
    if (this.dragged === null) return;
    const { grip, at, span } = this.dragged;
    const to = this.time_at(event.clientX), range = outer();
    if (grip === "new") this.pending = { from: Math.min(at, to), to: Math.max(at, to) };
    else if (grip === "both") {
      const by = Math.max(range.from - span.from, Math.min(range.to - span.to, to - at));
      this.pending = { from: span.from + by, to: span.to + by };
    } else this.pending = grip === "from" ? { from: Math.min(to, span.to - 1000), to: span.to } : { from: span.from, to: Math.max(to, span.from + 1000) };
    this.place(this.pending);
  }

  private up(event: PointerEvent): void {
    const span = this.pending;
    this.drop();
    if (span === null || span.to - span.from < 1000) return;
    if (event.shiftKey) compare(span);
    else choose(span);
  }

  private drop(): void {
    this.dragged = null;
    this.pending = null;
    this.place(window_span());
  }

  private press(event: KeyboardEvent, which: "from" | "to"): void {
    const range = outer(), span = { ...window_span() };
    const step = Math.max(1000, Math.round((range.to - range.from) / (event.shiftKey ? 20 : 100)));
    const by = { ArrowLeft: -step, ArrowDown: -step, ArrowRight: step, ArrowUp: step }[event.key];
    if (by !== undefined) span[which] += by;
    else if (event.key === "Home" && which === "from") span.from = range.from;
    else if (event.key === "End" && which === "to") span.to = range.to;
    else return;
    event.preventDefault();
    event.stopPropagation();
    span[which] = Math.max(range.from, Math.min(range.to, span[which]));
    if (span.to - span.from < 1000) return;
    go({ window: span.from <= range.from && span.to >= range.to ? null : { from: Math.round(span.from), to: Math.round(span.to) } }, true);
    announce(span_text(window_span()));
  }
}
