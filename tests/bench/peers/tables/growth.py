# SPDX-License-Identifier: Apache-2.0
"""(i) How costs grow with processes, sockets, series and stacks. Hosts and JVMs have tables of their own."""

import os
import tempfile
import time

import net_tools
from bench_tools import sleepers
from peers.command import cost_of
from peers.database import Database
from peers.growth import linear
from peers.programs import atalaya
from peers.table import Column, Table
from peers.turns import take_turns, watch

PROCESSES, SOCKETS, SERIES, STACKS = (100, 1000, 10_000, 50_000), (100, 1000, 10_000), (50, 200, 800), (1000, 10_000, 100_000)
HOURS, ROUNDS, WINDOWS = 4, 3, 5
OF_PROCESSES, OF_SOCKETS, OF_SERIES, OF_STACKS = ({number: f"{number:,} {what}" for number in numbers} for what, numbers in (
    ("processes", PROCESSES), ("sockets", SOCKETS), ("series", SERIES), ("stacks", STACKS)))
NAMES = [*OF_PROCESSES.values(), *OF_SOCKETS.values(), *OF_SERIES.values(), *OF_STACKS.values()]


def most_processes():
    with open("/proc/sys/kernel/pid_max") as file:
        return int(file.read())


def measure_processes(bench, recorder):
    for count, name in OF_PROCESSES.items():
        if count > most_processes():
            recorder.miss(name, f"kernel.pid_max is {most_processes()}")
        if recorder.is_missing(name):
            continue
        with recorder.turn(name), sleepers(bench.tool("sleepers"), count):
            found = watch(atalaya.Agent, bench.atalaya, windows=WINDOWS, warm_up=3)
            recorder.add(name, commands=found["commands"], cpu=found["ms"], rss=found["rss"])
            floor = watch(atalaya.Floor, bench.tool("bare_iterator"), windows=WINDOWS, warm_up=1)
            recorder.add(name, floor=floor["ms"])


def measure_sockets(bench, recorder):
    for count, name in OF_SOCKETS.items():
        with recorder.turn(name), net_tools.open_sockets(count // 2), net_tools.agent(bench.atalaya) as one:
            time.sleep(2)
            for ms in net_tools.watch_windows(one.process.pid, WINDOWS):
                recorder.add(name, cpu=ms)


def commands(bench, folder):
    """Commands of a user, on a store of each size: {row: command}."""
    found = {}
    for count, name in OF_SERIES.items():
        store = os.path.join(folder, f"series{count}.db")
        bench.figures("store_bench", "day", store, os.devnull, str(HOURS), "1", str(count))
        begin = int(time.time()) // 86400 * 86400 - 2 * 86400  # as store_bench
        found[name] = [bench.atalaya, "query", "--store", store, "--from", str(begin), "--to", str(begin + HOURS * 3600), "--metric", "proc.cpu.user",
                       "--group-by", "pid", "--every", "600s-median", "--format", "csv", "--max-points", "100000000"]
    for count, name in OF_STACKS.items():
        store = os.path.join(folder, f"stacks{count}.db")
        span = bench.figures("fill_store", "stacks", store, str(count))
        found[name] = [bench.atalaya, "flamegraph", "--store", store, "--from", str(span["begin"]), "--to", str(span["end"]), "--format", "folded"]
    return found


def measure(bench, recorder):
    for _ in range(bench.rounds or ROUNDS):
        measure_processes(bench, recorder)
        measure_sockets(bench, recorder)
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-", dir=Database.scratch) as folder:
        take_turns(recorder, {name: lambda command=command: cost_of(command)[1] for name, command in commands(bench, folder).items()},
                   bench.rounds or ROUNDS)


TABLES = (Table(
    name="growth",
    title="Growth",
    text=("The cost of one window of the agent, with sleeping processes or idle sockets, or of one command from start to end. Series: `atalaya query` of "
          f"the median in each ten minutes, from all points of {HOURS} hours at 1 s. Stacks: `atalaya flamegraph` of stacks of 25 frames that are all "
          "different. The floor of processes is a bare pass over them.",),
    columns=(Column("cpu", "CPU, ms"), Column("rss", "RSS, MiB", 1), Column("floor", "floor: CPU, ms")),
    rows={name: "atalaya" for name in NAMES},
    goals=(linear("processes, CPU of a window", OF_PROCESSES, "cpu", "ms"), linear("processes, memory", OF_PROCESSES, "rss", "MiB"),
           linear("sockets, CPU of a window", OF_SOCKETS, "cpu", "ms"), linear("series, CPU of a query", OF_SERIES, "cpu", "ms"),
           linear("stacks, CPU of a flame graph", OF_STACKS, "cpu", "ms")),
    measure=measure,
    minutes=12,
),)
