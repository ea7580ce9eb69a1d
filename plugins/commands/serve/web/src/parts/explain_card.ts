// SPDX-License-Identifier: Apache-2.0
// What changed in the window against the time before it, on request: the findings of `explain`.
import { exactly } from "../data/api";
import { Card } from "./card";
import { h } from "./dom";
import { current, moves, window_span } from "../data/state";
import { moment_text, span_text } from "../data/time";
import type { Explanation, Finding } from "../data/types";

function amount(value: number, unit: string): string {
  return `${value > 0 ? "+" : ""}${Number(value.toPrecision(3))} ${unit}`;
}

function finding_item(finding: Finding): HTMLElement {
  const parts = finding.parts.map((part) => h("li", {}, h("b", {}, part.name), ` ${amount(part.difference, finding.unit)}`));
  if (finding.parts.length > 0 && finding.other.count > 0)
    parts.push(h("li", { class: "muted" }, `other (${finding.other.count}) ${amount(finding.other.difference, finding.unit)}`));
  return h("li", {}, h("p", {}, finding.sentence), h("ul", {}, ...parts),
    ...finding.functions.map((one) => h("p", { class: "muted" }, `function ${one.name}: ${one.before.toFixed(1)} to ${one.after.toFixed(1)} % of its CPU samples`)),
    ...finding.peers.map((one) => h("p", { class: "muted" }, `peer ${one.remote}: ${one.before.toPrecision(3)} to ${one.after.toPrecision(3)} MiB/s`)));
}

function list_of(title: string, findings: readonly Finding[]): HTMLElement | false {
  return findings.length > 0 && h("div", {}, h("h3", {}, title), h("ol", { class: "findings" }, ...findings.map(finding_item)));
}

function content_of(found: Explanation): HTMLElement {
  return h("div", { class: "explanation" },
    found.findings.length === 0 && h("p", { class: "nothing-changed" }, "Nothing changed beyond chance."),
    list_of("Changes, the largest first", found.findings.filter((finding) => finding.cause)),
    list_of("Effects", found.findings.filter((finding) => !finding.cause)),
    found.facts.length > 0 && h("div", {}, h("h3", {}, "Changed settings"), h("ul", {}, ...found.facts.map((fact) =>
      h("li", {}, `${fact.fact}: ${fact.before} to ${fact.after}, ${moment_text(fact.time)}`)))),
    h("p", { class: "muted" }, `Ruled out: ${found.ruledOut.map((one) => one.name).join(", ")}.`),
    h("p", { class: "muted" }, found.statistics), ...found.notes.map((note) => h("p", { class: "muted" }, `Note: ${note}`)));
}

export class ExplainCard {
  readonly card: Card;
  private shown = "";  // the window whose explanation is shown

  constructor() {
    const button = h("button", { type: "button", title: "Compare this window with the same length of time before it", onclick: () => this.explain() }, "Explain this window");
    this.card = new Card("What changed?", "explain-card", button);
    this.forget();
  }

  // The view has another window or host: the explanation is of the old one.
  update(): void {
    if (this.shown !== "" && this.shown !== this.question()) this.forget();
  }

  close(): void {
    this.card.close();
  }

  // A live window moves; its explanation stays until another length or host is chosen.
  private question(): string {
    const { from, to } = window_span();
    return `${moves() && current().window === null ? to - from : `${from} ${to}`} ${current().host}`;
  }

  private forget(): void {
    this.shown = "";
    this.card.say("");
    this.card.forget();
    this.card.show(h("p", { class: "muted" }, "Select a time, and press the button: processes, disks and settings that changed are listed, only beyond chance."));
  }

  private explain(): void {
    const { from, to } = window_span();
    this.shown = this.question();
    this.card.forget();
    void this.card.load<Explanation>("explain", { from, to, host: exactly(current().host) }, (found) => {
      this.card.say(`${span_text(found.range)} against ${span_text(found.baseline)}`);
      this.card.show(content_of(found));
    });
  }
}
