// SPDX-License-Identifier: Apache-2.0
// One chart over time: lines or stacked areas of named series. A drag chooses a window for all views; with Shift, the time to
// compare with. All charts share one cursor.
import uPlot from "uplot";
import { area_path } from "./area_path";
import { Legend } from "./legend";
import { add_keys } from "./chart_keys";
import { colour_at, colour_of, rest_colour } from "./colours";
import { h } from "../parts/dom";
import { choose, compare } from "../data/state";
import { is_dark } from "../frame/theme";
import { mark_texts, moment_text, time_marks } from "../data/time";
import type { Span } from "../data/types";
import { axis_steps, value_text } from "../data/units";

export interface Line {
  name: string;
  unit: string | null;
  values: (number | null | undefined)[];
  overlay?: boolean;  // a line over stacked areas
  rest?: boolean;     // the sum of all series that are not shown
  process?: string;   // whose colour it has
}
export interface ChartData {
  window: Span;
  times: number[];
  lines: Line[];
  stacked: boolean;
}

const kManyLines = 40;  // from here on without effects that redraw all of them
const kSync = uPlot.sync("atalaya");

// Each area starts on those before it. A process without a value in an interval used nothing, unless nobody has one.
export function stack(lines: readonly Line[], length: number): (number | null)[][] {
  const sums = new Array<number>(length).fill(0);
  const known = new Array<boolean>(length).fill(false);
  for (const line of lines) line.values.forEach((value, i) => (known[i] ||= typeof value === "number"));
  return lines.map((line) => sums.map((sum, i) => (known[i] ? (sums[i] = sum + (line.values[i] ?? 0)) : null)));
}

export class Chart {
  readonly root: HTMLElement;
  private readonly place = h("div", { class: "plot" });
  private readonly tip = h("div", { class: "tip", "aria-hidden": "true" });
  private readonly legend: Legend;
  private plot: uPlot | null = null;
  private shape = "";
  private data: ChartData | null = null;
  private hidden = new Set<string>();
  private inside = false;
  private readonly sizes: ResizeObserver;

  constructor(private readonly title: string, private height = 150) {
    this.root = h("div", { class: "chart", role: "group", "aria-roledescription": "chart", tabindex: "0" }, this.place, this.tip);
    this.legend = new Legend((name) => this.toggle(name), (name) => this.emphasise(name));
    this.root.append(this.legend.root);
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(this.place);
    add_keys(this.root, () => this.plot, (i) => this.readout(i));
  }

  show(data: ChartData): void {
    this.data = data;
    this.root.setAttribute("aria-label", `${this.title}: ${data.lines.length} series. Arrow keys read values, Shift and arrow keys select, Enter zooms.`);
    const shape = JSON.stringify([data.stacked, data.lines.map((line) => [line.name, line.unit, line.overlay])]);
    if (this.plot !== null && shape === this.shape) {
      this.plot.setData(this.columns(), false);
      this.plot.setScale("x", { min: data.window.from, max: data.window.to });
    } else {
      this.shape = shape;
      this.build();
    }
    this.legend.values(this.values_at(null));
  }

  // The known data in a new window, until that of the window comes. Many lines take as long to draw as the answer to come.
  preview(window: Span): void {
    if (this.plot === null || this.data === null || this.data.lines.length > kManyLines) return;
    this.data = { ...this.data, window };
    this.plot.setScale("x", { min: window.from, max: window.to });
  }

  resize(height = this.height): void {
    this.height = height;
    const width = Math.floor(this.place.clientWidth);
    if (this.plot !== null && width > 0 && (this.plot.width !== width || this.plot.height !== height)) this.plot.setSize({ width, height });
  }

  width(): number {
    return this.place.clientWidth;
  }

  redraw(): void {
    if (this.data !== null) this.build();
  }

  close(): void {
    this.sizes.disconnect();
    this.plot?.destroy();
    this.plot = null;
  }

  private columns(): uPlot.AlignedData {
    const { times, lines, stacked } = this.data!;
    const shown = (line: Line) => !this.hidden.has(line.name);
    const areas = stacked ? lines.filter((line) => line.overlay !== true && shown(line)) : [];
    const stacks = stack(areas, times.length);
    const columns = lines.map((line) => {
      const at = areas.indexOf(line);
      return at >= 0 ? stacks[at]! : line.values;
    });
    return [times, ...columns] as uPlot.AlignedData;
  }

  private build(): void {
    const data = this.data!;
    this.plot?.destroy();
    this.place.replaceChildren();
    this.plot = new uPlot(this.options(data), this.columns(), this.place);
    this.plot.over.addEventListener("mouseenter", () => (this.inside = true));
    this.plot.over.addEventListener("mouseleave", () => {
      this.inside = false;
      this.tip.hidden = true;
    });
    this.tip.hidden = true;
    this.legend.show(data.lines.map((line) => ({ name: line.name, colour: this.colour(line), dashed: line.overlay === true })), this.hidden);
  }

  private colour(line: Line): string {
    if (line.overlay === true) return is_dark() ? "#e6e9ed" : "#1b1f24";
    if (line.rest === true) return rest_colour();
    const { lines } = this.data!;
    const same = line.process === undefined ? [] : lines.filter((one) => one.process === line.process);
    return same.length === 1 ? colour_of(line.process!) : colour_at(lines.indexOf(line));
  }

