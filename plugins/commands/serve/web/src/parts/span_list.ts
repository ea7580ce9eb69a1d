// SPDX-License-Identifier: Apache-2.0
// Anomalies and alerts as a list; a click shows the window of one.
import { h } from "./dom";
import { visit } from "../data/state";
import { duration_text, moment_text, now } from "../data/time";
import type { StoredSpan } from "../data/types";
import { value_text } from "../data/units";

// Spans of phases are all named "phase", those of alerts "alert": their tag has the name.
export function span_name(span: StoredSpan): string {
  return span.tags.phase ?? span.tags.alert ?? span.name;
}

export function tags_text(tags: Record<string, string>): string {
  return Object.entries(tags).map(([key, value]) => `${key} ${value}`).join(", ");
}

export function fields_text(fields: Record<string, number | null>): string {
  return Object.entries(fields).map(([name, value]) => `${name} ${value_text(value, null)}`).join(", ");
}

export function spans_list(spans: readonly StoredSpan[], none: string): HTMLElement {
  if (spans.length === 0) return h("p", { class: "muted" }, none);
  const newest = [...spans].sort((a, b) => b.from - a.from);
  return h("ul", { class: "spans" }, ...newest.slice(0, 200).map((span) => {
    const to = span.to ?? now();
    return h("li", {}, h("button", { type: "button", title: "Show this time", onclick: () => visit({ from: span.from, to: Math.max(to, span.from + 1000) }) },
      h("span", { class: span.open ? "badge bad" : "badge" }, span.open ? "now" : duration_text(to - span.from)),
      h("b", {}, span_name(span)),
      h("span", { class: "muted" }, `${moment_text(span.from)} ${tags_text(span.tags)} ${fields_text(span.fields)}`)));
  }));
}
