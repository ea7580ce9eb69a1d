// SPDX-License-Identifier: Apache-2.0
// One panel of Explore as it is in the address: metrics, filters, grouping, aggregation, downsampling.
import type { Ask, Spec } from "../charts/chart_card";

export interface Panel {
  metrics: string[];
  tags: string[];  // KEY=PATTERN
  by: string[];
  aggregate: string;
  every: string;
  top: number;
  rate: boolean;
  stacked: boolean;
}

export const kAggregates = ["zimsum", "sum", "avg", "min", "max", "count", "p50", "p95", "p99", "dev", "none"] as const;
export const kEvery = ["", "5s", "10s", "30s", "1m", "5m", "10m", "1h", "10s-max", "1m-max", "1m-min", "1m-avg", "1m-last", "5m-max"] as const;
const kSummable = new Set<string>(["zimsum", "count"]);

export const kFirstPanels: Panel[] = [
  { metrics: ["proc.cpu.user"], tags: [], by: ["process"], aggregate: "zimsum", every: "", top: 8, rate: false, stacked: true },
  { metrics: ["proc.mem.resident"], tags: [], by: ["process"], aggregate: "zimsum", every: "", top: 8, rate: false, stacked: true },
];

export function text_of_panel(panel: Panel): string {
  const query = new URLSearchParams();
  for (const metric of panel.metrics) query.append("m", metric);
  for (const tag of panel.tags) query.append("t", tag);
  if (panel.by.length > 0) query.set("by", panel.by.join(","));
  if (panel.aggregate !== "zimsum") query.set("a", panel.aggregate);
  if (panel.every !== "") query.set("e", panel.every);
  query.set("n", String(panel.top));
  if (panel.rate) query.set("r", "1");
  if (panel.stacked) query.set("s", "1");
  return query.toString();
}

export function panel_of_text(text: string): Panel {
  const query = new URLSearchParams(text);
  const aggregate = query.get("a") ?? "zimsum", every = query.get("e") ?? "";
  const top = Number(query.get("n") ?? "8");
  return {
    metrics: query.getAll("m").slice(0, 8),
    tags: query.getAll("t").slice(0, 20),
    by: (query.get("by") ?? "").split(",").filter((key) => key !== "").slice(0, 8),
    aggregate: (kAggregates as readonly string[]).includes(aggregate) ? aggregate : "zimsum",
    every: /^\d{1,6}(ms|s|m|h|d)(-[a-z0-9]+)?$/.test(every) ? every : "",
    top: Number.isInteger(top) && top >= 1 && top <= 500 ? top : 8,
    rate: query.get("r") === "1",
    stacked: query.get("s") === "1",
  };
}

export function spec_of(panel: Panel): Spec {
  const stacked = panel.stacked && kSummable.has(panel.aggregate);
  const ask = (metric: string): Ask => ({
    metrics: [metric], tags: panel.tags, group_by: panel.by, aggregate: panel.aggregate, every: panel.every, rate: panel.rate,
    top: panel.top,
    other: stacked && panel.by.length > 0,
  });
  return {
    title: panel.metrics.length === 0 ? "New panel" : panel.metrics.join(", "),
    asks: panel.metrics.map(ask),
    stacked,
    hint: { text: panel.metrics.length === 0 ? "Add a metric." : "There are no values in this window." },
  };
}
