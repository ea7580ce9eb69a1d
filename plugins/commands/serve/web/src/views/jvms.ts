// SPDX-License-Identifier: Apache-2.0
// The JVMs that report, their common rate, the functions with most time, and the trace of one.
import { exactly } from "../data/api";
import { Card } from "../parts/card";
import { h } from "../parts/dom";
import { open_process } from "../parts/process_table";
import { simple_table } from "../parts/simple_table";
import { current, go, own, window_span } from "../data/state";
import type { Info, Jvms } from "../data/types";
import { digits, share_text, value_text } from "../data/units";
import type { View } from "../view";

export function make_jvms(_info: Info): View {
  const count = new Card("JVMs", "number-card"), rate = new Card("Samples per second", "number-card");
  const functions = new Card("Functions by time", "functions-card"), detail = new Card("One function", "detail-card"), list = new Card("JVMs that report", "jvms-card");
  const number = (text: string) => h("p", { class: "big" }, text);
  const right = (content: string) => ({ content, number: true });

  const show_detail = (answer: Jvms) => {
    const found = answer.detail;
    detail.title(found === null ? "One function" : found.name);
    if (found === null) return detail.show(h("p", { class: "muted" }, own("function") === "" ? "Choose a function to see its most frequent stack." : `${own("function")} has no samples in this window.`));
    detail.show(
      h("h3", {}, "Most frequent stack, innermost call first"), h("ol", { class: "trace" }, ...found.trace.map((frame) => h("li", {}, frame))),
      found.callers.length > 0 && h("h3", {}, "Callers"),
      found.callers.length > 0 && simple_table("Callers", ["caller", "self time", "CPU samples"], found.callers.map((caller) => [caller.name, right(share_text(caller.self_share)), right(share_text(caller.samples_share))])),
      h("h3", {}, "In these JVMs"), simple_table("JVMs of the function", ["process", "pid", "host", "self time"], found.jvms.map((jvm) => [jvm.process, String(jvm.pid ?? ""), jvm.host, right(value_text(jvm.self, "s/s"))])));
  };

  const show = (answer: Jvms) => {
    count.show(number(String(answer.count)));
    rate.show(number(answer.rate_hz === null ? "–" : `${digits(answer.rate_hz)} Hz`));
    if (answer.count === 0) {
      for (const card of [functions, list]) card.nothing({ text: "No JVM reported in this window.", pipeline: "jvm-profile" });
      return show_detail(answer);
    }
    functions.show(simple_table("Functions by time", ["function", "self time", "share", "CPU samples", "share"], answer.functions.map((one) => [
      one.name, right(value_text(one.self, "s/s")), right(share_text(one.self_share)), right(one.samples === null ? "–" : digits(one.samples)), right(share_text(one.samples_share))]),
    (at) => go({ own: { function: answer.functions[at]!.name } })));
    list.show(simple_table("JVMs", ["process", "pid", "host", "rate", "cost", "version", "VM", "collector"], answer.jvms.map((jvm) => [
      jvm.process, String(jvm.pid ?? ""), jvm.host, right(jvm.rate === null ? "–" : `${digits(jvm.rate)} Hz`), right(value_text(jvm.cost, "%")), jvm.version, jvm.vm, jvm.collector]), (at) => open_process(answer.jvms[at]!)));
    show_detail(answer);
  };

  return {
    root: h("div", { class: "view jvms" }, h("div", { class: "grid numbers" }, count.root, rate.root), h("div", { class: "grid" }, functions.root, detail.root), list.root),
    update: () => {
      const { from, to } = window_span();
      void functions.load<Jvms>("jvms", { from, to, host: exactly(current().host), function: own("function") }, show);
    },
    close: () => [count, rate, functions, detail, list].forEach((card) => card.close()),
  };
}
