// SPDX-License-Identifier: Apache-2.0
// Everything about one process in the window: CPU, memory, disk, network, collections, stacks, flows, energy, phases.
import { exactly } from "../data/api";
import { Card } from "../parts/card";
import { ChartCard, type Ask, type Spec } from "../charts/chart_card";
import { colour_of } from "../charts/colours";
import { h } from "../parts/dom";
import { FlameCard } from "../charts/flame";
import { Lanes } from "../charts/lanes";
import { span_name, tags_text } from "../parts/span_list";
import { address_of, changed, own, window_span } from "../data/state";
import type { Info, Process } from "../data/types";
import type { View } from "../view";

interface Family extends Omit<Spec, "asks" | "hint"> {
  asks: (Omit<Ask, "is"> & { flows?: boolean })[];
}

// Shown if the process has at least one of the metrics.
const kFamilies: Family[] = [
  { title: "CPU", stacked: true, asks: [{ metrics: ["proc.cpu.user"], label: "user" }, { metrics: ["proc.cpu.kernel"], label: "kernel" }] },
  { title: "CPU delay: runnable, but not running", stacked: false, asks: [{ metrics: ["proc.cpu.delay"], label: "delay" }] },
  { title: "Memory", stacked: false, asks: [{ metrics: ["proc.mem.resident"], label: "resident" }, { metrics: ["proc.mem.swap"], label: "swapped" }] },
  { title: "Disk", stacked: false, asks: [{ metrics: ["proc.disk.reads.mb"], label: "reads" }, { metrics: ["proc.disk.writes.mb"], label: "writes" }] },
  { title: "TCP", stacked: false, asks: [{ metrics: ["proc.net.tcp.in.mb"], label: "in" }, { metrics: ["proc.net.tcp.out.mb"], label: "out" }] },
  { title: "UDP", stacked: false, asks: [{ metrics: ["proc.net.udp.in.mb"], label: "in" }, { metrics: ["proc.net.udp.out.mb"], label: "out" }] },
  { title: "Sent to", stacked: true, asks: [{ metrics: ["flow.out.bytes"], group_by: ["remote"], top: 8, other: true }] },
  { title: "Received from", stacked: true, asks: [{ metrics: ["flow.in.bytes"], group_by: ["remote"], top: 8, other: true }] },
  { title: "Time in garbage collections", stacked: true, asks: [{ metrics: ["jvm.gc.young.time"], label: "young" }, { metrics: ["jvm.gc.full.time"], label: "full" }, { metrics: ["jvm.gc.concurrent.time"], label: "pauses of concurrent ones" }] },
  { title: "Java heap", stacked: false, asks: [{ metrics: ["jvm.heap.used"], label: "used" }, { metrics: ["jvm.heap.capacity"], label: "capacity" }] },
  { title: "Energy", stacked: false, asks: [{ metrics: ["proc.cpu.energy"], label: "CPU" }] },
  { title: "Instructions per cycle", stacked: false, asks: [{ metrics: ["proc.counters.ipc"], label: "instructions per cycle" }] },
  { title: "Page faults", stacked: false, asks: [{ metrics: ["proc.faults.minor"], label: "minor" }, { metrics: ["proc.faults.major"], label: "major" }] },
  { title: "Context switches", stacked: false, asks: [{ metrics: ["proc.switches.voluntary"], label: "voluntary" }, { metrics: ["proc.switches.involuntary"], label: "involuntary" }] },
  { title: "Threads and open files", stacked: false, asks: [{ metrics: ["proc.threads"], label: "threads" }, { metrics: ["proc.files.open"], label: "open files" }] },
];

export function make_process(_info: Info): View {
  const subject = { host: own("of_host"), pid: own("pid"), process: own("process") };
  const is = Object.fromEntries(Object.entries(subject).filter(([, value]) => value !== ""));
  const patterns = Object.fromEntries(Object.entries(is).map(([key, value]) => [key, exactly(value)]));
  const head = new Card(subject.process || "process", "identity-card");
  const places = h("div", { class: "grid" });
  const flame = new FlameCard(() => subject);
  const phases = new Card("Phases", "phases-card");
  const lanes = new Lanes();
  let charts: ChartCard[] = [];
  let families = "";

  const rebuild = (answer: Process) => {
    const known = new Set(answer.metrics.map((metric) => metric.name));
    const wanted = kFamilies.filter((family) => family.asks.some((ask) => ask.metrics.some((metric) => known.has(metric))));
    const titles = wanted.map((family) => family.title).join();
    if (titles === families) return;
    families = titles;
    for (const chart of charts) chart.close();
    charts = wanted.map((family) => new ChartCard({
      ...family,
      asks: family.asks.filter((ask) => ask.metrics.some((metric) => known.has(metric))).map((ask) => ({ ...ask, is })),
      hint: { text: "There are no values in this window." },
      height: 140,
    }));
    places.replaceChildren(...charts.map((chart) => chart.card.root));
  };

  const show = (answer: Process) => {
    const swatch = h("i", { class: "swatch large" });
    swatch.style.backgroundColor = colour_of(subject.process);
    const tags = Object.entries(answer.identity).filter(([, value]) => value !== "");
    head.show(h("div", { class: "identity" }, swatch, h("dl", {}, ...tags.flatMap(([key, value]) => [h("dt", {}, key), h("dd", {}, value)]))),
      answer.metrics.length === 0 && h("p", { class: "muted" }, "This process has no values in this window. Choose another one on the time line."));
    rebuild(answer);
    for (const chart of charts) chart.update();
    flame.card.root.hidden = !answer.stacks;
    if (answer.stacks) flame.update();
    phases.root.hidden = answer.phases.length === 0;
    if (answer.phases.length > 0) phases.show(lanes.show(answer.phases.map((span) => ({ lane: span_name(span), name: span_name(span), from: span.from, to: span.open ? null : span.to, about: tags_text(span.tags) })), window_span()));
  };

  head.tools.append(h("a", { class: "button", href: address_of(changed({ view: "processes" })) }, "All processes"));
  flame.card.root.hidden = phases.root.hidden = true;
  return {
    root: h("div", { class: "view process" }, head.root, phases.root, places, flame.card.root),
    update: () => {
      const { from, to } = window_span();
      void head.load<Process>("process", { from, to, ...patterns }, show);
      if (!flame.card.root.hidden) flame.update();
    },
    redraw: () => charts.forEach((chart) => chart.redraw()),
    close: () => {
      for (const chart of charts) chart.close();
      flame.close();
      head.close();
    },
  };
}
