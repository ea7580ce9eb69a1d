// SPDX-License-Identifier: Apache-2.0
// The answers of /api/page from generated data.
import { host_value, kFrames, kHosts, kHostile, kMetrics, kProcesses, value_of } from "./data.mjs";
import { flamegraph, kHostileImage, traffic_image } from "./images.mjs";

const kWindow = 5000, kHour = 3600_000, kAhead = 3 * kHour;  // of the server's clock
const one = (query, key, otherwise) => query.get(key) ?? otherwise;
const number = (query, key, otherwise) => Number(query.get(key) ?? otherwise);

export class Problem extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function span(query) {
  const now = Date.now() + kAhead;
  return { from: number(query, "from", now - kHour), to: number(query, "to", now) };
}

// A pattern: text with * and ?; a backslash takes the sign after it as text.
function fits(pattern, text) {
  const source = pattern.replace(/\\(.)|([*?])|([.+^${}()|[\]\\])/gs, (_, taken, glob, sign) => (taken !== undefined ? taken.replace(/[.*+?^${}()|[\]\\]/, "\\$&") : glob === "*" ? ".*" : glob === "?" ? "." : `\\${sign}`));
  return new RegExp(`^${source}$`, "s").test(text);
}

function chosen(query) {
  const wanted = query.getAll("tag").map((text) => [text.slice(0, text.indexOf("=")), text.slice(text.indexOf("=") + 1)]);
  for (const key of ["host", "process", "pid"]) for (const value of query.getAll(key)) wanted.push([key, value]);
  return kProcesses.filter((process) => wanted.every(([key, value]) => fits(value, String(process[key] ?? ""))));
}

function intervals(query) {
  const { from, to } = span(query), text = /^(\d+)(s|m|h)/.exec(one(query, "every", ""));
  const wanted = text === null ? (to - from) / number(query, "points", 300) : Number(text[1]) * { s: 1000, m: 60_000, h: kHour }[text[2]];
  const every = Math.max(kWindow, Math.ceil(wanted / kWindow) * kWindow), times = [];
  for (let time = Math.ceil((from + 1) / every) * every; time <= to; time += every) times.push(time);
  return { every, times };
}

function grouped(list, keys) {
  const groups = new Map();
  for (const process of list) {
    const tags = Object.fromEntries(keys.map((key) => [key, key === "remote" ? `10.0.0.${process.seed % 5}` : String(process[key] ?? "")]));
    const name = keys.map((key) => tags[key]).join(" ");
    const group = groups.get(name) ?? { name, tags, members: [], weight: 0 };
    group.members.push(process);
    group.weight += process.weight;
    groups.set(name, group);
  }
  return [...groups.values()].sort((a, b) => b.weight - a.weight);
}

function series(query) {
  const names = one(query, "metric", "").split(","), metrics = names.map((name) => kMetrics.find((metric) => metric.name === name)).filter(Boolean);
  if (metrics.length === 0) throw new Problem(400, `metric "${names.join()}" is not known`);
  const { every, times } = intervals(query), [metric] = metrics;
  const answer = (list) => ({ metric: names.join(" "), unit: metric.unit, kind: metric.kind, every, times, series: list, warnings: [] });
  if (metric.name.startsWith("sys.")) {
    const of = one(query, "group_by", "") === "interface" ? ["eth0", "lo", kHostile[0]] : [metric.name];
    return answer(of.map((name) => ({ name, tags: of.length > 1 ? { interface: name } : {}, values: times.map((time) => host_value(metric, time, name)) })));
  }
  const list = chosen(query), keys = one(query, "group_by", "").split(",").filter(Boolean), top = number(query, "top", 50);
  const groups = grouped(list, keys), shown = top > 0 ? groups.slice(0, top) : groups;
  // Only the largest members: the others change no picture.
  const sum = (members, time) => members.slice(0, 12).reduce((total, process) => total + metrics.reduce((part, one) => part + value_of(process, one, time), 0), 0);
  const result = shown.map((group) => ({ name: group.name, tags: group.tags, values: times.map((time) => (group.members[0].seed % 17 === 5 && (time / every) % 50 < 6 ? null : sum(group.members, time))) }));
  if (one(query, "other", "") === "true" && groups.length > shown.length) {
    const rest = groups.slice(shown.length).flatMap((group) => group.members);
    result.push({ name: "other", tags: {}, other: true, values: times.map((time) => sum(rest, time) * 1.5) });
  }
  return answer(result);
}

