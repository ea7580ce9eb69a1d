# SPDX-License-Identifier: Apache-2.0
"""(b) Traffic of processes next to nethogs."""

import contextlib
import json
import os
import statistics
import subprocess
import time
from dataclasses import dataclass

import net_bench
import net_tools
from bench_tools import SECOND, bpf_clock, cpu_ns, running
from peers.program import binary
from peers.table import Column, Goal, Table, at_most, average_of_pairs, loss

PAIRS, OF_NETHOGS, SIZE, LEG = 40, 5, 131072, 2  # pairs, each how many-th with nethogs; bytes of a message; seconds, whole windows
OURS, NETHOGS, FLOOR = "atalaya", "nethogs", "floor: loopback alone"
MODES = {OURS: "default", NETHOGS: "nethogs"}
SOCKETS, RATE, SECONDS = 5000, 10_000, 5  # pairs of ends; connections a second


@dataclass
class Leg:
    bytes: int
    ns: int
    cpu_ns: int

    @property
    def rate(self):
        return self.bytes / self.ns

    @property
    def cost(self):
        return self.cpu_ns / self.bytes


class Connection:
    def __init__(self, process):
        self.process = process
        self.port = json.loads(process.stdout.readline())["port"]

    def leg(self):
        self.process.stdin.write(f"{LEG}\n")
        self.process.stdin.flush()
        return Leg(**json.loads(self.process.stdout.readline()))


@contextlib.contextmanager
def connection(tool):
    with subprocess.Popen([tool, str(SIZE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            one = Connection(process)
            one.leg()  # slow start, and new memory
            yield one
        finally:
            process.kill()


@contextlib.contextmanager
def one_core():
    """All that starts in the block shares one core: a program that runs takes its time from the transfer, and cannot use an idle core."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def compared(plain, moved):
    """Per cent of throughput that the legs `moved` have less, and of CPU time for a byte that they take more. Those without the program come
    before and after: a machine that becomes slower meanwhile makes no difference."""
    return {"slower": 100 * (1 - sum(leg.rate for leg in moved) / sum(leg.rate for leg in plain)),
            "byte": 100 * (sum(leg.cost for leg in moved) / sum(leg.cost for leg in plain) - 1)}


def of_pair(bench, data, mode):
    """Four legs, of which the program runs in the second and the third. Values of the program, and bytes a second of the others."""
    plain = [data.leg()]
    with net_bench.contender(bench.atalaya, mode, "transfer") as one:
        pid = one.process.pid
        cpu, programs = cpu_ns(pid), net_tools.bpf_ns(pid)
        moved = [data.leg() for _ in range(2)]
        elapsed = sum(leg.ns for leg in moved)
        found = {"core": 100 * (cpu_ns(pid) - cpu) / elapsed, "programs": 100 * (net_tools.bpf_ns(pid) - programs) / elapsed,
                 "error": 100 * (one.reported([data]) / sum(leg.bytes for leg in moved) - 1)}
    plain.append(data.leg())
    return dict(found, **compared(plain, moved)), statistics.mean(leg.rate for leg in plain) * SECOND


def measure(bench, recorder):
    with recorder.turn(NETHOGS):
        binary("nethogs")
    with one_core(), bpf_clock(), connection(bench.tool("transfer")) as data:
        for number in range(bench.rounds or PAIRS):
            for name in MODES if number % OF_NETHOGS == 0 else (OURS,):
                if not recorder.is_missing(name):
                    with recorder.turn(name):
                        found, rate = of_pair(bench, data, MODES[name])
                        recorder.add(name, **found)
                        recorder.add(FLOOR, rate=rate / 2**30)


def measure_sockets(bench, recorder):
    with net_tools.open_sockets(SOCKETS):
        with recorder.turn(OURS), net_tools.agent(bench.atalaya) as one:
            time.sleep(2)
            for ms in net_tools.watch_windows(one.process.pid, 10):
                recorder.add(OURS, sockets=ms)
        with recorder.turn(NETHOGS), running([binary("nethogs"), "-t", "-a", "-d", "1"]) as process:
            time.sleep(3)
            for ms in net_tools.watch_windows(process.pid, 5):
                recorder.add(NETHOGS, sockets=ms)
    with recorder.turn(OURS), net_tools.agent(bench.atalaya) as one:
        before = cpu_ns(one.process.pid)
        said = storm(bench)
        cpu = cpu_ns(one.process.pid) - before
        one.finish()
        sent = one.sum("flow.out.bytes", process="bench-maker", port=str(said["port"]))
        recorder.add(OURS, connection=cpu / 1e3 / said["connections"], found=100 * sent / (100 * said["connections"]))
    with recorder.turn(NETHOGS), running([binary("nethogs"), "-t", "-a", "-d", "1", "lo"]) as process:
        time.sleep(2)
        before = cpu_ns(process.pid)
        said = storm(bench)
        recorder.add(NETHOGS, connection=(cpu_ns(process.pid) - before) / 1e3 / said["connections"])


def storm(bench):
    """Connections of 100 bytes each."""
    return bench.figures("connection_storm", SECONDS, RATE)


TABLES = (Table(
    name="network",
    title="Traffic of a fast transfer",
    text=(f"One process holds both ends of a connection on loopback and moves messages of {SIZE // 1024} KiB. "
          f"A pair is a leg of {LEG} s without the program, two with it, and one without. Both share one core, "
          "which the transfer fills, so all work of the program takes time from the transfer. The error is that of the reported bytes against those that "
          f"the process counted. nethogs has one pair in {OF_NETHOGS}.",),
    columns=(Column("slower", "less throughput, % (mean, 95 % interval)", text=average_of_pairs),
             Column("byte", "CPU of a byte, % more (mean, 95 % interval)", text=average_of_pairs, detail=True), Column("core", "own CPU, % of the core", 3),
             Column("programs", "in BPF programs, % of the core", 3, detail=True), Column("error", "error in bytes, %", 3), Column("rate", "GiB/s", detail=True)),
    rows={OURS: "atalaya", NETHOGS: "nethogs", FLOOR: ""},
    goals=(Goal("throughput: at most 0.5 %, with an interval that excludes 1 %", loss(OURS, "slower", 0.5, excluded=1)),),
    measure=measure,
    minutes=12,
), Table(
    name="connections",
    title="Many connections",
    text=(f"{2 * SOCKETS:,} open sockets without traffic, at windows of 1 s; then {RATE:,} connections per second of 100 bytes each.",),
    columns=(Column("sockets", "open sockets: CPU of a window, ms"), Column("connection", "CPU of a connection, us", 1),
             Column("found", "bytes found, %")),
    rows={OURS: "atalaya", NETHOGS: "nethogs"},
    goals=(Goal("10,000 open sockets: at most 10 ms in a window of 1 s", at_most(OURS, "sockets", 10, "ms")),),
    measure=measure_sockets,
    reference=OURS,
))
