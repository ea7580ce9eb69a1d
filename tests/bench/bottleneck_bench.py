# SPDX-License-Identifier: Apache-2.0
"""Time of `atalaya bottleneck` for a million tasks on a thousand nodes, without and with their five phases, on few nodes, and in thousands
of stages, next to the floor: SQLite alone, which reads the same rows. The goal of the command is 10 s for a million tasks."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time

GOAL = 10
FLOOR = """SELECT count(*), sum(s.duration_ns), sum(length(s.fields) + length(e.tags) + length(e.host))
  FROM spans s CROSS JOIN entities e ON e.id = s.entity"""


def timed(command):
    begin = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(command, check=True, capture_output=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, output


def measure(agent, maker, folder, tasks, phases, stages=1, nodes=1000):
    store = os.path.join(folder, f"{tasks}-{phases}.db")
    subprocess.run([maker, store, *map(str, (tasks, phases, stages, nodes))], check=True)
    floor, _, _ = timed(["sqlite3", store, FLOOR])
    answer = os.path.join(folder, "answer.json")
    command = [agent, "bottleneck", "--job", "all", "--from", "1699990000", "--to", "1710000000", "--timeout", "10m",
               "--store", store]
    wall, cpu, _ = timed(command)
    with_json, _, _ = timed([*command, "-o", answer])
    with open(answer) as file:
        found = json.load(file)
    names = {(one["node"], one.get("phase")) for one in found["findings"]}
    assert names == {(f"node{77 % nodes}", "spill" if phases else None)} and len(found["tasks"]) == tasks, names
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{tasks:>9,} tasks, {phases} phases each, {stages:,} stages, {nodes:,} nodes: {wall:6.2f} s ({cpu:.2f} s CPU), all of it as JSON {with_json:6.2f} s; SQLite alone {floor:5.2f} s, "
          f"{wall / floor:.1f} times; at most {memory:.0f} MiB" + ("" if tasks < 1_000_000 or phases else
                                                                  f"; goal {GOAL} s: {'met' if wall < GOAL else 'MISSED'}"), flush=True)
    os.remove(store)


def main():
    agent, maker = sys.argv[1:3]
    sizes = [tuple(map(int, size.split("x"))) for size in sys.argv[3:]] or [(100_000, 0), (100_000, 5), (1_000_000, 0), (1_000_000, 5),
                                                                          (1_000_000, 0, 1, 64), (1_000_000, 0, 5000, 64)]
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder:
        for size in sizes:
            measure(agent, maker, folder, *size)


if __name__ == "__main__":
    main()
