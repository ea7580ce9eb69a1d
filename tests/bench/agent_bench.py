# SPDX-License-Identifier: Apache-2.0
"""What the whole agent costs a window beside atop, in one run: 1,000 idle and 20 busy processes, 1 s windows.

The agent runs source proc -> filter value -> sinks sqlite and file; CPU time of all its threads from /proc/PID/schedstat, atop's
likewise. The first window of each is left out. Prints the median of several rounds and their spread.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

IDLE, BUSY, WINDOWS, ROUNDS = 1000, 20, 6, 3


def cpu_ns(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as file:
            total += int(file.read().split()[0])
    return total


def cost_per_window(command, environment=None):
    """CPU ms a window, and the RSS in MiB at the end."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    try:
        time.sleep(2.5)
        begin = cpu_ns(process.pid)
        time.sleep(WINDOWS)
        spent = cpu_ns(process.pid) - begin
        with open(f"/proc/{process.pid}/statm") as file:
            resident = int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
        return spent / WINDOWS / 1e6, resident
    finally:
        process.terminate()
        process.wait()


def main():
    binary = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        load = [subprocess.Popen(["sleep", "600"]) for _ in range(IDLE)]
        # Busy: a little work, often; not so much that the machine itself is the measurement.
        load += [subprocess.Popen([sys.executable, "-c", "import time\nwhile True:\n  sum(range(2000)); time.sleep(0.02)"]) for _ in range(BUSY)]
        try:
            lua = os.path.join(folder, "bench.lua")
            with open(lua, "w") as file:
                file.write(f"""local a = require "atalaya"
                a.pipeline "bench" {{ every = "1s", a.source.proc {{ host = false, cgroups = false }},
                  a.filter.value {{ ["proc.cpu.user"] = 0.5, ["proc.cpu.kernel"] = 0.5 }},
                  a.sink.sqlite {{ path = "{folder}/s.db" }}, a.sink.file {{ path = "{folder}/f.jsonl" }} }}""")
            environment = dict(os.environ, STATE_DIRECTORY=folder, RUNTIME_DIRECTORY=folder, ATALAYA_LUA="lua")
            contenders = {"atalaya, procfs, whole pipeline": lambda: cost_per_window([binary, "run", lua], environment)}
            if shutil.which("atop"):
                contenders["atop -P PRC,PRM,PRD"] = lambda: cost_per_window(["atop", "-P", "PRC,PRM,PRD", "1"])
            figures = {name: [] for name in contenders}
            for _ in range(ROUNDS):
                for name, run in contenders.items():
                    figures[name].append(run())
            for name, rounds in figures.items():
                costs = [cost for cost, _ in rounds]
                print(f"{name:36} {statistics.median(costs):7.2f} ms a window ({min(costs):.2f}-{max(costs):.2f}), "
                      f"RSS {max(resident for _, resident in rounds):.1f} MiB")
            if len(figures) == 2:
                ours, theirs = (statistics.median(cost for cost, _ in rounds) for rounds in figures.values())
                print(f"ratio to atop: 1/{theirs / ours:.1f} (goal for procfs: at most 1/4)")
            else:
                print("atop is not installed: no ratio")
        finally:
            for process in load:
                process.kill()
            for process in load:
                process.wait()


main()
