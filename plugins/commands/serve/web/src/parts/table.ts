// SPDX-License-Identifier: Apache-2.0
// A table of any number of rows, of which only those in sight are elements. Arrow keys move, Enter opens, header cells sort.
import { h, new_id } from "./dom";
import { colour_of } from "../charts/colours";

export interface TableColumn<Row> {
  name: string;
  label: string;
  title?: string;
  numeric: boolean;
  text: (row: Row) => string;
  value: (row: Row) => number | string | null;  // to sort by
  swatch?: boolean;  // in the colour of the text
  bar?: boolean;     // a bar of its share of the largest
}

const kRow = 28, kAround = 6;

export class Table<Row> {
  readonly root: HTMLElement;
  private readonly head = h("div", { class: "row head", role: "row", "aria-rowindex": "1" });
  private readonly rows_place = h("div", { class: "rows", role: "rowgroup" });
  private readonly id = new_id("table");
  private rows: Row[] = [];
  private most: number[] = [];
  private pool: { element: HTMLElement; at: number }[] = [];  // row i is in place i modulo the length, so that scrolling keeps most of them
  private active = -1;
  private first = -1;
  private readonly sizes: ResizeObserver;

  constructor(
    label: string,
    private columns: TableColumn<Row>[],
    private sorted: { column: string; descending: boolean },
    private readonly opened: ((row: Row) => void) | null,
    private readonly sort_changed: (column: string, descending: boolean) => void = () => undefined,
  ) {
    this.root = h("div", { class: "table", role: "grid", "aria-label": label, tabindex: "0", onscroll: () => this.draw() }, h("div", { role: "rowgroup", class: "heads" }, this.head), this.rows_place);
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.rows_place.addEventListener("click", (event) => this.click(event));
    this.sizes = new ResizeObserver(() => this.draw(true));
    this.sizes.observe(this.root);
    this.heads();
  }

  show(rows: Row[], columns = this.columns, sorted = this.sorted): void {
    if (columns !== this.columns) {
      this.columns = columns;
      this.clear();
    }
    this.sorted = sorted;
    this.rows = [...rows];
    this.most = columns.map((column) => (column.bar === true ? rows.reduce((most, row) => Math.max(most, Number(column.value(row) ?? 0)), 0) : 0));
    this.heads();
    this.sort();
  }

  close(): void {
    this.sizes.disconnect();
  }

  private clear(): void {
    this.rows_place.replaceChildren();
    this.pool = [];
  }

  private heads(): void {
    this.root.setAttribute("aria-colcount", String(this.columns.length));
    this.head.replaceChildren(...this.columns.map((column, i) => {
      const on = column.name === this.sorted.column;
      const button = h("button", { type: "button", title: column.title ?? `Sort by ${column.label}`, onclick: () => this.sort_by(column) }, column.label, h("span", { class: "arrow", "aria-hidden": "true" }, on ? (this.sorted.descending ? " ▾" : " ▴") : ""));
      return h("div", { role: "columnheader", class: column.numeric ? "cell number" : `cell ${column.name}`, "aria-colindex": String(i + 1), "aria-sort": on ? (this.sorted.descending ? "descending" : "ascending") : "none" }, button);
    }));
  }

  private sort_by(column: TableColumn<Row>): void {
    const same = column.name === this.sorted.column;
    this.sorted = { column: column.name, descending: same ? !this.sorted.descending : column.numeric };
    this.heads();
    this.sort();
    this.sort_changed(this.sorted.column, this.sorted.descending);
  }

  private sort(): void {
    const column = this.columns.find((one) => one.name === this.sorted.column);
    if (column !== undefined) {
      const sign = this.sorted.descending ? -1 : 1;
      const keyed = this.rows.map((row) => ({ row, key: column.value(row) }));
      // Unknown values are last in both directions.
      keyed.sort((a, b) => (a.key === null || b.key === null ? Number(a.key === null) - Number(b.key === null) : sign * (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)));
      this.rows = keyed.map(({ row }) => row);
    }
    this.root.setAttribute("aria-rowcount", String(this.rows.length + 1));
    this.rows_place.style.height = `${this.rows.length * kRow}px`;
    this.active = Math.min(this.active, this.rows.length - 1);
    this.draw(true);
  }

