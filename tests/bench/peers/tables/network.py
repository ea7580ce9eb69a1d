# SPDX-License-Identifier: Apache-2.0
"""(b) Traffic of processes next to nethogs."""

import time

import net_bench
import net_tools
from bench_tools import cpu_ns, running
from peers.program import binary
from peers.table import Column, Goal, Table, at_most, loss
from peers.turns import take_turns

PAIRS, SIZE = 15, "128K"
OURS, NETHOGS, FLOOR = "atalaya", "nethogs", "floor: loopback alone"
MODES = {OURS: "default", NETHOGS: "nethogs"}
SOCKETS, RATE, SECONDS = 5000, 10_000, 5  # pairs of ends; connections a second


def measure(bench, recorder):
    binary("iperf3")
    def once(mode):
        def run():
            if mode == "nethogs":
                binary("nethogs")
            costs = net_bench.Costs()
            costs.add_pair(bench.atalaya, mode, SIZE)
            recorder.add(FLOOR, rate=costs.plain[0] / 2**30)
            return {"slower": costs.slower[0], "byte": costs.cpu[0], "core": costs.own[0], "error": costs.error[0]}
        return run
    take_turns(recorder, {name: once(mode) for name, mode in MODES.items()}, bench.rounds or PAIRS)


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
    text=(f"iperf3 on loopback with messages of {SIZE}iB, in pairs of transfers without and with the program. The error is that of the reported bytes "
          "against those of iperf3.",),
    columns=(Column("slower", "less throughput, %"), Column("byte", "CPU of a byte, % more"), Column("core", "own CPU, % of a core"),
             Column("error", "error in bytes, %", 3), Column("rate", "GiB/s")),
    rows={OURS: "atalaya", NETHOGS: "nethogs", FLOOR: ""},
    goals=(Goal("throughput: at most 0.5 %, with an interval that excludes 1 %", loss(OURS, "slower", 0.5, excluded=1)),),
    measure=measure,
    minutes=8,
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
