// SPDX-License-Identifier: Apache-2.0
// A short table: plain rows, all of them elements.
import { h, type Child } from "./dom";

export interface Field {
  content: Child;
  number?: boolean;
}

export function simple_table(caption: string, heads: readonly string[], rows: readonly (readonly (Field | string | number | null)[])[], opened?: (at: number) => void): HTMLElement {
  const cells = (row: readonly (Field | string | number | null)[]) => row.map((cell) => {
    const field = typeof cell === "object" && cell !== null ? cell : { content: cell ?? "–", number: typeof cell === "number" };
    return h("td", { class: field.number === true ? "number" : null }, field.content);
  });
  const body = rows.map((row, at) => {
    if (opened === undefined) return h("tr", {}, ...cells(row));
    return h("tr", {
      tabindex: "0", class: "opens", onclick: () => opened(at),
      onkeydown: (event: Event) => {
        if ((event as KeyboardEvent).key === "Enter") opened(at);
      },
    }, ...cells(row));
  });
  return h("div", { class: "scrolls" }, h("table", {}, h("caption", { class: "hidden" }, caption), h("thead", {}, h("tr", {}, ...heads.map((head, i) => {
    const first = rows[0]?.[i];
    return h("th", { scope: "col", class: typeof first === "number" || (typeof first === "object" && first?.number === true) ? "number" : null }, head);
  }))), h("tbody", {}, ...body)));
}
