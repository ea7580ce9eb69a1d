# SPDX-License-Identifier: Apache-2.0
"""Cost of the whole agent per window, next to atop and a bare pass: 1,000 idle and 20 busy processes, 1 s windows.

agent_bench.py ATALAYA BARE_ITERATOR. CPU time of all threads of each contender; its first seconds are left out. The
contenders take turns, one at a time, so that each finds the caches as a second of other work leaves them; figures are medians
over the rounds, with the smallest and the largest.
"""

import contextlib
import os
import shutil
import sqlite3
import statistics
import sys

from bench_tools import ACTIVE, BUSY, FILE, NONE, SQLITE, Atalaya, Ended, load, process_count, spread, verdict, watch

WARM_UP, WINDOWS, ROUNDS = 2, 4, 3

WHOLE, WHOLE_ACTIVE, WHOLE_PROCFS = "whole pipeline, bpf", "whole pipeline, bpf, active_only", "whole pipeline, procfs"
SOURCE, BARE, ATOP = "source alone, bpf", "bare iterator", "atop -P PRC,PRM,PRD"
ALL_TO_SQLITE, ALL_TO_FILE = "unfiltered to sqlite, bpf", "unfiltered to file, bpf"


def points_in_file(folder, cost):
    first, last = f'"timestamp":{cost.begin // 10**6}', f'"timestamp":{cost.end // 10**6}'
    count = 0
    with open(os.path.join(folder, "f.jsonl")) as file:
        for line in file:
            at = line.find('"timestamp":')
            count += first < line[at:at + len(first)] <= last
    return count


def points_in_store(folder, cost):
    with contextlib.closing(sqlite3.connect(os.path.join(folder, "s.db"))) as store:
        return store.execute("SELECT count(*) FROM points WHERE time > ? / 1000000 AND time <= ? / 1000000",
                             (cost.begin, cost.end)).fetchone()[0]


def contenders(atalaya, bare_iterator):
    def agent(*stages, after=None):
        return lambda: atalaya.watch(WINDOWS, WARM_UP, *stages, after=after)
    def other(*command):
        return lambda: (watch(command, WINDOWS, WARM_UP), None)
    return {
        WHOLE: agent('backend = "bpf"', "names", ACTIVE, SQLITE, FILE),
        WHOLE_ACTIVE: agent('backend = "bpf", active_only = true', "names", ACTIVE, SQLITE, FILE),
        ATOP: other("atop", "-P", "PRC,PRM,PRD", "1"),
        WHOLE_PROCFS: agent('backend = "procfs"', "names", ACTIVE, SQLITE, FILE),
        SOURCE: agent('backend = "bpf"', NONE, FILE),
        BARE: other(bare_iterator),
        ALL_TO_SQLITE: agent('backend = "bpf"', SQLITE, after=points_in_store),
        ALL_TO_FILE: agent('backend = "bpf"', FILE, after=points_in_file),
    }


def run(all_contenders):
    """Of each contender that runs here, (cost, points) of each round."""
    figures = {name: [] for name in all_contenders}
    for _ in range(ROUNDS):
        for name, once in all_contenders.items():
            try:
                if name in figures:
                    figures[name].append(once())
            except Ended as error:
                print(f"{name}: left out: {error}")
                del figures[name]
    return figures


def ratios(figures, one, other):
    return [a.ms / b.ms for (a, _), (b, _) in zip(figures[one], figures[other])]


def print_share(figures, one, goal, moonshot=None):
    if one not in figures or ATOP not in figures:
        return
    times = ratios(figures, ATOP, one)
    middle = statistics.median(times)
    more = f"; moonshot 1/{moonshot}: {verdict(middle >= moonshot)}" if moonshot else ""
    print(f"{one}: 1/{spread(times, 1)} of atop; goal at most 1/{goal}: {verdict(middle >= goal)}{more}")


def print_point_cost(figures, name, title, goal):
    if name not in figures or SOURCE not in figures:
        return
    costs = [(cost.ms - source.ms) * 1000 * WINDOWS / points
             for (cost, points), (source, _) in zip(figures[name], figures[SOURCE]) if points]
    if not costs:
        print(f"{name}: nothing was written")
        return
    points = statistics.median(points for _, points in figures[name]) / WINDOWS
    print(f"{title}: {spread(costs, 3)} us a point at {points:.0f} points a window, without the source; "
          f"goal at most {goal}: {verdict(statistics.median(costs) <= goal)}")


def report(figures):
    for name, rounds in figures.items():
        resident = max(cost.resident for cost, _ in rounds)
        print(f"{name:34} {spread([cost.ms for cost, _ in rounds]):>22} ms a window, RSS {resident:.1f} MiB")
    print_share(figures, WHOLE, 25, 40)
    print_share(figures, WHOLE_ACTIVE, 25, 40)
    print_share(figures, WHOLE_PROCFS, 4)
    if SOURCE in figures and BARE in figures:
        times = ratios(figures, SOURCE, BARE)
        print(f"{SOURCE}: {spread(times)} times the bare iterator; goal at most 3: {verdict(statistics.median(times) <= 3)}")
    print_point_cost(figures, ALL_TO_SQLITE, "sqlite", 0.7)
    print_point_cost(figures, ALL_TO_FILE, "JSON lines", 0.5)
    if WHOLE in figures:
        resident = max(cost.resident for cost, _ in figures[WHOLE])
        print(f"{WHOLE}: RSS {resident:.1f} MiB; goal at most 25: {verdict(resident <= 25)}")


def main():
    atalaya = Atalaya(sys.argv[1])
    with load():
        print(f"{process_count()} processes, {BUSY} of them busy; {ROUNDS} rounds of {WINDOWS} windows of 1 s")
        atalaya.print_names()
        if not shutil.which("atop"):
            print("atop is not installed: no ratio to it")
        report(run(contenders(atalaya, sys.argv[2])))


main()
