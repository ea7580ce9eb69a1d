// SPDX-License-Identifier: Apache-2.0
// The agent: its ledger, queues and losses, and each feature that is off with the way to turn it on.
import { Card } from "../card";
import { h } from "../dom";
import { status_of, troubles, type Stage } from "../health_facts";
import { simple_table } from "../simple_table";
import { duration_text } from "../time";
import type { Health, Info } from "../types";
import { count_text, value_text } from "../units";
import type { View } from "../view";

const kNumbers = [["in", "in"], ["created", "created"], ["out", "out"], ["dropped", "dropped"], ["merged", "merged"], ["dead_letter", "dead letters"], ["queued", "queued"], ["spooled", "spooled"], ["errors", "errors"], ["gaps", "gaps"]] as const;

function stage_row(stage: Stage) {
  const busy = stage.numbers.busy_ns;
  return [stage.component, ...kNumbers.map(([key]) => ({ content: count_text(stage.numbers[key]), number: true })), { content: value_text(busy ?? null, "ns"), number: true }];
}

export function make_health(info: Info): View {
  const agent = new Card("Agent", "agent-card"), ledger = new Card("Ledger", "ledger-card"), features = new Card("Features", "features-card"), store = new Card("Store", "store-card");
  const heads = ["component", ...kNumbers.map(([, label]) => label), "busy"];

  const show = (health: Health) => {
    const status = status_of(health.status);
    if (status === null) {
      agent.nothing({ text: health.reason ?? "No agent runs on this host.", pipeline: "host" });
      ledger.nothing({ text: "The ledger is that of a running agent." });
    } else {
      const found = troubles(status);
      agent.show(
        h("p", {}, h("span", { class: status.balanced === true ? "badge good" : "badge bad" }, status.balanced === true ? "ledger balanced" : "ledger not balanced"),
          ` version ${status.version}, up ${status.uptime === null ? "–" : duration_text(1000 * status.uptime)}, ${status.file}`),
        found.length === 0 ? h("p", { class: "muted" }, "No losses and no errors.") : h("ul", { class: "troubles" }, ...found.map((text) => h("li", {}, text))));
      const pipelines = [...new Set(status.stages.map((stage) => stage.pipeline))];
      ledger.show(...pipelines.flatMap((name) => [h("h3", {}, name), simple_table(`Ledger of ${name}`, heads, status.stages.filter((stage) => stage.pipeline === name).map(stage_row))]));
    }
    if (health.doctor === null) return features.nothing({ text: health.doctor_reason ?? "The features are not known.", command: "atalaya doctor" });
    const off = health.doctor.filter((feature) => !feature.on), on = health.doctor.filter((feature) => feature.on);
    features.say(`${on.length} on, ${off.length} off`);
    features.show(simple_table("Features", ["feature", "state", "reason", "remedy"], [...off, ...on].map((feature) => [
      feature.feature, { content: h("span", { class: feature.on ? "badge good" : "badge" }, feature.on ? "on" : "off") }, feature.why ?? "", feature.remedy ?? ""])));
  };

  store.show(h("dl", {}, h("dt", {}, "store"), h("dd", {}, info.store.name), h("dt", {}, "hosts"), h("dd", {}, info.hosts.join(", ") || "none"), h("dt", {}, "version of the server"), h("dd", {}, info.version)));
  return {
    root: h("div", { class: "view health" }, h("div", { class: "grid" }, agent.root, store.root), ledger.root, features.root),
    update: () => {
      agent.forget();
      void agent.load<Health>("health", {}, show);
    },
    close: () => [agent, ledger, features, store].forEach((card) => card.close()),
  };
}
