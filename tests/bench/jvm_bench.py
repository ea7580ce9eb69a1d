# SPDX-License-Identifier: Apache-2.0
"""Loss of programs whose JVM is queried for thread dumps, and the cost of that next to the budget.

jvm_bench.py ATALAYA [PAIRS]
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading

from bench_tools import Atalaya, Ended, cpu_ns, running, spread, verdict

CORES = os.cpu_count()
WARM_UP, LEG, EVERY = 2, 10, 2  # seconds
BUDGET, GOAL = 2, 1  # % of a core; % of the host
NAME = "jvm-bench"  # of the process: other JVMs are left alone


def pipeline(folder):
    path = os.path.join(folder, "bench.lua")
    with open(path, "w") as file:
        file.write(f"""local a = require "atalaya"
            a.pipeline "bench" {{ every = "{EVERY}s", a.source.jvm {{ processes = {{ "{NAME}" }}, budget = {BUDGET} }},
              a.sink.file {{ path = "{folder}/samples", format = "samples" }} }}""")
    return path


def reported_cost(folder):
    """Cost that the source reports, in % of a core, and dumps a second, each window's mean."""
    with open(os.path.join(folder, "samples")) as file:
        found = [json.loads(line)["fields"] for line in file if line.startswith('{"kind":"metrics"') and line.endswith("\n")]
    windows = [fields for fields in found if "jvm.profile.cost" in fields]
    if not any(fields["jvm.profile.rate"] for fields in windows):
        raise Ended("the JVM was not profiled")
    return statistics.mean(fields["jvm.profile.cost"] for fields in windows), statistics.mean(fields["jvm.profile.rate"] for fields in windows)


def spin(classes, threads):
    """Rounds a second by the clock: a pause takes no CPU time, and yet it costs."""
    command = [os.path.join(classes, NAME), "-cp", classes, "Spin", str(WARM_UP + LEG), str(threads)]
    done = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return done["rounds"] / (WARM_UP + LEG)


def leg(atalaya, classes, threads, is_asked):
    """Work a second; and the agent's own CPU time in % of a core, and its reported cost."""
    if not is_asked:
        return spin(classes, threads), None
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder:
        with running([atalaya.binary, "run", pipeline(folder)], atalaya.environment(folder)) as agent:
            threading.Event().wait(1)
            before = cpu_ns(agent.pid)
            rate = spin(classes, threads)
            own = (cpu_ns(agent.pid) - before) / (WARM_UP + LEG + 1) / 1e7
        return rate, (own, *reported_cost(folder))


def bench(atalaya, classes, threads, pairs):
    losses, costs = [], []
    for i in range(pairs):
        order = (False, True) if i % 2 == 0 else (True, False)
        rates = {}
        for is_asked in order:
            rates[is_asked], cost = leg(atalaya, classes, threads, is_asked)
            if cost:
                costs.append(cost)
        losses.append(100 * (1 - rates[True] / rates[False]))
    mean = statistics.mean(losses)
    noise = 2 * statistics.stdev(losses) / len(losses) ** 0.5
    own, cost, rate = (statistics.mean(column) for column in zip(*costs))
    result = "inconclusive" if noise > 2 else verdict(mean <= GOAL or mean - noise <= 0)
    print(f"  {threads:3} threads: {mean:.2f} % +- {noise:.2f} (95 %) less work a second, median and range {spread(losses)}; goal at most {GOAL} %: {result}")
    print(f"      reported {cost:.2f} % of a core, {rate:.1f} dumps a second; the agent's own CPU time {own:.2f} % of a core; "
          f"budget {BUDGET} %: {verdict(cost <= 1.2 * BUDGET)}")


def main():
    atalaya, pairs = Atalaya(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 15
    if not shutil.which("javac"):
        sys.exit("needs a JDK: apt-get install default-jdk-headless")
    print(f"Loss of busy Java threads at the default budget, {CORES} cores, in {pairs} ABBA pairs of {WARM_UP + LEG} s")
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as classes:
        subprocess.run(["javac", "-d", classes, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Spin.java")], check=True)
        os.symlink(os.path.realpath(shutil.which("java")), os.path.join(classes, NAME))
        for threads in sorted({1, CORES, 16 * CORES}):
            bench(atalaya, classes, threads, pairs)


main()