const kColumns = [["proc.cpu", "CPU", "%", ["proc.cpu.user", "proc.cpu.kernel"]], ["proc.mem.resident", "memory", "MiBy", ["proc.mem.resident"]], ["proc.disk.reads.mb", "disk read", "MiBy/s", ["proc.disk.reads.mb"]],
  ["proc.disk.writes.mb", "disk write", "MiBy/s", ["proc.disk.writes.mb"]], ["proc.net.in", "net in", "Mibit/s", ["proc.net.tcp.in.mb"]], ["proc.net.out", "net out", "Mibit/s", ["proc.net.tcp.out.mb"]], ["proc.threads", "threads", "1", ["proc.threads"]]];

function processes(query) {
  const { from, to } = span(query), text = one(query, "filter", "").toLowerCase();
  const fitting = chosen(query).filter((process) => `${process.host} ${process.pid} ${process.process} ${process.container}`.toLowerCase().includes(text));
  const rows = fitting.map((process) => ({ host: process.host, pid: process.pid, process: process.process, container: process.container,
    values: kColumns.map(([, , , names]) => (process.seed % 23 === 9 ? null : names.reduce((sum, name) => sum + value_of(process, kMetrics.find((metric) => metric.name === name), to), 0))) }));
  const at = Math.max(0, kColumns.findIndex(([name]) => name === one(query, "sort", "")));
  rows.sort((a, b) => (b.values[at] ?? -1) - (a.values[at] ?? -1));
  return { from, to, seconds: (to - from) / 1000, columns: kColumns.map(([name, label, unit]) => ({ name, label, unit, decimals: 2 })), rows: rows.slice(0, number(query, "limit", 200)), total: rows.length, other: { count: 0, values: kColumns.map(() => null) } };
}

function spans_between(query, kind, names) {
  const { from, to } = span(query), part = (to - from) / 40;
  return names.map((name, i) => ({ kind, name, from: Math.round(from + part * (2 + 3 * i)), to: i === names.length - 1 ? null : Math.round(from + part * (6 + 3 * i)), open: i === names.length - 1,
    tags: { host: kHosts[i % 2], process: kProcesses[i * 3 + 1].process, phase: name }, fields: { "score": 3.5 + i } }));
}

function process(query) {
  const wanted = chosen(query)[0];
  if (wanted === undefined) return { identity: {}, metrics: [], stacks: false, flows: false, jvm: false, phases: [] };
  return { identity: { host: wanted.host, pid: String(wanted.pid), process: wanted.process, container: wanted.container, user: "<u>root</u>" }, metrics: kMetrics.filter(({ name }) => !name.startsWith("sys.")).map(({ name, unit, kind }) => ({ name, unit, kind })),
    stacks: true, flows: true, jvm: true, phases: spans_between(query, "phase", ["map", "shuffle", "reduce"]) };
}

function traffic(query) {
  const nodes = Array.from({ length: 12 }, (_, i) => kProcesses[i]).map((process) => ({ host: process.host, name: process.process, command: process.process, pid: process.pid, outside: false, cpu: process.weight, memory: process.weight * 20 }));
  const edges = nodes.flatMap((_, i) => [1, 4].map((step) => ({ from: i, to: (i + step) % nodes.length, bytes: Math.round(1e9 / (1 + i * step)) })));
  return { svg: traffic_image(nodes, edges), nodes, edges, total: edges.reduce((sum, edge) => sum + edge.bytes, 0), estimated: 1e8 };
}

function matrix() {
  const names = [...kHosts, kHostile[0], "others"];
  return { names, values: names.map((_, i) => names.map((_, j) => (i + 2 * j === 4 ? null : 1e9 / (1 + 3 * i * i + j)))), unit: "By", svg: "" };
}

