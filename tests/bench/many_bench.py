# SPDX-License-Identifier: Apache-2.0
"""Cost of a window with 1,000, 3,000 and 10,000 sleeping processes, and the memory for them.

many_bench.py ATALAYA BARE_ITERATOR SLEEPERS. Linear means that each process more costs the same, however many there are.
"""

import statistics
import sys

from bench_tools import ACTIVE, FILE, SQLITE, Atalaya, Ended, process_count, sleepers, spread, verdict, watch

WARM_UP, WINDOWS = 4, 8
COUNTS = (1000, 3000, 10000)


def measure(atalaya, bare_iterator, program, count):
    """(processes, cost of the agent, cost of the bare iterator); a cost that could not be had is None."""
    with sleepers(program, count):
        total = process_count()
        costs = []
        for once in (lambda: atalaya.watch(WINDOWS, WARM_UP, 'backend = "bpf"', "names", ACTIVE, SQLITE, FILE)[0],
                     lambda: watch([bare_iterator], WINDOWS, 1)):
            try:
                costs.append(once())
            except Ended as error:
                print(f"left out: {error}")
                costs.append(None)
        return total, costs[0], costs[1]


def line(name, total, cost):
    each = statistics.median(cost.windows) * 1000 / total
    return f"  {name:20} {spread(cost.windows):>22} ms a window, {each:.2f} us a process, RSS {cost.resident:.1f} MiB"


def main():
    atalaya = Atalaya(sys.argv[1])
    atalaya.print_names()
    print(f"whole pipeline (bpf, value, sqlite, file), {WINDOWS} windows each: median (min-max)")
    each = []
    for count in COUNTS:
        total, agent, bare = measure(atalaya, sys.argv[2], sys.argv[3], count)
        print(f"{total} processes")
        for name, cost in (("agent", agent), ("bare iterator", bare)):
            if cost:
                print(line(name, total, cost))
        if agent:
            each.append((total, statistics.median(agent.windows), agent.resident))
    if len(each) < len(COUNTS):
        return
    for (fewer, low, _), (more, high, _) in zip(each, each[1:]):
        print(f"from {fewer} to {more}: {(high - low) * 1000 / (more - fewer):.2f} us for each process more")
    resident = each[-1][2]
    print(f"RSS {resident:.1f} MiB at {COUNTS[-1]}; goal at most 60: {verdict(resident <= 60)}")


try:
    main()
except Ended as error:
    sys.exit(f"many_bench: {error}")
