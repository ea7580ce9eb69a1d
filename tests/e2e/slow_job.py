# SPDX-License-Identifier: Apache-2.0
"""The example job of docs/tutorial/slow-job.md as generated samples: a host for 15 minutes with two runs of the job. Each run has four
steps, each limited by another resource. The second run writes larger blocks."""

import json
import random

HOST, CORES = "bench", 4
SECONDS, WINDOW, STEP = 900, 5, 60
RUNS = {"before": 300, "after": 600}  # seconds from the begin to the first step
STEPS = ("compress", "write", "network", "java")
MIB = 1 << 20
SENT = 90  # MiB/s from server.py to client.py
WRITTEN = {"before": 24, "after": 60}  # MiB/s of dd
JAVA = "Churn grow"
TRACE = ["Churn grow (Churn.java:14)", "Churn main (Churn.java:8)", "java.lang.Thread run (Thread.java:840)"]

# Name, pid, cores used, MiB.
OTHERS = [("systemd", 1, 0.2, 12), ("sshd", 700, 0.1, 9), ("postgres", 900, 1.5, 220), ("node_exporter", 950, 0.6, 24), ("cron", 620, 0.05, 4)]


class Job:
    """`begin`: Unix seconds of the first window's start."""

    def __init__(self, begin):
        self.begin = begin
        self.chance = random.Random(7)

    def samples(self):
        for end in range(self.begin + WINDOW, self.begin + SECONDS + 1, WINDOW):
            yield from self.window(end)
        for name, second in RUNS.items():
            yield {"kind": "span", "text": "experiment", "time": (self.begin + second) * 10**9, "duration": len(STEPS) * STEP * 10**9,
                   "tags": {"experiment": name, "user": "root"}, "fields": {}}

    def window(self, end):
        run, step = self.step_at(end)
        busy = []
        for name, pid, cpu, memory in OTHERS:
            busy.append(self.process(end, name, pid, cpu, cpu / 4, memory))
        if step:
            busy += getattr(self, step)(end, run, 4100 + 100 * list(RUNS).index(run))
        used = 0
        for samples in busy:
            used += samples[0]["fields"]["proc.cpu.user"] + samples[0]["fields"]["proc.cpu.kernel"]
            yield from samples
        yield from self.host(end, step, used)

    def step_at(self, end):
        """The run and its step in the window that ends then."""
        for run, second in RUNS.items():
            at = end - WINDOW - self.begin - second
            if 0 <= at < len(STEPS) * STEP:
                return run, STEPS[at // STEP]
        return None, None

    def near(self, value):
        return value * self.chance.uniform(0.97, 1.03)

    def sample(self, kind, end, tags, fields, text=""):
        return {"kind": kind, "time": end * 10**9, "duration": WINDOW * 10**9, "tags": tags, "fields": fields, **({"text": text} if text else {})}

    def process(self, end, name, pid, user, kernel, memory, more=None, stacks=None, waits=None):
        """Samples of a process: the first one has its metrics. `stacks`: shares of its CPU time; `waits`: seconds per second, by stack."""
        tags = {"host": HOST, "process": name, "pid": str(pid)}
        fields = {"proc.cpu.user": self.near(user), "proc.cpu.kernel": self.near(kernel), "proc.mem.resident": self.near(memory), "proc.threads": 2,
                  "proc.disk.reads.mb": 0.0, "proc.disk.writes.mb": 0.0, "proc.cpu.delay": self.near(0.4)}
        fields.update({key: self.near(value) for key, value in (more or {}).items()})
        samples = [self.sample("metrics", end, tags, fields)]
        for folded, share in (stacks or {}).items():
            count = round(share * (user + kernel) * WINDOW)  # 100 samples per second of CPU time
            samples.append(self.sample("stack", end, {**tags, "profile": "cpu"}, {"profile.samples": count}, folded))
        for (folded, reason), part in (waits or {}).items():
            samples.append(self.sample("stack", end, {**tags, "profile": "offcpu", "reason": reason},
                                       {"profile.samples": 50, "profile.ns": int(part * WINDOW * 10**9)}, folded))
        return samples

    def compress(self, end, _run, pid):
        return [self.process(end, "gzip", pid + 1, 95, 3, 2, stacks={"main;zip;deflate;longest_match": 0.6, "main;zip;deflate;fill_window": 0.2,
                                                                     "main;zip;updcrc": 0.17, "main;write;vfs_write_[k]": 0.03}),
                self.process(end, "head", pid + 2, 4, 14, 1, stacks={"main;copy_bytes": 0.2, "main;copy_bytes;read;vfs_read_[k];read_zero_[k]": 0.8})]

    def write(self, end, run, pid):
        copied = {"before": 0.2, "after": 0.7}[run]
        return [self.process(end, "dd", pid + 3, 1, 9, 2, {"proc.disk.writes.mb": WRITTEN[run]},
                             {"main;dd_copy;write;vfs_write_[k];copy_from_user_[k]": copied, "main;dd_copy;write;vfs_write_[k];submit_bio_[k]": 1 - copied},
                             {("main;dd_copy;write;vfs_write_[k];vfs_fsync_range_[k];io_schedule_[k]", "disk"): 0.88})]

    def network(self, end, _run, pid):
        sent = {"proc.net.tcp.out.mb": 8 * SENT, "proc.net.tcp.in.mb": 0.1}
        received = {"proc.net.tcp.in.mb": 8 * SENT, "proc.net.tcp.out.mb": 0.1}
        server = self.process(end, "server.py", pid + 4, 8, 42, 11, sent, {"main;serve;sendall;sock_sendmsg_[k];tcp_sendmsg_[k]": 0.8, "main;serve": 0.2},
                              {("main;serve;sendall;sock_sendmsg_[k];sk_stream_wait_memory_[k]", "network"): 0.45})
        client = self.process(end, "client.py", pid + 5, 12, 36, 11, received, {"main;recv_into;sock_recvmsg_[k];tcp_recvmsg_[k]": 0.75, "main;count": 0.25},
                              {("main;recv_into;sock_recvmsg_[k];sk_wait_data_[k]", "network"): 0.5})
        for samples, direction, out, into in ((server, "in", SENT * MIB, 1000), (client, "out", 1000, SENT * MIB)):
            tags = {**samples[0]["tags"], "local": "127.0.0.1", "remote": "127.0.0.1", "port": str(45000 + pid), "protocol": "tcp", "direction": direction}
            samples.append(self.sample("metrics", end, tags, {"flow.out.bytes": out * WINDOW, "flow.in.bytes": into * WINDOW}))
        return [server, client]

    def java(self, end, _run, pid):
        more = {"jvm.gc.time": 62, "jvm.gc.young.time": 40, "jvm.gc.full.time": 22, "jvm.heap.used": 60 * MIB, "jvm.heap.capacity": 64 * MIB,
                "jvm.profile.rate": 20, "jvm.profile.cost": 0.4, "jvm.profile.cpu": 100}
        samples = self.process(end, "java", pid + 6, 178, 6, 130, more, {
            "start_thread;JavaMain;void Churn.main(String[])_[j];byte[] Churn.grow(int)_[j]": 0.3,
            "start_thread;JavaMain;void Churn.main(String[])_[j]": 0.05,
            "start_thread;thread_native_entry_[libjvm.so];GangWorker::run_[libjvm.so];G1ParEvacuateFollowersClosure::do_void_[libjvm.so]": 0.45,
            "start_thread;thread_native_entry_[libjvm.so];CompileBroker::compiler_thread_loop_[libjvm.so]": 0.2})
        tags = samples[0]["tags"]
        for function, self_time, trace in ((JAVA, 0.3, TRACE), ("Churn main", 0.06, TRACE[1:])):
            samples.append(self.sample("metrics", end, {**tags, "function": function}, {"jvm.function.self": self_time}, "\n".join(trace)))
            dump = {**tags, "function": function, "profile": "exemplar", "bias": "safepoint"}
            samples.append(self.sample("stack", end, dump, {"profile.samples": 1, "profile.ns": int(self_time * 10**9)}, ";".join(reversed(trace))))
        wall = {**tags, "profile": "wall", "bias": "safepoint"}
        samples.append(self.sample("stack", end, wall, {"profile.samples": 90, "profile.ns": int(0.3 * WINDOW * 10**9)},
                                   "java.lang.Thread.run_[j];Churn.main_[j];Churn.grow_[j]"))
        return [samples]

    def host(self, end, step, used):
        pressure = {"compress": (4, 0, 1), "write": (1, 0, 68), "network": (3, 0, 1), "java": (12, 2, 1)}.get(step, (0.5, 0, 0.3))
        fields = {"sys.mem.total": 16000.0}
        for name, value in zip(("cpu", "memory", "io"), pressure, strict=True):
            fields[f"sys.pressure.{name}.some"] = self.near(value)
            fields[f"sys.pressure.{name}.some.stall"] = self.near(value)
        yield self.sample("metrics", end, {"host": HOST}, fields)
        for core in range(CORES):
            yield self.sample("metrics", end, {"host": HOST, "core": str(core)}, {"sys.cpu.usage": used / CORES + 1})
        moved = self.near(8 * SENT if step == "network" else 0.02)
        yield self.sample("metrics", end, {"host": HOST, "interface": "lo"}, {"sys.net.in.mb": moved, "sys.net.out.mb": moved})


def lines(begin):
    """As /api/jsonlines takes them."""
    return "".join(json.dumps(sample) + "\n" for sample in Job(begin).samples()).encode()