function jvms(query) {
  const list = kProcesses.slice(0, 6).map((process) => ({ host: process.host, pid: process.pid, process: process.process, rate: 9.8, cost: 0.4, version: "17.0.9", vm: "OpenJDK <VM>", collector: "G1" }));
  const functions = kFrames.map((name, i) => ({ name, self: 1.2 / (i + 1), self_share: 0.3 / (i + 1), samples: 4000 / (i + 1), samples_share: 0.28 / (i + 1) })), wanted = one(query, "function", "");
  return { count: 6, rate_hz: 58.8, functions, jvms: list,
    detail: kFrames.includes(wanted) ? { name: wanted, trace: [wanted, ...kFrames], callers: kFrames.slice(0, 4).map((name) => ({ name, self_share: 0.2, samples_share: null })), jvms: list.map((jvm) => ({ ...jvm, self: 0.1 })) } : null };
}

function jobs(query) {
  const { from, to } = span(query), part = (to - from) / 10;
  return [["job_1", "terasort <b>1</b>", Math.round(to - part), "succeeded"], ["job_2", kHostile[0], null, "running"]].map(([id, name, end, state], i) => ({ id, name, kind: "mapreduce", from: Math.round(from + part * (i + 1)), to: end, state, tasks: 120 }));
}

function job(query) {
  const id = one(query, "id", ""), now = Date.now() + kAhead, found = jobs(new URLSearchParams({ from: now - 900_000, to: now })).find((one) => one.id === id);
  if (found === undefined) throw new Problem(404, `job "${id}" is not in the store`);
  const tasks = Array.from({ length: 120 }, (_, i) => {
    const start = found.from + Math.floor(i / 12) * 55_000 + (i % 12) * 1500, grade = i % 12 === 7 ? 5 : 1 + (i % 4), length = 20_000 + grade * 6000, end = start + length;
    return { id: `task_${i}`, node: ["node-1", "node-2", null, kHostile[0]][i % 4], stage: i < 80 ? "map" : "reduce", attempt: i % 2 === 0 ? "0" : null, from: start, to: end, state: i % 3 === 0 ? null : "succeeded", slow: grade === 5, on_path: i % 12 === 7, grade: i % 13 === 3 ? null : grade,
      phases: [{ name: "read", from: start, to: start + length * 0.4 }, { name: "spill", from: start + length * 0.4, to: start + length * 0.7 }, { name: kHostile[1], from: start + length * 0.7, to: end }] };
  });
  const path = found.to === null ? null : { seconds: 600, parts: [{ name: `map ${kHostile[1]}`, seconds: 480 }, { name: "between tasks", seconds: 120 }], steps: [{ task: null, after: "start", from: found.from, to: found.from + 10_500 }, { task: "task_7", after: "slot", from: found.from + 10_500, to: found.to }], predictions: [{ change: `node ${kHostile[0]} as fast as the others`, seconds: 450 }], rough: true };
  return { job: found, path, tasks, slow_per_node: [{ node: "node-1", count: 2 }, { node: kHostile[0], count: 9 }], findings: [{ text: `Tasks on ${kHostile[0]} read 3 times slower than on the other nodes`, node: kHostile[0], evidence: ["median read 12.4 s, others 4.1 s", "disk usage 98 %"] }], notes: ["The disk of <b>node-2</b> was not measured."], more: true };
}

function explanation(query) {
  const { from, to } = span(query);
  const finding = (cause, sentence, parts) => ({ cause, sentence, resource: "cpu", unit: "cores", difference: 1.03, parts, other: { count: 12, difference: 0.03 }, functions: [{ name: kHostile[0], before: 0, after: 92.5 }], peers: [] });
  return { range: { from, to }, baseline: { from: 2 * from - to, to: from }, findings: [finding(true, `CPU: +1.03 cores (0.1 to 1.13); most of it: ${kHostile[0]} +1`, [{ name: kHostile[0], difference: 1 }]), finding(false, "Waiting for a CPU: +0.4 s/s", [])],
    facts: [{ host: kHosts[0], fact: "cpu.governor", before: "performance", after: kHostile[1], time: from }], ruledOut: [{ name: "memory of processes" }, { name: "disk writes" }], statistics: "Test: 30 steps against 30", notes: ["host <b>x</b> is left out"] };
}

