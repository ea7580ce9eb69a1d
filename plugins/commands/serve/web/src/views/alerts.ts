// SPDX-License-Identifier: Apache-2.0
// Alerts and anomalies of the window, open ones first.
import { exactly } from "../data/api";
import { Card } from "../parts/card";
import { h } from "../parts/dom";
import { ExplainCard } from "../parts/explain_card";
import { simple_table } from "../parts/simple_table";
import { fields_text, span_name, tags_text } from "../parts/span_list";
import { current, visit, window_span } from "../data/state";
import { duration_text, moment_text, now } from "../data/time";
import type { Info, StoredSpan } from "../data/types";
import type { View } from "../view";

// The texts of an alert have columns of their own.
function entity_text({ alert: _alert, severity: _severity, summary: _summary, advice: _advice, ...entity }: Record<string, string>): string {
  return tags_text(entity);
}

function list_of(spans: readonly StoredSpan[], title: string): HTMLElement {
  const sorted = [...spans].sort((a, b) => Number(b.open) - Number(a.open) || b.from - a.from);
  return simple_table(title, ["state", "severity", "name", "start", "duration", "of", "values", "what to do"], sorted.map((span) => [
    { content: h("span", { class: span.open ? "badge bad" : "badge" }, span.open ? "firing" : "ended") }, span.tags.severity ?? "",
    { content: h("span", { title: span.tags.summary ?? "" }, span_name(span)) }, moment_text(span.from),
    { content: duration_text((span.to ?? now()) - span.from), number: true }, entity_text(span.tags), fields_text(span.fields), [span.tags.summary, span.tags.advice].filter(Boolean).join(". ")]),
  (at) => visit({ from: sorted[at]!.from, to: Math.max(sorted[at]!.to ?? now(), sorted[at]!.from + 1000) }));
}

export function make_alerts(_info: Info): View {
  const explain = new ExplainCard();
  const alerts = new Card("Alerts", "alerts-card"), anomalies = new Card("Anomalies", "anomalies-card");
  const load = (card: Card, kind: string, none: string) => {
    const { from, to } = window_span();
    void card.load<StoredSpan[]>("spans", { kind, from, to, host: exactly(current().host) }, (spans) => {
      card.say(spans.length === 0 ? "" : `${spans.filter((span) => span.open).length} open of ${spans.length}. A click shows the time of one.`);
      if (spans.length === 0) card.nothing({ text: none });
      else card.show(list_of(spans, kind));
    });
  };
  return {
    root: h("div", { class: "view alerts" }, alerts.root, explain.card.root, anomalies.root),
    update: () => {
      explain.update();
      load(alerts, "alert", "No alert fired in this window. Alerts come from rules in a pipeline.");
      load(anomalies, "anomaly", "No anomaly is stored in this window.");
    },
    close: () => [alerts, anomalies, explain].forEach((card) => card.close()),
  };
}