  private options(data: ChartData): uPlot.Options {
    const units = [...new Set(data.lines.map((line) => line.unit))].slice(0, 2);
    const ink = is_dark() ? "#9aa4b0" : "#5b6470", grid = is_dark() ? "#262d36" : "#e6e9ed";
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif", gap: 4 };
    const many = data.lines.length > kManyLines;
    const below = data.stacked ? this.areas_below(data.lines) : [];
    const scales: uPlot.Scales = { x: { time: false, range: () => [this.data!.window.from, this.data!.window.to] } };
    units.forEach((_, i) => (scales[`y${i}`] = { range: (_u, low, high) => [Math.min(0, low ?? 0), Math.max((high ?? 0) * 1.05, 1e-9)] }));
    return {
      width: Math.max(200, Math.floor(this.place.clientWidth)),
      height: this.height,
      ms: 1,
      scales,
      legend: { show: false },
      padding: [8, units.length > 1 ? 0 : 28, 0, 0],
      cursor: {
        y: false,
        points: { show: !many && !data.stacked },
        drag: { x: true, y: false, setScale: false },
        sync: { key: kSync.key, setSeries: false },
        ...(many || data.stacked ? {} : { focus: { prox: 12 } }),
      },
      focus: { alpha: 0.25 },
      axes: [
        {
          ...axis,
          size: (_u, texts) => (texts?.some((text) => text?.includes("\n")) === true ? 36 : 22),
          splits: (u, _i, low, high) => time_marks(low, high, Math.max(2, u.width / 90)),
          values: (_u, marks) => mark_texts(marks),
        },
        ...units.map((unit, i): uPlot.Axis => {
          const steps = axis_steps(unit);
          return {
            ...axis,
            scale: `y${i}`,
            side: i === 0 ? 3 : 1,
            size: 68,
            space: 28,
            grid: { ...axis.grid, show: i === 0 },
            values: (_u, marks) => marks.map((mark) => value_text(mark, unit)),
            ...(steps === undefined ? {} : { incrs: steps }),
          };
        }),
      ],
      series: [{}, ...data.lines.map((line, i) => this.series(line, units.indexOf(line.unit), below[i]))],
      hooks: {
        setCursor: [(u) => this.follow(u)],
        setSelect: [(u) => this.selected(u)],
      },
    };
  }

  // `below`: the column of the area below, undefined for a line.
  private series(line: Line, unit: number, below: number | undefined): uPlot.Series {
    const colour = this.colour(line);
    const is_area = below !== undefined;
    return {
      label: line.name,
      scale: `y${Math.max(0, unit)}`,
      stroke: colour,
      width: is_area ? 0.75 : 1.5,
      show: !this.hidden.has(line.name),
      points: { show: false },
      spanGaps: false,
      ...(is_area ? { fill: `${colour}c0`, paths: area_path(below) } : {}),
      ...(line.overlay === true ? { dash: [6, 4] } : {}),
    };
  }

  // By line: the column of the area below it, 0 for the first area, undefined for what is no area.
  private areas_below(lines: readonly Line[]): (number | undefined)[] {
    let below = 0;
    return lines.map((line, i) => {
      if (line.overlay === true) return undefined;
      const found = below;
      if (!this.hidden.has(line.name)) below = i + 1;
      return found;
    });
  }

  private toggle(name: string): void {
    if (!this.hidden.delete(name)) this.hidden.add(name);
    this.build();
    this.legend.values(this.values_at(null));
  }

  private emphasise(name: string | null): void {
    if (this.plot === null || this.data === null || this.data.lines.length > kManyLines) return;
    const at = this.data.lines.findIndex((line) => line.name === name);
    this.plot.setSeries(at < 0 ? null : at + 1, { focus: true });
  }

  // At an index, or the last known ones.
  private values_at(i: number | null): string[] {
    return this.data!.lines.map((line) => {
      let at = i ?? line.values.length - 1;
      while (i === null && at > 0 && typeof line.values[at] !== "number") --at;
      return value_text(line.values[at], line.unit);
    });
  }

  private readout(i: number): string {
    const { times, lines } = this.data!;
    const top = this.largest(i, 3).map((line) => `${line.name} ${value_text(line.values[i], line.unit)}`);
    return `${moment_text(times[i]!)}: ${top.length === 0 ? `no value of ${lines.length} series` : top.join(", ")}`;
  }

  private largest(i: number, count: number): Line[] {
    const known = this.data!.lines.filter((line) => typeof line.values[i] === "number" && !this.hidden.has(line.name));
    return known.sort((a, b) => b.values[i]! - a.values[i]!).slice(0, count);
  }

  private follow(u: uPlot): void {
    const i = u.cursor.idx ?? null;
    this.legend.values(this.values_at(u.cursor.left !== undefined && u.cursor.left >= 0 ? i : null));
    if (!this.inside || i === null || (u.cursor.left ?? -1) < 0) {
      this.tip.hidden = true;
      return;
    }
    const rows = this.largest(i, 8).map((line) => {
      const swatch = h("i", { class: "swatch" });
      swatch.style.backgroundColor = this.colour(line);
      return h("div", {}, swatch, h("span", {}, line.name), h("b", {}, value_text(line.values[i], line.unit)));
    });
    this.tip.replaceChildren(h("div", { class: "when" }, moment_text(this.data!.times[i]!)), ...rows);
    this.tip.hidden = false;
    const left = u.over.offsetLeft + u.cursor.left!, room = this.place.clientWidth;
    this.tip.style.transform = `translate(${left > room / 2 ? left - this.tip.offsetWidth - 12 : left + 12}px, 8px)`;
  }

  private selected(u: uPlot): void {
    if (u.select.width < 4) return;
    const from = u.posToVal(u.select.left, "x"), to = u.posToVal(u.select.left + u.select.width, "x");
    const compares = u.cursor.event?.shiftKey === true;
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (compares) compare({ from, to });
    else choose({ from, to });
  }
}
