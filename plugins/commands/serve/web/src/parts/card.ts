// SPDX-License-Identifier: Apache-2.0
// A framed part of a view: title, tools, body; with the states loading, failed and empty.
import { aborted, address, get, text_of, type Query } from "../data/api";
import { h, new_id, replace, type Child } from "./dom";

export interface Hint {
  text: string;
  pipeline?: string;  // that collects the missing data
  command?: string;
}

export function hint_element(hint: Hint): HTMLElement {
  const command = hint.command ?? (hint.pipeline === undefined ? undefined : `atalaya run pipelines/${hint.pipeline}.lua`);
  return h("div", { class: "empty" }, h("p", {}, hint.text), command !== undefined && h("p", {}, "To collect it: ", h("code", {}, command)));
}

export class Card {
  readonly root: HTMLElement;
  readonly body = h("div", { class: "card-body" });
  readonly tools = h("div", { class: "tools" });
  private readonly note = h("span", { class: "note" });
  private readonly heading: HTMLElement;
  private readonly requests = new Map<string, { key: string; abort: AbortController }>();
  private waiting = 0;

  constructor(title: string, name: string, ...tools: Child[]) {
    const id = new_id("card");
    this.heading = h("h2", { id }, title);
    this.root = h("section", { class: `card ${name}`, "aria-labelledby": id }, h("header", {}, this.heading, this.note, this.tools), this.body);
    replace(this.tools, ...tools);
  }

  title(text: string): void {
    this.heading.textContent = text;
  }

  say(text: string): void {
    this.note.textContent = text;
  }

  show(...children: Child[]): void {
    this.root.classList.remove("failed");
    replace(this.body, ...children);
  }

  nothing(hint: Hint): void {
    this.show(hint_element(hint));
  }

  fail(error: unknown): void {
    this.show(h("div", { class: "error", role: "alert" }, h("p", {}, text_of(error)), h("button", { type: "button", onclick: () => this.again() }, "Try again")));
    this.root.classList.add("failed");
  }

  private again: () => void = () => undefined;

  // The answer of the last request of a path only; the same question is not repeated. `shown` may throw.
  async load<T>(path: string, query: Query, shown: (answer: T) => void): Promise<void> {
    return this.run(path, address(path, query), async (signal) => get<T>(path, query, signal), shown);
  }

  async run<T>(slot: string, key: string, ask: (signal: AbortSignal) => Promise<T>, shown: (answer: T) => void): Promise<void> {
    const before = this.requests.get(slot);
    if (before !== undefined && before.key === key) return;
    before?.abort.abort();
    const abort = new AbortController();
    this.requests.set(slot, { key, abort });
    this.busy(1);
    try {
      const answer = await ask(abort.signal);
      if (!abort.signal.aborted) shown(answer);
    } catch (error) {
      if (!aborted(error) && !abort.signal.aborted) {
        this.requests.delete(slot);
        this.again = () => void this.run(slot, key, ask, shown);
        this.fail(error);
      }
    } finally {
      this.busy(-1);
    }
  }

  // The next load asks again.
  forget(): void {
    for (const request of this.requests.values()) request.abort.abort();
    this.requests.clear();
  }

  close(): void {
    this.forget();
  }

  private busy(change: number): void {
    this.waiting += change;
    this.root.classList.toggle("busy", this.waiting > 0);
    this.root.setAttribute("aria-busy", String(this.waiting > 0));
  }
}
