// SPDX-License-Identifier: Apache-2.0
// Elements from data. Text becomes text nodes only; nothing here parses HTML, so a name from a host cannot become markup.

export type Child = Node | string | number | null | undefined | false;
type Value = string | number | boolean | null | undefined | EventListenerOrEventListenerObject;
export type Properties = Record<string, Value>;

const kSvg = "http://www.w3.org/2000/svg";
// A style attribute would be blocked by the policy of the page, and a link by script could be one of a name.
const kRefused = /^(style|srcdoc|src)$/i;

function set(element: Element, properties: Properties): void {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function" || typeof value === "object") element.addEventListener(name.slice(2), value);
    else if (name === "value" && "value" in element) element.value = value;
    else if (kRefused.test(name) || name.startsWith("on")) throw new Error(`attribute ${name} is not allowed`);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

export function add(parent: Node, ...children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, properties: Properties = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  add(element, ...children);
  set(element, properties);
  return element;
}

export function s<K extends keyof SVGElementTagNameMap>(tag: K, properties: Properties = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  const element = document.createElementNS(kSvg, tag);
  set(element, properties);
  add(element, ...children);
  return element;
}

export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  add(parent, ...children);
}

let last_id = 0;
export function new_id(prefix: string): string {
  return `${prefix}-${++last_id}`;
}

// One of several choices, each a button that stays pressed.
export function choice<T extends string>(label: string, options: readonly (readonly [T, string])[], current: T, chosen: (value: T) => void): HTMLElement {
  const group = h("div", { class: "choice", role: "group", "aria-label": label });
  for (const [value, text] of options)
    group.append(h("button", { type: "button", "aria-pressed": String(value === current), "data-value": value, onclick: () => chosen(value) }, text));
  return group;
}

export function press(group: HTMLElement, value: string): void {
  for (const button of group.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.value === value));
}

export function select(label: string, options: readonly (readonly [string, string])[], current: string, chosen: (value: string) => void): HTMLElement {
  const box = h("select", { onchange: () => chosen(box.value) });
  for (const [value, text] of options) box.append(h("option", { value }, text));
  box.value = current;
  return h("label", { class: "field" }, h("span", {}, label), box);
}

export function check(label: string, on: boolean, changed: (on: boolean) => void): HTMLElement {
  const box = h("input", { type: "checkbox", onchange: () => changed(box.checked) });
  box.checked = on;
  return h("label", { class: "check" }, box, label);
}

// Says it to screen readers.
export function announce(text: string): void {
  const place = document.getElementById("announcements");
  if (place !== null) place.textContent = text;
}

// Runs the last of many calls, at the next frame.
export function at_next_frame(work: () => void): () => void {
  let wanted = false;
  return () => {
    if (wanted) return;
    wanted = true;
    requestAnimationFrame(() => {
      wanted = false;
      work();
    });
  };
}
