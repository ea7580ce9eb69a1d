// SPDX-License-Identifier: Apache-2.0
// The agent: its ledger, queues and losses, and each feature that is off with the way to turn it on.
import { Card } from "../parts/card";
import { h } from "../parts/dom";
import { features_of, status_of, troubles, type Feature, type Stage } from "../data/health_facts";
import { simple_table } from "../parts/simple_table";
import { duration_text } from "../data/time";
import type { Doctor, Health, Info } from "../data/types";
import { count_text, value_text } from "../data/units";
import type { View } from "../view";

const kNumbers = [["in", "in"], ["created", "created"], ["out", "out"], ["dropped", "dropped"], ["merged", "merged"], ["dead_letter", "dead letters"], ["queued", "queued"], ["spooled", "spooled"], ["errors", "errors"], ["gaps", "gaps"]] as const;

const kExamineEvery = 60_000;  // ms

function stage_row(stage: Stage) {
  const busy = stage.numbers.busy_ns;
  return [stage.component, ...kNumbers.map(([key]) => ({ content: count_text(stage.numbers[key]), number: true })), { content: value_text(busy ?? null, "ns"), number: true }];
}

function feature_row(feature: Feature) {
  const badge = feature.state === "on" ? "badge good" : feature.state === "off" ? "badge bad" : "badge";
  const lines = (texts: string[]) => ({ content: h("div", {}, ...texts.map((text) => h("p", {}, text))) });
  return [
    feature.feature, feature.kind, { content: h("span", { class: badge }, feature.state) },
    lines(feature.needs.map((need) => `${need.name}: ${need.missing}`)), lines(feature.needs.map((need) => need.remedy).filter((text) => text !== ""))];
}

export function make_health(info: Info): View {
  const agent = new Card("Agent", "agent-card"), ledger = new Card("Ledger", "ledger-card"), features = new Card("Features", "features-card"), store = new Card("Store", "store-card");
  const heads = ["component", ...kNumbers.map(([, label]) => label), "busy"];

  let examined = -kExamineEvery;

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
  };

  const show_features = (doctor: Doctor) => {
    const found = features_of(doctor.doctor);
    if (found === null) {
      features.say("");
      return features.nothing({ text: doctor.reason ?? "The features are not known.", pipeline: "host" });
    }
    const count = (state: string) => found.filter((feature) => feature.state === state).length;
    features.say(["on", "off", "unknown"].filter((state) => count(state) > 0).map((state) => `${count(state)} ${state}`).join(", "));
    features.show(simple_table("Features", ["feature", "kind", "state", "missing", "how to turn it on"], found.map(feature_row)));
  };

  store.show(h("dl", {}, h("dt", {}, "store"), h("dd", {}, info.store.name), h("dt", {}, "hosts"), h("dd", {}, info.hosts.join(", ") || "none"), h("dt", {}, "version of the server"), h("dd", {}, info.version)));
  return {
    root: h("div", { class: "view health" }, h("div", { class: "grid" }, agent.root, store.root), ledger.root, features.root),
    update: () => {
      agent.forget();
      void agent.load<Health>("health", {}, show);
      // The agent examines the host for it: not each time in live mode.
      if (performance.now() - examined < kExamineEvery) return;
      examined = performance.now();
      features.forget();
      void features.load<Doctor>("doctor", {}, show_features);
    },
    close: () => [agent, ledger, features, store].forEach((card) => card.close()),
  };
}
