# SPDX-License-Identifier: Apache-2.0
"""Cost of a run of a region for the program: the same calls with and without the source uprobe, in ABBA pairs.

uprobe_bench.py ATALAYA REGIONS [CALLS [PAIRS]]
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from bench_tools import Atalaya, Ended, cpu_ns, running, spread

PATIENCE = 30  # seconds
# By the first instruction of the function, where the probe is.
FUNCTIONS = {"pushing": "begins by pushing a register, which the kernel does itself", "hot": "begins by reading memory, which is stepped over"}


def call_ns(program, function, calls):
    """CPU time a call, ns, the kernel's on its behalf included, as the program itself measures it."""
    return int(subprocess.run([program, function, str(calls)], capture_output=True, check=True).stdout) / calls


def points(folder):
    path = os.path.join(folder, "points")
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def wait(folder, condition, description):
    until = time.monotonic() + PATIENCE
    while not condition(points(folder)):
        if time.monotonic() > until:
            raise Ended(f"the source never reported {description}")
        time.sleep(0.05)


def count(found, metric):
    return sum(point["value"] for point in found if point.get("metric") == metric)


def seen_ns(atalaya, program, function, calls):
    """The same while the region is seen, and the agent's CPU ns a call."""
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder:
        path = os.path.join(folder, "bench.lua")
        region = f'{{ name = "x", binary = "{program}", enter = "{function}", leave = "return" }}'
        with open(path, "w") as file:
            file.write(f"""local a = require "atalaya"
                a.pipeline "bench" {{ every = "1s", a.source.uprobe {{ regions = {{ {region} }} }},
                  a.sink.file {{ path = "{folder}/points" }} }}""")
        with running([atalaya.binary, "run", path], atalaya.environment(folder)) as agent:
            wait(folder, lambda found: any(point.get("metric") == "region.attached" and point["value"] == 1 for point in found), "its region")
            before = cpu_ns(agent.pid)
            ns = call_ns(program, function, calls)
            wait(folder, lambda found: count(found, "region.calls") >= calls, "all calls")
            return ns, (cpu_ns(agent.pid) - before) / calls


def measure(atalaya, program, function, calls, pairs):
    costs, agents = [], []
    for i in range(pairs):
        legs = {}
        for seen in ((False, True) if i % 2 == 0 else (True, False)):
            legs[seen] = seen_ns(atalaya, program, function, calls) if seen else (call_ns(program, function, calls), 0)
        costs.append(legs[True][0] - legs[False][0])
        agents.append(legs[True][1])
    noise = 2 * statistics.stdev(costs) / len(costs) ** 0.5
    print(f"  a function that {FUNCTIONS[function]}: a run costs the program {statistics.mean(costs):.0f} +- {noise:.0f} ns (95 %), "
          f"median and range {spread(costs, 0)}; the agent {statistics.mean(agents):.0f} ns, at most 10,000 spans a second among them; "
          f"{pairs} ABBA pairs of {calls} calls")


def main():
    atalaya, program = Atalaya(sys.argv[1]), os.path.abspath(sys.argv[2])
    calls = int(sys.argv[3]) if len(sys.argv) > 3 else 100000
    pairs = int(sys.argv[4]) if len(sys.argv) > 4 else 10
    try:
        for function in FUNCTIONS:
            measure(atalaya, program, function, calls, pairs)
    except Ended as error:
        print(f"  left out: {error}")


main()