function experiments(now) {
  const span = (from, to) => ({ from: now - from, to: now - to });
  return [{ name: "terasort <b>", ...span(600_000, 300_000), workloads: [{ name: kHostile[0], ...span(500_000, 400_000) }] }];
}

function health() {
  const stage = (pipeline, component, type, numbers, reasons = {}) => ({ pipeline, component, type, in: 0, created: 0, out: 0, dropped: 0, merged: 0, dead_letter: 0, queued: 0, gaps: 0, errors: 0, busy_ns: 3e7, spooled: 0, restarts: 0, ...numbers, reasons });
  return { status: { version: "0.1.0", pid: 1, uptime: 8123.4, file: "/etc/atalaya/<b>host</b>.lua", balanced: true, ledger: [stage("processes", "1 source proc", "source", { created: 190_000, out: 190_000 }), stage("processes", "3 filter value", "stage", { in: 190_000, out: 9000, dropped: 181_000 }, { filtered: 181_000 }),
    stage("processes", "sink sqlite", "sink", { in: 9000, out: 8990, queued: 10 }), stage("flows", "sink <img src=x onerror=alert(1)>", "sink", { in: 500, out: 490, dropped: 10 }, { "queue full": 10 })] },
  reason: null };
}

function doctor() {
  const need = (name, met, if_missing, remedy) => ({ type: "file", name, optional: true, met, if_missing, remedy });
  const feature = (name, state, ...needs) => ({ feature: name, kind: "source", component: name, state, problem: "", drop_in: "", needs });
  return { doctor: [feature("proc-bpf", "on", need("CAP_BPF", "yes", "", "")), feature("power", "off", need("/sys/class/powercap", "no", "no RAPL here <b>", "use a host that has /sys/class/powercap"), need("CAP_PERFMON", "yes", "", "")),
    feature(kHostile[0], "unknown", need("CONFIG_PSI", "unknown", kHostile[1], "use a kernel built with CONFIG_PSI"))], reason: null };
}

export function answer(path, query) {
  switch (path) {
    case "info": return { now: Date.now() + kAhead, version: "0.1.0", store: { name: "<b>atalaya.db</b>", kind: "sqlite", from: Date.now() - 30 * 24 * kHour, to: Date.now() + kAhead }, hosts: kHosts, utc_offset_minutes: 330 };
    case "metrics": return kMetrics.map(({ scale, ...metric }) => metric);
    case "tags": return { tags: { process: [...new Set(kProcesses.slice(0, 300).map((process) => process.process))], host: kHosts, pid: kProcesses.slice(0, 300).map((process) => String(process.pid)) }, more: true };
    case "series": return series(query);
    case "processes": return processes(query);
    case "process": return process(query);
    case "flamegraph": return { svg: one(query, "process", "") === "hostile image" ? kHostileImage : flamegraph(number(query, "width", 1200), number(query, "frames", 2500), query.has("diff_from")), total: 1_000_000, unit: "samples", profiles: ["cpu", "offcpu"], empty: one(query, "profile", "cpu") === "wall" ? "No wall clock stacks." : null, differences: query.has("slow_stage") ? `  +12 samples per task: ${kHostile[0]} (14 samples, was 2 samples)` : null };
    case "graph": return traffic(query);
    case "matrix": return matrix();
    case "jvms": return jvms(query);
    case "jobs": return jobs(query);
    case "job": return job(query);
    case "task": return { reasons: [{ name: "disk", seconds: 12.5 }, { name: kHostile[0], seconds: 3 }], owners: [{ name: `holder of ${kHostile[1]}-812`, seconds: 0.4 }] };
    case "experiments": return experiments(Date.now() + kAhead);
    case "spans": return spans_between(query, one(query, "kind", "phase"), one(query, "kind", "") === "phase" ? ["map", "shuffle", kHostile[0], "reduce"] : ["CPU of java is unusual", kHostile[1]]);
    case "explain": return explanation(query);
    case "health": return health();
    case "doctor": return doctor();
    default: throw new Problem(404, `no such path: ${path}`);
  }
}
