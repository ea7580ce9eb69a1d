// SPDX-License-Identifier: Apache-2.0
// Names, colours and values of the series of a chart. A click or Enter hides one.
import { at_next_frame, h } from "../parts/dom";

interface Entry {
  name: string;
  colour: string;
  dashed: boolean;
}

const kShown = 60;

export class Legend {
  readonly root = h("ul", { class: "legend" });
  private readings: HTMLElement[] = [];
  private next: string[] = [];
  private readonly write = at_next_frame(() => this.readings.forEach((place, i) => {
    const text = this.next[i] ?? "";
    if (place.textContent !== text) place.textContent = text;
  }));

  constructor(private readonly clicked: (name: string) => void, private readonly entered: (name: string | null) => void) {}

  show(entries: readonly Entry[], hidden: ReadonlySet<string>): void {
    this.readings = [];
    const items = entries.slice(0, kShown).map((entry) => this.item(entry, hidden.has(entry.name)));
    if (entries.length > kShown) items.push(h("li", { class: "more" }, `and ${entries.length - kShown} more series`));
    this.root.replaceChildren(...items);
  }

  values(texts: string[]): void {
    this.next = texts;
    this.write();
  }

  private item(entry: Entry, hidden: boolean): HTMLLIElement {
    const swatch = h("i", { class: entry.dashed ? "swatch dashed" : "swatch" });
    swatch.style.backgroundColor = entry.colour;
    const value = h("b");
    this.readings.push(value);
    const button = h("button", {
      type: "button",
      title: entry.name,
      "aria-pressed": String(!hidden),
      onclick: () => this.clicked(entry.name),
      onmouseenter: () => this.entered(entry.name),
      onmouseleave: () => this.entered(null),
    }, swatch, h("span", {}, entry.name), value);
    return h("li", {}, button);
  }
}
