// SPDX-License-Identifier: Apache-2.0
// Phases of processes and tasks as lanes.
import { exactly } from "../data/api";
import { Card } from "../parts/card";
import { h, select, replace } from "../parts/dom";
import { Lanes } from "../charts/lanes";
import { span_name, tags_text } from "../parts/span_list";
import { current, go, own, window_span } from "../data/state";
import type { Info, StoredSpan } from "../data/types";
import type { View } from "../view";

const kLanes = [["process", "process"], ["host", "host"], ["task", "task"], ["phase", "phase"]] as const;

export function make_phases(_info: Info): View {
  const card = new Card("Phases", "phases-card");
  const lanes = new Lanes();
  let spans: StoredSpan[] = [];

  const show = () => {
    if (spans.length === 0) return card.nothing({ text: "No phase is stored in this window. The source btrace reads phases of applications and jobs from their logs.", pipeline: "btrace" });
    const by = own("lanes") || "process";
    card.show(lanes.show(spans.map((span) => ({
      lane: [span.tags.host, span.tags[by] ?? span.tags.task ?? span.tags.job].filter((part, i, all) => part !== undefined && all.indexOf(part) === i).join(" ") || span_name(span),
      name: span_name(span), from: span.from, to: span.open ? null : span.to, about: tags_text(span.tags),
    })), window_span()));
    card.say(`${spans.length} phases. A click shows the time of one.`);
  };

  return {
    root: h("div", { class: "view phases" }, card.root),
    update: () => {
      replace(card.tools, select("Lanes", kLanes, own("lanes") || "process", (value) => go({ own: { lanes: value } }, true)));
      const { from, to } = window_span();
      if (spans.length > 0) show();
      void card.load<StoredSpan[]>("spans", { kind: "phase", from, to, host: exactly(current().host) }, (answer) => {
        spans = answer;
        show();
      });
    },
    redraw: show,
    close: () => card.close(),
  };
}
