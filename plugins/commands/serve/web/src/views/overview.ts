// SPDX-License-Identifier: Apache-2.0
// The first view: the resources of the host by process, the top processes of the window, what is abnormal, the agent's health.
import { address, exactly, get } from "../data/api";
import { Card } from "../parts/card";
import { ChartCard, type Spec } from "../charts/chart_card";
import { h } from "../parts/dom";
import { ExplainCard } from "../parts/explain_card";
import { status_of, troubles } from "../data/health_facts";
import { open_process, process_columns } from "../parts/process_table";
import { changed, address_of, current, window_span } from "../data/state";
import { spans_list } from "../parts/span_list";
import { Table } from "../parts/table";
import { duration_text, span_text } from "../data/time";
import type { Health, Info, Processes, ProcessRow, StoredSpan } from "../data/types";
import type { View } from "../view";

const kShown = 8, kRows = 15;
const by_process = { group_by: ["process"], top: kShown, other: true };

const kCharts: Spec[] = [
  {
    title: "CPU by process", stacked: true,
    asks: [
      { metrics: ["proc.cpu.user", "proc.cpu.kernel"], ...by_process },
      { metrics: ["sys.cpu.usage"], label: "whole host", overlay: true },
    ],
    hint: { text: "There is no CPU time of processes in this window.", pipeline: "host" },
  },
  {
    title: "Resident memory by process", stacked: true,
    asks: [
      { metrics: ["proc.mem.resident"], ...by_process },
      { metrics: ["sys.mem.total"], label: "installed", overlay: true },
    ],
    hint: { text: "There is no memory of processes in this window.", pipeline: "host" },
  },
  {
    title: "Disk by process, reads and writes", stacked: true,
    asks: [{ metrics: ["proc.disk.reads.mb", "proc.disk.writes.mb"], ...by_process }],
    hint: { text: "There is no disk traffic of processes in this window. Reading it of other users' processes needs a privilege: see Health.", pipeline: "host" },
  },
  {
    title: "Network by process, both directions", stacked: true,
    asks: [{ metrics: ["proc.net.tcp.in.mb", "proc.net.tcp.out.mb", "proc.net.udp.in.mb", "proc.net.udp.out.mb"], ...by_process }],
    hint: { text: "There is no traffic of processes in this window.", pipeline: "network" },
  },
  {
    title: "Network interfaces", stacked: false,
    asks: [
      { metrics: ["sys.net.in.mb"], group_by: ["interface"], label: "in", top: 6 },
      { metrics: ["sys.net.out.mb"], group_by: ["interface"], label: "out", top: 6 },
    ],
    hint: { text: "There is no traffic of interfaces in this window.", pipeline: "host" },
  },
  {
    title: "Pressure: share of time that tasks waited", stacked: false,
    asks: [
      { metrics: ["sys.pressure.cpu.some"], label: "CPU", aggregate: "max" },
      { metrics: ["sys.pressure.memory.some"], label: "memory", aggregate: "max" },
      { metrics: ["sys.pressure.io.some"], label: "disk", aggregate: "max" },
    ],
    hint: { text: "This kernel reports no pressure (CONFIG_PSI), or nothing was collected in this window.", pipeline: "host" },
  },
];

export function make_overview(_info: Info): View {
  const charts = kCharts.map((spec) => new ChartCard(spec));
  const top = new Card("Top processes", "top-card");
  const abnormal = new Card("Abnormal", "abnormal-card");
  const explain = new ExplainCard();
  const ledger = new Card("Agent", "agent-card");
  let table: Table<ProcessRow> | null = null;

  const show_top = (answer: Processes) => {
    if (answer.rows.length === 0) return top.nothing({ text: "There are no processes in this window.", pipeline: "host" });
    const columns = process_columns(answer);
    if (table === null || !top.body.contains(table.root)) {
      table?.close();
      table = new Table<ProcessRow>("Top processes of the window", columns, { column: answer.columns[0]?.name ?? "process", descending: true }, open_process);
      top.show(table.root, h("p", { class: "more" }, h("a", { href: "#processes", class: "to-processes" }, `All ${answer.total} processes`)));
    }
    table.show(answer.rows, columns);
    const link = top.body.querySelector<HTMLAnchorElement>(".to-processes");
    if (link !== null) {
      link.href = address_of(changed({ view: "processes" }));
      link.textContent = `All ${answer.total} processes`;
    }
    top.say(`${span_text(answer)} (${duration_text(answer.to - answer.from)})`);
  };

  const update = () => {
    const { from, to } = window_span(), host = exactly(current().host);
    for (const chart of charts) chart.update();
    explain.update();
    void top.load<Processes>("processes", { from, to, host, limit: kRows }, show_top);
    const query = (kind: string) => ({ kind, from, to, host });
    void abnormal.run("spans", address("spans", query("")), async (signal) => Promise.all(["alert", "anomaly"].map((kind) => get<StoredSpan[]>("spans", query(kind), signal))),
      (found) => abnormal.show(spans_list(found.flat(), "No alert and no anomaly is stored in this window.")));
    void ledger.load<Health>("health", {}, (health) => ledger.show(...agent_lines(health)));
  };

  return {
    root: h("div", { class: "view overview" },
      h("div", { class: "grid" }, ...charts.map((chart) => chart.card.root)),
      h("div", { class: "grid wide-first" }, top.root, h("div", { class: "column" }, explain.card.root, abnormal.root, ledger.root))),
    update: () => {
      ledger.forget();
      update();
    },
    redraw: () => charts.forEach((chart) => chart.redraw()),
    close: () => {
      for (const chart of charts) chart.close();
      explain.close();
      for (const card of [top, abnormal, ledger]) card.close();
      table?.close();
    },
  };
}

function agent_lines(health: Health): HTMLElement[] {
  const status = status_of(health.status);
  const more = h("p", { class: "more" }, h("a", { href: address_of(changed({ view: "health" })) }, "Pipelines, queues and features"));
  if (status === null) return [h("p", { class: "muted" }, health.reason ?? "No agent runs here."), more];
  const found = troubles(status);
  const sinks = status.stages.filter((stage) => stage.type === "sink");
  const queued = sinks.filter((stage) => (stage.numbers.queued ?? 0) > 0).map((stage) => `${stage.pipeline}, ${stage.component}: ${stage.numbers.queued} samples queued`);
  return [
    h("p", {}, h("span", { class: status.balanced === true ? "badge good" : "badge bad" }, status.balanced === true ? "ledger balanced" : "ledger not balanced"),
      ` version ${status.version}, up ${status.uptime === null ? "–" : duration_text(1000 * status.uptime)}`),
    h("ul", { class: "plain" }, ...found.concat(queued).slice(0, 8).map((text) => h("li", {}, text))),
    found.length + queued.length === 0 ? h("p", { class: "muted" }, "No losses, no errors, empty queues.") : h("p", { class: "muted" }, `${found.length} facts to check`),
    more,
  ];
}
