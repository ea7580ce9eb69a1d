// SPDX-License-Identifier: Apache-2.0
// A card with a chart of queries. Each query is one request; the server aggregates, and the page draws.
import uPlot from "uplot";
import { address, exactly, get, type Query } from "../data/api";
import { known_of } from "../data/catalogue";
import { Card, hint_element, type Hint } from "../parts/card";
import { Chart, type Line } from "./chart";
import { h } from "../parts/dom";
import { with_gaps } from "./gaps";
import { current, window_span } from "../data/state";
import type { Series, SeriesAnswer } from "../data/types";
import { unit_text } from "../data/units";

export interface Ask {
  metrics: string[];       // the server adds them up
  label?: string;          // of a query with one series
  is?: Record<string, string>;  // exact values of tags
  tags?: string[];         // KEY=PATTERN
  group_by?: string[];
  aggregate?: string;
  every?: string;
  top?: number;
  rate?: boolean;
  other?: boolean;
  overlay?: boolean;
}
export interface Spec {
  title: string;
  asks: Ask[];
  stacked: boolean;
  hint: Hint;
  height?: number;
}

function query_of(ask: Ask, points: number): Query {
  const { from, to } = window_span();
  return {
    metric: ask.metrics.join(","),
    from: Math.round(from),
    to: Math.round(to),
    ...(ask.every === undefined || ask.every === "" ? { points } : { every: ask.every }),
    host: ask.is?.host === undefined ? exactly(current().host) : undefined,
    tag: [...Object.entries(ask.is ?? {}).map(([key, value]) => `${key}=${exactly(value)}`), ...(ask.tags ?? [])],
    aggregate: ask.aggregate,
    group_by: ask.group_by?.join(","),
    top: ask.top,
    rate: ask.rate === true ? "true" : undefined,
    other: ask.other === true ? "true" : undefined,
  };
}

// Null if the store has none of the metrics.
async function series_of(ask: Ask, query: Query, signal: AbortSignal): Promise<SeriesAnswer | null> {
  const metrics = await known_of(ask.metrics);
  return metrics.length === 0 ? null : get<SeriesAnswer>("series", { ...query, metric: metrics.join(",") }, signal);
}

export const kRest = "all others";

export function line_name(ask: Ask, { name, tags, other }: Series): string {
  if (other === true) return kRest;
  const grouped = (ask.group_by ?? []).map((key) => tags[key]).filter((value) => value !== undefined && value !== "");
  const label = grouped.join(" ");
  if (label === "") return ask.label ?? (name === "" ? ask.metrics.join(" ") : name);
  return ask.label === undefined ? label : `${label} ${ask.label}`;
}

export class ChartCard {
  readonly card: Card;
  private readonly chart: Chart;
  private readonly warnings = h("p", { class: "warnings" });
  private shown = false;

  constructor(private spec: Spec, name = "chart-card") {
    this.card = new Card(spec.title, name);
    this.chart = new Chart(spec.title, spec.height);
  }

  change(spec: Spec): void {
    this.spec = spec;
    this.card.title(spec.title);
  }

  update(): void {
    const points = Math.max(60, Math.min(720, Math.round((this.card.body.clientWidth || 600) / 3 / 20) * 20));
    const { asks } = this.spec;
    const queries = asks.map((ask) => query_of(ask, points));
    const key = queries.map((query) => address("series", query)).join(" ");
    const window = window_span();
    if (this.shown && !current().live) this.chart.preview(window);
    void this.card.run("series", key, async (signal) => Promise.all(queries.map((query, i) => series_of(asks[i]!, query, signal))), (answers) => this.draw(answers, window));
  }

  resize(height: number): void {
    this.chart.resize(height);
  }

  redraw(): void {
    if (this.shown) this.chart.redraw();
  }

  close(): void {
    this.card.close();
    this.chart.close();
  }

  private draw(answers: (SeriesAnswer | null)[], window: { from: number; to: number }): void {
    const tables: uPlot.AlignedData[] = [];
    const lines: Omit<Line, "values">[] = [];
    answers.forEach((answer, i) => {
      const ask = this.spec.asks[i]!;
      if (answer === null || answer.series.length === 0) return;
      const several = this.spec.asks.length > 1 && !(ask.overlay ?? false) && this.spec.asks.filter((one) => one.overlay !== true).length > 1;
      for (const series of answer.series)
        lines.push({ name: line_name(several && ask.label === undefined ? { ...ask, label: ask.metrics.join(" ") } : ask, series), unit: answer.unit, ...(ask.overlay === true ? { overlay: true } : {}), ...(series.other === true ? { rest: true } : {}), ...(series.tags.process === undefined ? {} : { process: series.tags.process }) });
      tables.push(with_gaps(answer.times, answer.every, answer.series.map((series) => series.values)));
    });
    if (lines.every((line) => line.overlay === true)) {
      this.shown = false;
      this.card.show(hint_element(this.spec.hint));
      this.card.say("");
      return;
    }
    const [times, ...columns] = tables.length === 1 ? tables[0]! : uPlot.join(tables);
    if (!this.shown || !this.card.body.contains(this.chart.root)) this.card.show(this.chart.root, this.warnings);
    this.shown = true;
    const units = [...new Set(answers.map((answer, i) => (answer === null ? "" : unit_text(this.spec.asks[i]!.metrics[0] ?? "", answer.unit))))];
    this.card.say(units.filter((text) => text !== "").join(", "));
    this.warnings.textContent = answers.flatMap((answer) => answer?.warnings ?? []).join(" ");
    this.warnings.hidden = this.warnings.textContent === "";
    this.chart.show({ window, times: Array.from(times), lines: lines.map((line, i) => ({ ...line, values: Array.from(columns[i]!) })), stacked: this.spec.stacked });
  }
}
