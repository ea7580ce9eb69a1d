# SPDX-License-Identifier: Apache-2.0
"""What a window costs with 1,000, 3,000 and 10,000 sleeping processes, and the memory for them: many_bench.py ATALAYA BARE_ITERATOR SLEEPERS."""

import statistics
import sys

from bench_tools import ACTIVE, FILE, SQLITE, Atalaya, Ended, processes, sleepers, spread, verdict, watch

WARM_UP, WINDOWS = 4, 8
COUNTS = (1000, 3000, 10000)


def measure(atalaya, bare_iterator, program, count):
    """(processes, cost of the agent, cost of the bare iterator); a cost that could not be had is None."""
    with sleepers(program, count):
        total = processes()
        costs = []
        for once in (lambda: atalaya.watch(WINDOWS, WARM_UP, 'backend = "bpf"', "names", ACTIVE, SQLITE, FILE)[0],
                     lambda: watch([bare_iterator], WINDOWS, 1)):
            try:
                costs.append(once())
            except Ended as error:
                print(f"left out, it does not run here: {error}")
                costs.append(None)
        return total, costs[0], costs[1]


def line(name, total, cost):
    return f"  {name:20} {spread(cost.windows):>22} ms a window, {statistics.median(cost.windows) * 1000 / total:.2f} us a process, RSS {cost.resident:.1f} MiB"


def main():
    atalaya = Atalaya(sys.argv[1])
    atalaya.say_names()
    print(f"whole pipeline (bpf, value, sqlite, file), {WINDOWS} windows each: median (min-max)")
    each = []
    for count in COUNTS:
        total, agent, bare = measure(atalaya, sys.argv[2], sys.argv[3], count)
        print(f"{total} processes")
        for name, cost in (("agent", agent), ("bare iterator", bare)):
            if cost:
                print(line(name, total, cost))
        if agent:
            each.append((statistics.median(agent.windows) * 1000 / total, agent.resident))
    if len(each) < len(COUNTS):
        return
    growth, resident = each[-1][0] / each[0][0], each[-1][1]
    print(f"a process costs {growth:.2f} times as much at {COUNTS[-1]} as at {COUNTS[0]} (linear: 1)")
    print(f"RSS {resident:.1f} MiB at {COUNTS[-1]}; goal at most 60: {verdict(resident <= 60)}")


main()
