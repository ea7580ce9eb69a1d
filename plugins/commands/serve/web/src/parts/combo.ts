// SPDX-License-Identifier: Apache-2.0
// A text field with suggestions: a combobox with a list, by mouse and keys.
import { h, new_id } from "./dom";

export interface Suggestion {
  value: string;
  about?: string;
}

const kShown = 50;

// Each word of the text must occur; a start of the value is better than its middle.
export function matching(all: readonly Suggestion[], text: string): Suggestion[] {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const fitting = all.filter(({ value, about }) => {
    const whole = `${value} ${about ?? ""}`.toLowerCase();
    return words.every((word) => whole.includes(word));
  });
  const rank = ({ value }: Suggestion) => {
    const at = words.length === 0 ? 0 : value.toLowerCase().indexOf(words[0]!);
    return at < 0 ? 1e6 : at;
  };
  return fitting.map((one) => ({ one, by: rank(one) })).sort((a, b) => a.by - b.by).slice(0, kShown).map(({ one }) => one);
}

export function combo(label: string, placeholder: string, suggestions: (text: string) => Promise<Suggestion[]>, chosen: (value: string) => void): HTMLElement {
  const id = new_id("list");
  const list = h("ul", { id, class: "suggestions", role: "listbox", "aria-label": label });
  list.hidden = true;
  const input = h("input", { type: "text", role: "combobox", "aria-label": label, "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": id, autocomplete: "off", spellcheck: "false", placeholder });
  let shown: Suggestion[] = [], active = -1, asked = 0;

  const close = () => {
    list.hidden = true;
    active = -1;
    ++asked;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const take = (value: string) => {
    input.value = "";
    close();
    if (value.trim() !== "") chosen(value.trim());
  };
  const mark = (at: number) => {
    active = shown.length === 0 ? -1 : (at + shown.length) % shown.length;
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === active)));
    const item = list.children[active];
    item?.scrollIntoView({ block: "nearest" });
    if (item === undefined) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", item.id);
  };
  const open = async () => {
    const mine = ++asked;
    const answer = await suggestions(input.value).catch(() => []);
    if (mine !== asked) return;
    shown = answer;
    list.replaceChildren(...shown.map((one, i) => h("li", {
      id: `${id}-${i}`, role: "option", "aria-selected": "false",
      onmousedown: (event: Event) => {
        event.preventDefault();
        take(one.value);
      },
    }, h("span", {}, one.value), one.about !== undefined && h("small", {}, one.about))));
    active = -1;
    list.hidden = shown.length === 0;
    input.setAttribute("aria-expanded", String(!list.hidden));
  };

  input.addEventListener("input", () => void open());
  input.addEventListener("focus", () => void open());
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (list.hidden) void open();
      else mark(active + (event.key === "ArrowDown" ? 1 : active < 0 ? 0 : -1));
    } else if (event.key === "Enter") take(shown[active]?.value ?? input.value);
    else if (event.key === "Escape" && !list.hidden) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return h("div", { class: "combo" }, input, list);
}
