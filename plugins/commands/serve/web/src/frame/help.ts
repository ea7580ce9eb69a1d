// SPDX-License-Identifier: Apache-2.0
// The help: keys and hints.
import { h } from "../parts/dom";

const kKeys: [string, string][] = [
  ["1 to 9", "Open a view"],
  ["?", "This help"],
  ["/", "Go to the search field of the view"],
  ["l", "Live mode: follow the newest data"],
  ["r", "Read the newest data once"],
  ["[ and ]", "Half a window earlier, later"],
  ["- or Escape", "Wider: back to the whole range, then twice the range"],
  ["b", "Compare with the time before, of the same length (flame graph of Explore)"],
  ["t", "Theme: automatic, light, dark"],
  ["Backspace", "Back to the view before (also the browser's own keys)"],
];
const kPlaces: [string, string][] = [
  ["Time line", "Drag to choose the window of all views. Tab to an end, then arrow keys change it. Double click: the whole range. Shift and drag: the time to compare with."],
  ["Chart", "Drag to choose the window. By keys: arrow keys read values, Shift and arrow keys select, Enter chooses."],
  ["Legend", "A click hides a series."],
  ["Table", "Arrow keys, Page Up, Page Down, Home and End move; Enter opens; a click on a head sorts."],
  ["Flame graph", "A click zooms. By keys: arrow keys move between frames, Enter zooms, Escape resets."],
  ["Address", "It contains the whole view. Copy it to share the view."],
];

export class Help {
  readonly root: HTMLDialogElement;

  constructor() {
    const list = (entries: [string, string][], tag: "kbd" | "b") => h("dl", {}, ...entries.flatMap(([key, text]) => [h("dt", {}, h(tag, {}, key)), h("dd", {}, text)]));
    const close = h("button", { type: "button", class: "primary", onclick: () => this.root.close() }, "Close");
    this.root = h("dialog", { class: "help", "aria-label": "Help" }, h("h2", {}, "Keys"), list(kKeys, "kbd"), h("h2", {}, "Mouse, touch and keys"), list(kPlaces, "b"), close);
  }

  show(): void {
    if (!this.root.open) this.root.showModal();
  }
}
