// SPDX-License-Identifier: Apache-2.0
// The columns of tables of processes, and the way to the page of one.
import { go } from "../data/state";
import type { TableColumn } from "./table";
import type { Processes, ProcessRow } from "../data/types";
import { value_text } from "../data/units";

const kBars = new Set(["%", "MiBy", "MiBy/s", "Mibit/s", "By/s"]);  // units of which a part of the largest says something

export function process_columns(answer: Processes): TableColumn<ProcessRow>[] {
  const several_hosts = new Set(answer.rows.map((row) => row.host)).size > 1;
  const containers = answer.rows.some((row) => row.container !== null && row.container !== "");
  const words: TableColumn<ProcessRow>[] = [
    { name: "process", label: "process", numeric: false, swatch: true, text: (row) => row.process ?? "", value: (row) => (row.process ?? "").toLowerCase() },
    { name: "pid", label: "pid", numeric: true, text: (row) => String(row.pid ?? ""), value: (row) => (row.pid === "" || row.pid === null ? null : Number(row.pid)) },
  ];
  if (several_hosts) words.push({ name: "host", label: "host", numeric: false, text: (row) => row.host ?? "", value: (row) => row.host });
  if (containers) words.push({ name: "container", label: "container", numeric: false, text: (row) => row.container ?? "", value: (row) => row.container ?? "" });
  return words.concat(answer.columns.map((column, i) => ({
    name: column.name,
    label: column.label,
    title: `${column.label}. Sort by it.`,
    numeric: true,
    bar: column.unit !== null && kBars.has(column.unit),
    text: (row) => value_text(row.values[i], column.unit),
    value: (row) => row.values[i] ?? null,
  })));
}

export function open_process(row: { host: string | null; pid: string | number | null; process: string | null }): void {
  go({ view: "process", own: { of_host: row.host ?? "", pid: String(row.pid ?? ""), process: row.process ?? "" } });
}
