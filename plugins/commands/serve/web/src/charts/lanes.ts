// SPDX-License-Identifier: Apache-2.0
// Spans on a time line, one lane per name: phases, tasks, alerts. Spans of one lane that overlap get rows below each other.
import { colour_of } from "./colours";
import { h, s } from "../parts/dom";
import { choose } from "../data/state";
import { mark_texts, moment_text, duration_text, time_marks } from "../data/time";
import type { Span } from "../data/types";

export interface Bar {
  lane: string;
  name: string;
  from: number;
  to: number | null;
  about: string;
  colour?: string;
  parts?: { name: string; from: number; to: number | null }[];
  open?: () => void;  // instead of choosing its time
}

const kRow = 18, kHead = 22, kMostRows = 600;

interface Placed extends Bar {
  row: number;
}

// First fit by start; a lane takes as many rows as spans overlap.
export function placed(bars: readonly Bar[], window: Span): { bars: Placed[]; lanes: { name: string; row: number; rows: number }[]; rows: number } {
  const lanes = new Map<string, Bar[]>();
  for (const bar of bars) {
    const lane = lanes.get(bar.lane);
    if (lane === undefined) lanes.set(bar.lane, [bar]);
    else lane.push(bar);
  }
  const result: Placed[] = [];
  const places: { name: string; row: number; rows: number }[] = [];
  let row = 0;
  for (const [name, list] of [...lanes].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const ends: number[] = [];
    for (const bar of list.sort((a, b) => a.from - b.from)) {
      let free = ends.findIndex((end) => end <= bar.from);
      if (free < 0) free = ends.push(0) - 1;
      ends[free] = bar.to ?? window.to;
      result.push({ ...bar, row: row + free });
    }
    places.push({ name, row, rows: ends.length });
    row += ends.length;
  }
  return { bars: result, lanes: places, rows: row };
}

export class Lanes {
  readonly root = h("div", { class: "lanes", role: "group", "aria-label": "Time line of spans" });

  show(all: readonly Bar[], window: Span): HTMLElement {
    const { bars, lanes, rows } = placed(all.filter((bar) => bar.from < window.to && (bar.to ?? window.to) > window.from), window);
    const shown_rows = Math.min(rows, kMostRows);
    const height = kHead + shown_rows * kRow;
    const at = (ms: number) => (100 * (Math.max(window.from, Math.min(window.to, ms)) - window.from)) / (window.to - window.from);
    const names = h("div", { class: "lane-names" }, ...lanes.filter((lane) => lane.row < kMostRows).map((lane) => {
      const label = h("div", { class: "lane-name", title: lane.name }, lane.name);
      label.style.height = `${lane.rows * kRow}px`;
      return label;
    }));
    const marks = time_marks(window.from, window.to, innerWidth < 720 ? 3 : 8), texts = mark_texts(marks);
    const svg = s("svg", { width: "100%", height: String(height), role: "presentation" },
      ...marks.map((mark, i) => s("g", {}, s("line", { class: "lane-grid", x1: `${at(mark)}%`, x2: `${at(mark)}%`, y1: String(kHead - 4), y2: String(height) }),
        s("text", { class: "lane-mark", x: `${at(mark)}%`, y: "13", "text-anchor": at(mark) > 92 ? "end" : at(mark) < 4 ? "start" : "middle" }, texts[i]!.replace("\n", " ")))),
      ...lanes.filter((lane) => lane.row < kMostRows).map((lane) => s("line", { class: "lane-line", x1: "0", x2: "100%", y1: String(kHead + lane.row * kRow), y2: String(kHead + lane.row * kRow) })),
      ...bars.filter((bar) => bar.row < kMostRows).map((bar) => this.bar(bar, at, window)));
    this.root.replaceChildren(names, h("div", { class: "lane-picture" }, svg));
    if (rows > kMostRows) this.root.append(h("p", { class: "muted" }, `The first ${kMostRows} of ${rows} rows are shown. Choose a shorter window.`));
    return this.root;
  }

  private bar(bar: Placed, at: (ms: number) => number, window: Span): SVGElement {
    const to = bar.to ?? window.to, y = kHead + bar.row * kRow + 2;
    const box = (from: number, end: number, top: number, height: number, fill: string) =>
      s("rect", { x: `${at(from)}%`, width: `${Math.max(0.15, at(end) - at(from))}%`, y: String(top), height: String(height), fill, rx: "2" });
    const what = `${bar.name}: ${moment_text(bar.from)}, ${bar.to === null ? "still open" : duration_text(to - bar.from)}${bar.about === "" ? "" : ", " + bar.about}`;
    const parts = (bar.parts ?? []).map((part) => {
      const piece = box(part.from, part.to ?? to, y + 8, 6, colour_of(part.name));
      piece.append(s("title", {}, `${part.name}: ${duration_text((part.to ?? to) - part.from)} of ${what}`));
      return piece;
    });
    const open = bar.open ?? (() => choose({ from: bar.from, to: Math.max(to, bar.from + 1000) }));
    return s("g", {
      class: "lane-bar", tabindex: "0", role: "button", "aria-label": what, onclick: open,
      onkeydown: (event: Event) => {
        if ((event as KeyboardEvent).key !== "Enter") return;
        event.stopPropagation();
        open();
      },
    }, box(bar.from, to, y, 14, bar.colour ?? colour_of(bar.name)), s("title", {}, what), ...parts);
  }
}
