// SPDX-License-Identifier: Apache-2.0
// The controls of one panel of Explore. Each change is a new address.
import { exactly, get } from "../data/api";
import { all_metrics } from "../data/catalogue";
import { combo, matching, type Suggestion } from "./combo";
import { check, h, replace, select } from "./dom";
import { kAggregates, kEvery, type Panel } from "./panel";
import { window_span } from "../data/state";
import type { TagValues } from "../data/types";

const tag_cache = new Map<string, Promise<TagValues>>();

async function tags_of(metric: string): Promise<TagValues> {
  const { from, to } = window_span();
  const key = `${metric} ${Math.floor(from / 60000)} ${Math.floor(to / 60000)}`;
  if (tag_cache.size > 50) tag_cache.clear();
  const known = tag_cache.get(key) ?? get<TagValues>("tags", { metric, from, to });
  tag_cache.set(key, known);
  known.catch(() => tag_cache.delete(key));
  return known;
}

function chips(label: string, values: readonly string[], removed: (value: string) => void): HTMLElement {
  return h("span", { class: "chips", role: "group", "aria-label": label }, ...values.map((value) => h("button", { type: "button", class: "chip", title: `Remove ${value}`, "aria-label": `Remove ${value}`, onclick: () => removed(value) }, value, h("span", { "aria-hidden": "true" }, " ×"))));
}

async function tag_suggestions(panel: Panel, text: string): Promise<Suggestion[]> {
  const metric = panel.metrics[0];
  if (metric === undefined) return [];
  const { tags, more } = await tags_of(metric);
  const [key = "", value] = text.split("=", 2);
  if (value === undefined || tags[key] === undefined)
    return matching(Object.entries(tags).flatMap(([name, values]) => values.slice(0, 200).map((one) => ({ value: `${name}=${exactly(one)}` }))), text);
  return matching(tags[key]!.map((one) => ({ value: `${key}=${exactly(one)}`, ...(more ? { about: "more values exist" } : {}) })), value);
}

export class PanelEditor {
  readonly root = h("div", { class: "editor" });

  // An edit applies to the panel of the address, which may be newer than the one that is shown.
  constructor(private readonly changed: (edit: (now: Panel) => Panel) => void, private readonly removed: () => void) {}

  show(panel: Panel): void {
    const change = (part: (now: Panel) => Partial<Panel>) => this.changed((now) => ({ ...now, ...part(now) }));
    const without = (list: readonly string[], value: string) => list.filter((one) => one !== value);
    const with_one = (list: readonly string[], value: string) => [...without(list, value), value];
    const metric_field = combo("Add a metric", "add a metric", async (text) => matching((await all_metrics()).map((metric) => ({ value: metric.name, about: `${metric.unit ?? ""} ${metric.summary}` })), text),
      (value) => change((now) => ({ metrics: with_one(now.metrics, value) })));
    const tag_field = combo("Add a filter", "add a filter: key=value", (text) => tag_suggestions(panel, text), (value) => {
      if (/^[^=]+=./.test(value)) change((now) => ({ tags: with_one(now.tags, value) }));
    });
    const by_field = combo("Group by", "group by", async (text) => {
      const metric = panel.metrics[0];
      if (metric === undefined) return [];
      return matching(Object.entries((await tags_of(metric)).tags).map(([value, values]) => ({ value, about: `${values.length} values` })), text);
    }, (value) => change((now) => ({ by: with_one(now.by, value) })));
    replace(this.root,
      h("div", { class: "fields" },
        h("div", { class: "group" }, h("span", { class: "name" }, "Metrics"), chips("Metrics", panel.metrics, (value) => change((now) => ({ metrics: without(now.metrics, value) }))), metric_field),
        h("div", { class: "group" }, h("span", { class: "name" }, "Filters"), chips("Filters", panel.tags, (value) => change((now) => ({ tags: without(now.tags, value) }))), tag_field),
        h("div", { class: "group" }, h("span", { class: "name" }, "Group by"), chips("Group by", panel.by, (value) => change((now) => ({ by: without(now.by, value) }))), by_field)),
      h("div", { class: "fields" },
        select("Aggregate", kAggregates.map((name) => [name, name] as const), panel.aggregate, (value) => change(() => ({ aggregate: value }))),
        select("Every", [...new Set([...kEvery, panel.every])].map((every) => [every, every === "" ? "automatic" : every] as const), panel.every, (value) => change(() => ({ every: value }))),
        select("Show", [...new Set([5, 8, 20, 50, 200, 500, panel.top])].map((top) => [String(top), `top ${top}`] as const), String(panel.top), (value) => change(() => ({ top: Number(value) }))),
        check("rate", panel.rate, (rate) => change(() => ({ rate }))),
        check("stacked", panel.stacked, (stacked) => change(() => ({ stacked }))),
        h("button", { type: "button", class: "quiet", onclick: () => this.removed() }, "Remove panel")));
  }
}
