# SPDX-License-Identifier: Apache-2.0
"""Cost of the source net for the data, in each of its modes, next to nethogs: iperf3 on loopback with large and small messages.

net_bench.py ATALAYA [PAIRS]. The same amount of bytes without and with the agent (windows of 1 s) in turns ABBA: CPU time of both ends
of iperf3 for a byte, and bytes a second. Printed are the means of the pairs and their 95 % intervals. The reported bytes are
compared with those of iperf3.
"""

import contextlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field

import net_tools
from bench_tools import cpu_ns, verdict
from net_tools import iperf3

ENOUGH, STUDENT = 15, 2.14  # pairs; 95 %, 14 degrees of freedom
GOAL = 0.5  # per cent, in a mode without cost for the data
# Amount of each message size that takes about half a second.
AMOUNTS = {"128K": "2G", "1K": "300M", "64": "24M"}
MODES = {
    "default": "",
    "connections": 'mode = "connections"',
    "udp": "udp = true",
    "syscall": 'attribution = "syscall"',
    "events": 'mode = "events"',
    "nethogs": None,
}
CHEAP = ("default", "connections")


class NetHogs:
    """Its lines are totals a process: name, bytes sent, bytes received."""

    def __init__(self, process, program):
        self.process, self.program = process, program
        self.lost = None

    def reported(self, moved):
        time.sleep(2.5)
        self.process.terminate()
        text = self.process.communicate()[0]
        sent = {}
        for match in re.finditer(rf"^(\S*{self.program}[^\t]*)\t([0-9.e+]+)\t", text, re.M):
            sent[match[1]] = max(sent.get(match[1], 0), float(match[2]))
        return sum(sent.values())


class Ours:
    def __init__(self, agent):
        self.agent, self.process = agent, agent.process
        self.lost = None

    def reported(self, moved):
        self.agent.finish()
        samples = self.agent.samples()
        self.lost = sum(sample["fields"].get("proc.net.lost", 0) for sample in samples)
        ports = {str(one.port) for one in moved}
        return sum(sample["fields"].get("flow.out.bytes", 0) for sample in samples
                   if sample["tags"].get("direction") == "out" and sample["tags"].get("port") in ports)


@contextlib.contextmanager
def contender(binary, mode, program="iperf3"):
    """`program` moves the data."""
    if mode != "nethogs":
        with net_tools.agent(binary, MODES[mode]) as agent:
            yield Ours(agent)
        return
    words = ["nethogs", "-t", "-a", "-d", "1", "-v", "2", "lo"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            time.sleep(2)
            yield NetHogs(process, program)
        finally:
            process.terminate()


@dataclass
class Costs:
    cpu: list = field(default_factory=list)  # per cent more for a byte
    slower: list = field(default_factory=list)  # per cent of throughput
    own: list = field(default_factory=list)  # per cent of a core
    error: list = field(default_factory=list)  # per cent of bytes
    lost: list = field(default_factory=list)  # a transfer

    def add_pair(self, binary, mode, size):
        first = iperf3("-n", AMOUNTS[size], "-l", size)
        with contender(binary, mode) as one:
            before, begin = cpu_ns(one.process.pid), time.monotonic()
            moved = [iperf3("-n", AMOUNTS[size], "-l", size) for _ in range(2)]
            self.own.append((cpu_ns(one.process.pid) - before) / 1e7 / (time.monotonic() - begin))
            reported = one.reported(moved)
        plain = [first, iperf3("-n", AMOUNTS[size], "-l", size)]
        self.cpu.append((sum(each.cpu / each.sent for each in moved) / sum(each.cpu / each.sent for each in plain) - 1) * 100)
        self.slower.append((1 - sum(each.rate for each in moved) / sum(each.rate for each in plain)) * 100)
        # iperf3 leaves some of its data unread: the true amount is between the numbers of its ends.
        sent, received = sum(each.sent for each in moved), sum(each.received for each in moved)
        self.error.append((reported / min(max(reported, received), sent) - 1) * 100)
        if one.lost is not None:
            self.lost.append(one.lost / len(moved))


def interval(values):
    return STUDENT * statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("inf")


def words(mode, costs, pairs):
    """The goal is of those that are meant to cost the data nothing."""
    mean, half = statistics.mean(costs.cpu), interval(costs.cpu)
    if half > 2 or pairs < ENOUGH:
        return "inconclusive"
    if mean - half <= 0:
        return "not distinguishable from 0"
    return f"at most {GOAL} %: " + verdict(mean <= GOAL) if mode in CHEAP else ""


def row(binary, mode, size, pairs):
    costs = Costs()
    for _ in range(pairs):
        costs.add_pair(binary, mode, size)
    def figure(values, digits):
        return f"{statistics.mean(values):+.{digits}f} ± {interval(values):.{digits}f}"
    return [mode, size, figure(costs.cpu, 2), figure(costs.slower, 2), f"{statistics.median(costs.own):.1f}",
            "-" if mode == "connections" else f"{statistics.median(costs.error):+.3f}",
            f"{statistics.median(costs.lost):.0f}" if costs.lost else "-", words(mode, costs, pairs)]


def rows(binary, pairs):
    for size in AMOUNTS:
        for mode in MODES:
            if mode != "nethogs" or shutil.which("nethogs"):
                yield row(binary, mode, size, pairs)


def main():
    binary = os.path.abspath(sys.argv[1])
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else ENOUGH  # fewer: errors and losses only
    if not shutil.which("iperf3"):
        sys.exit("iperf3 is not installed: nothing to measure with")
    if not shutil.which("nethogs"):
        print("nethogs is not installed: left out")
    net_tools.markdown(["mode", "message", "CPU a byte, %", "slower, %", "own CPU, % of a core", "error in bytes, %", "lost", ""], rows(binary, pairs))


if __name__ == "__main__":
    main()
