// SPDX-License-Identifier: Apache-2.0
// Generated data of a small cluster: the same for the same time. With hostile names, which the page must show as plain text.

export const kHosts = ["node-1", "node-2"];
// PLAIN=1, for pictures: ordinary names instead.
const kPlain = ["etcd", "haproxy", "prometheus", "grafana", "vector", "mysqld"];
export const kHostile = process.env.PLAIN === "1" ? kPlain : [
  '<img src=x onerror="window.injected=1">',
  "\"><script>window.injected=2</script>",
  "it's \"quoted\" & <b>bold</b> =1+1 ${7*7} {{7*7}}",
  "🔥 café ‮desrever \u0007",
  "javascript:window.injected=3",
  "__proto__",
];
const kNames = ["java", "NodeManager", "executor 3", "postgres", "python3 etl.py", "nginx", "clickhouse-server", "kafka", "sshd", "systemd", "node", "redis-server", "kworker/1:2", "rsync", "gcc", "ninja"];
const kContainers = ["", "", "web-7f9", "db-0", process.env.PLAIN === "1" ? "cache-1" : "<i>pod</i>"];

function noise(seed) {
  let x = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35) >>> 0;
  return ((x ^ (x >>> 16)) >>> 0) / 4294967296;
}

export const kProcesses = Array.from({ length: 2000 }, (_, i) => {
  const name = i % 3 === 1 && i / 3 < kHostile.length + 1 && i < 3 * kHostile.length ? kHostile[(i - 1) / 3] : kNames[i % kNames.length];
  return {
    host: kHosts[i % kHosts.length], pid: i % 40 === 39 ? null : 300 + 7 * i, process: i < 60 ? name : i % 11 === 0 ? name : `${name.slice(0, 12)}-${i}`,
    container: kContainers[i % kContainers.length], weight: 90 / (1 + i) ** 0.9, seed: i + 1,
  };
});

export const kMetrics = [
  ["proc.cpu.user", "%", "rate", 1], ["proc.cpu.kernel", "%", "rate", 0.3], ["proc.cpu.delay", "%", "rate", 0.05], ["proc.mem.resident", "MiBy", "gauge", 24],
  ["proc.disk.reads.mb", "MiBy/s", "rate", 0.12], ["proc.disk.writes.mb", "MiBy/s", "rate", 0.2], ["proc.threads", "1", "gauge", 0.5],
  ["proc.net.tcp.in.mb", "Mibit/s", "rate", 0.6], ["proc.net.tcp.out.mb", "Mibit/s", "rate", 0.4], ["proc.net.udp.in.mb", "Mibit/s", "rate", 0.01], ["proc.net.udp.out.mb", "Mibit/s", "rate", 0.01],
  ["proc.cpu.energy", "J", "delta", 0.2], ["flow.in.bytes", "By", "delta", 90000], ["flow.out.bytes", "By", "delta", 70000],
  ["jvm.heap.used", "By", "gauge", 9e6], ["jvm.heap.capacity", "By", "gauge", 2e7], ["jvm.gc.young.time", "%", "rate", 0.05], ["jvm.gc.full.time", "%", "rate", 0.01],
  ["sys.cpu.usage", "%", "rate", 1], ["sys.mem.total", "MiBy", "gauge", 1], ["sys.net.in.mb", "Mibit/s", "rate", 1], ["sys.net.out.mb", "Mibit/s", "rate", 1],
  ["sys.pressure.cpu.some", "%", "gauge", 1], ["sys.pressure.memory.some", "%", "gauge", 1], ["sys.pressure.io.some", "%", "gauge", 1],
].map(([name, unit, kind, scale]) => ({ name, unit, kind, decimals: 2, summary: `Summary of ${name} <b>in words</b>`, scale }));

// At a time, in the metric's unit.
export function value_of(process, metric, time) {
  const slow = Math.sin(time / 600_000 + process.seed) + Math.sin(time / 97_000 + 3 * process.seed);
  const burst = noise(Math.floor(time / 20_000) * 131 + process.seed) > 0.93 ? 1.8 : 1;
  const value = process.weight * metric.scale * Math.max(0, 1 + 0.3 * slow + 0.2 * noise(Math.floor(time / 1000) + process.seed * 7919)) * burst;
  return metric.kind === "gauge" ? process.weight * metric.scale * (1 + 0.1 * slow) : value;
}

const kHostValues = {
  "sys.cpu.usage": (time) => kProcesses.slice(0, 60).reduce((sum, process) => sum + 0.85 * value_of(process, kMetrics[0], time), 80),
  "sys.mem.total": () => 32_000,
};

export function host_value(metric, time, of) {
  const known = kHostValues[metric.name];
  if (known !== undefined) return known(time);
  return Math.max(0, (8 + of.length) * (1 + Math.sin(time / 300_000 + of.length)) + 4 * noise(Math.floor(time / 1000) + of.length));
}

export const kFrames = ["main", "run()", "java.util.HashMap.get", "Worker::loop(int)", "do_syscall_64_[k]", "tcp_sendmsg_[k]", "C2 CompilerThread", "G1ParTask", "parse<T>", "memcpy", kHostile[0], kHostile[1]];