  private draw(always = false): void {
    const room = Math.ceil(this.root.clientHeight / kRow) + 2 * kAround;
    const first = Math.max(0, Math.min(Math.floor(this.root.scrollTop / kRow) - kAround, this.rows.length - room));
    if (!always && first === this.first) return;
    this.first = first;
    const count = Math.min(room, this.rows.length - first);
    if (this.pool.length < count || this.pool.length > 2 * room) this.clear();
    while (this.pool.length < Math.min(room, this.rows.length)) this.pool.push({ element: this.rows_place.appendChild(this.new_row()), at: -1 });
    const shown = new Set<number>();
    for (let at = first; at < first + count; ++at) {
      const place = at % this.pool.length, slot = this.pool[place]!;
      shown.add(place);
      if (!always && slot.at === at) continue;
      slot.at = at;
      this.fill(slot.element, at);
    }
    this.pool.forEach((slot, place) => {
      const hidden = !shown.has(place);
      if (hidden) slot.at = -1;
      if (slot.element.hidden !== hidden) slot.element.hidden = hidden;
    });
  }

  private new_row(): HTMLElement {
    return h("div", { class: "row", role: "row" }, ...this.columns.map((column, i) => h("div", { role: "gridcell", class: column.numeric ? "cell number" : `cell ${column.name}`, "aria-colindex": String(i + 1) },
      column.swatch === true && h("i", { class: "swatch" }), "")));
  }

  private fill(element: HTMLElement, at: number): void {
    const row = this.rows[at]!;
    element.id = `${this.id}-${at}`;
    element.dataset.at = String(at);
    element.setAttribute("aria-rowindex", String(at + 2));
    element.setAttribute("aria-selected", String(at === this.active));
    element.style.transform = `translateY(${at * kRow}px)`;
    this.columns.forEach((column, i) => {
      const cell = element.children[i] as HTMLElement;
      const text = column.text(row);
      const place = cell.lastChild as Text;
      if (place.data !== text) place.data = text;
      if (!column.numeric) cell.title = text;
      if (column.swatch === true) (cell.firstElementChild as HTMLElement).style.backgroundColor = colour_of(text);
      if (column.bar === true) cell.style.backgroundSize = `${this.most[i]! > 0 ? Math.round((100 * Number(column.value(row) ?? 0)) / this.most[i]!) : 0}% 100%`;
    });
  }

  private click(event: Event): void {
    const row = (event.target as Element).closest<HTMLElement>(".row");
    if (row?.dataset.at === undefined) return;
    this.move(Number(row.dataset.at));
    this.open();
  }

  private open(): void {
    const row = this.rows[this.active];
    if (row !== undefined) this.opened?.(row);
  }

  private move(to: number): void {
    this.active = Math.max(0, Math.min(this.rows.length - 1, to));
    const top = this.active * kRow, head = this.head.offsetHeight;
    if (top < this.root.scrollTop) this.root.scrollTop = top;
    else if (top + kRow + head > this.root.scrollTop + this.root.clientHeight) this.root.scrollTop = top + kRow + head - this.root.clientHeight;
    this.draw(true);
    this.root.setAttribute("aria-activedescendant", `${this.id}-${this.active}`);
  }

  private key(event: KeyboardEvent): void {
    if (event.target !== this.root || this.rows.length === 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(this.root.clientHeight / kRow) - 2);
    const steps: Record<string, number> = { ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page, PageUp: this.active - page, Home: 0, End: this.rows.length - 1 };
    const to = steps[event.key];
    if (to !== undefined) this.move(to);
    else if (event.key === "Enter" && this.active >= 0) this.open();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
