// SPDX-License-Identifier: Apache-2.0
// All processes of the window, as `top` would have shown them. A click opens everything about one.
import { exactly } from "../data/api";
import { Card } from "../parts/card";
import { h } from "../parts/dom";
import { open_process, process_columns } from "../parts/process_table";
import { current, go, own, window_span } from "../data/state";
import { Table } from "../parts/table";
import { duration_text, span_text } from "../data/time";
import type { Info, Processes, ProcessRow } from "../data/types";
import { value_text } from "../data/units";
import type { View } from "../view";

const kMaxRows = 10_000, kTypingMs = 250;

export function make_processes(_info: Info): View {
  const card = new Card("Processes", "fill processes-card");
  const filter = h("input", { type: "search", class: "search-field", "aria-label": "Filter processes", placeholder: "Filter: name, pid, host, container", value: own("filter") });
  card.tools.append(filter);
  let typing = 0;
  filter.addEventListener("input", () => {
    clearTimeout(typing);
    typing = window.setTimeout(() => go({ own: { filter: filter.value === "" ? null : filter.value } }, true), kTypingMs);
  });
  filter.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown") return;
    card.body.querySelector<HTMLElement>(".table")?.focus();
    event.preventDefault();
  });
  let table: Table<ProcessRow> | null = null;

  const show = (answer: Processes) => {
    if (answer.rows.length === 0)
      return card.nothing(own("filter") === "" ? { text: "There are no processes in this window.", pipeline: "host" } : { text: "No process of this window fits the filter." });
    const columns = process_columns(answer);
    const sorted = { column: own("sort") || answer.columns[0]?.name || "process", descending: own("up") !== "1" };
    if (table === null || !card.body.contains(table.root)) {
      table?.close();
      table = new Table<ProcessRow>("Processes", columns, sorted, open_process, (column, descending) => go({ own: { sort: column, up: descending ? null : "1" } }, true));
      card.show(table.root);
    }
    table.show(answer.rows, columns, sorted);
    const values = answer.columns.map((column, i) => (answer.other.values[i] == null ? "" : `${column.label} ${value_text(answer.other.values[i], column.unit)}`));
    const other = answer.other.count > 0 ? `; the other ${answer.other.count} together: ${values.filter((text) => text !== "").join(", ")}` : "";
    const rest = answer.total > answer.rows.length ? `the first ${answer.rows.length} of ` : "";
    card.say(`${rest}${answer.total} in ${span_text(answer)} (${duration_text(answer.to - answer.from)})${other}`);
  };

  return {
    root: h("div", { class: "view processes" }, card.root),
    update: () => {
      if (document.activeElement !== filter) filter.value = own("filter");
      const { from, to } = window_span();
      const query = { from, to, host: exactly(current().host), filter: own("filter"), limit: kMaxRows };
      void card.load<Processes>("processes", query, show);
    },
    close: () => {
      clearTimeout(typing);
      card.close();
      table?.close();
    },
  };
}
