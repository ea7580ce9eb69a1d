// SPDX-License-Identifier: Apache-2.0
// A card with the flame graph of the window: the image and the behaviour of `atalaya flamegraph`.
import "../../../../../shared/analysis/flamegraph/picture/picture.css";
import { attach } from "../../../../../shared/analysis/flamegraph/picture/picture.js";
import { exactly } from "../data/api";
import { Card } from "../parts/card";
import { h, replace, select } from "../parts/dom";
import { add_flame_keys } from "./flame_keys";
import { current, go, own, window_span } from "../data/state";
import { svg_element } from "./svg";
import { span_text } from "../data/time";
import type { Flamegraph, Span } from "../data/types";

export interface Target {
  host?: string;
  pid?: string;
  process?: string;
  task?: string;  // an attempt
  slow_stage?: string;  // the slow tasks of this stage of the job, against its median ones
  job?: string;
  span?: Span;    // instead of the window
}

const kProfiles = [["cpu", "on CPU"], ["offcpu", "waiting"], ["wall", "wall clock"], ["waker", "waiting, in bursts"]] as const;
const kKeep = [["all", "all stacks"], ["jvm", "JVMs only"], ["app", "application code"], ["kernel", "kernel"]] as const;
const kBy = [["process", "by process"], ["name", "by process name"], ["host", "by host"], ["reason", "by reason of waits"], ["owner", "by owner of waits"]] as const;

export class FlameCard {
  readonly card: Card;
  private width = 0;
  private readonly place = h("div", { class: "flame", tabindex: "0", role: "group", "aria-label": "Flame graph. Arrow keys move between frames, Enter zooms, Escape resets." });
  private readonly sizes: ResizeObserver;

  constructor(private readonly target: () => Target, private readonly compares = false) {
    this.card = new Card("Flame graph", "flame-card");
    // A drawn width is kept until it no longer fits.
    this.sizes = new ResizeObserver(() => {
      const room = this.card.body.clientWidth;
      if (this.width > 0 && (room < this.width * 0.8 || room > this.width * 1.25)) this.update();
    });
    this.sizes.observe(this.card.body);
    this.controls();
  }

  // The same code of two processes is one frame of a comparison: those of another time have other ids.
  private by(): string {
    return own("by") || (this.compares && current().baseline !== null ? "name" : "process");
  }

  controls(): void {
    const choose = (key: string) => (value: string) => go({ own: { [key]: value } }, true);
    const base = current().baseline;
    replace(this.card.tools,
      select("Profile", kProfiles, own("profile") || "cpu", choose("profile")),
      select("Stacks", kKeep, own("keep") || "all", choose("keep")),
      select("Root", kBy, this.by(), choose("by")),
      this.compares && base !== null && h("button", { type: "button", onclick: () => go({ baseline: null }) }, "End comparison"));
  }

  update(): void {
    const target = this.target();
    const { from, to } = target.span ?? window_span();
    const base = this.compares ? current().baseline : null;
    this.width = Math.max(320, Math.min(2400, Math.floor(this.card.body.clientWidth) || 1000));
    const name = target.process ?? target.task ?? (target.slow_stage === undefined ? "" : `slow tasks of stage ${target.slow_stage} against its median ones`);
    this.card.title(base === null && target.slow_stage === undefined ? "Flame graph" : "Flame graph: difference");
    this.card.say(base === null ? name : `${name} ${span_text({ from, to })} compared with ${span_text(base)}`);
    this.controls();
    const query = {
      from, to, width: this.width, host: exactly(target.host ?? current().host), process: exactly(target.process ?? ""), pid: target.pid, task: target.task,
      slow_stage: target.slow_stage, job: target.job,
      profile: own("profile") || "cpu", keep: own("keep") || "all", by: this.by(), icicle: "true",
      diff_from: base?.from, diff_to: base?.to,
    };
    void this.card.load<Flamegraph>("flamegraph", query, (answer) => this.show(answer));
  }

  close(): void {
    this.sizes.disconnect();
    this.card.close();
  }

  private show(answer: Flamegraph): void {
    if (answer.total === 0 || answer.empty !== null) {
      const others = answer.profiles.filter((profile) => profile !== (own("profile") || "cpu"));
      const text = answer.empty ?? "There are no stacks in this window.";
      this.card.nothing({ text: others.length > 0 ? `${text} Profiles with stacks: ${others.join(", ")}.` : text, pipeline: "profile" });
      return;
    }
    const svg = svg_element(answer.svg);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `Flame graph of ${answer.total} ${answer.unit}`);
    this.place.replaceChildren(svg);
    if (answer.differences === null) this.card.show(this.place);
    else this.card.show(h("pre", { class: "differences" }, answer.differences), this.place);
    attach(svg);
    add_flame_keys(this.place, svg);
  }
}
