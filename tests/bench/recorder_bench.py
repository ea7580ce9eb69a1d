# SPDX-License-Identifier: Apache-2.0
"""Cost of pipelines/recorder.lua that waits, and its memory before and after a recording: recorder_bench.py ATALAYA SLEEPERS.

The host has its own processes, 100 idle ones and three that work a little. CPU time is that of all threads of the agent, in
intervals of 10 s after the start; the program that writes the file of a recording ends with it and is not included.
"""

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time

from bench_tools import ROOT, Ended, cpu_ns, process_count, resident_mib, running, sleepers, spread, verdict

WARM_UP, INTERVAL, INTERVALS, WORKERS = 20, 10, 17, 3
PATIENCE = 60
GOAL_CPU, GOAL_MEMORY = 0.5, 64
WORK = "import time\nwhile True:\n  sum(range(2000)); time.sleep(0.02)"


def threads(pid):
    """CPU ns of the threads, by name."""
    found = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):
            folder = f"/proc/{pid}/task/{thread}"
            with open(folder + "/comm") as comm, open(folder + "/schedstat") as times:
                name = comm.read().strip()
                found[name] = found.get(name, 0) + int(times.read().split()[0])
    return found


def parts(pid):
    """Of the resident memory, in MiB."""
    with open(f"/proc/{pid}/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return ", ".join(f"{name} {int(lines[name].split()[0]) / 1024:.1f}" for name in ("RssAnon", "RssFile", "RssShmem"))


def measure(pid):
    time.sleep(WARM_UP)
    before, shares, at, cpu = threads(pid), [], time.monotonic(), cpu_ns(pid)
    for _ in range(INTERVALS):
        time.sleep(INTERVAL)
        now, used = time.monotonic(), cpu_ns(pid)
        shares.append((used - cpu) / (now - at) / 1e7)
        at, cpu = now, used
    print(f"CPU time: {spread(shares, 3)} % of a core in {INTERVALS} intervals of {INTERVAL} s, mean {statistics.mean(shares):.3f} %; "
          f"goal at most {GOAL_CPU} %: {verdict(statistics.mean(shares) <= GOAL_CPU)}")
    grown = {name: (ns - before.get(name, 0)) / INTERVALS / INTERVAL / 1e7 for name, ns in threads(pid).items()}
    print("threads: " + ", ".join(f"{name} {share:.3f} %" for name, share in sorted(grown.items(), key=lambda one: -one[1])[:8]))


def record(atalaya, pid, folder):
    """The largest resident memory from the request until the file of the recording is complete."""
    subprocess.run([atalaya, "record", "--folder", folder, "--last", "2m"], check=True, stdout=subprocess.DEVNULL)
    largest, until = 0, time.monotonic() + PATIENCE
    while time.monotonic() < until:
        largest = max(largest, resident_mib(pid))
        files = [name for name in os.listdir(folder + "/recordings") if name.endswith(".json")]
        if files:
            return largest, os.path.getsize(f"{folder}/recordings/{files[0]}") / 2**20
        time.sleep(0.2)
    raise Ended(f"no recording after {PATIENCE} s")


def main():
    atalaya = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder, contextlib.ExitStack() as stack:
        stack.enter_context(sleepers(sys.argv[2], 100))
        for _ in range(WORKERS):
            worker = subprocess.Popen([sys.executable, "-c", WORK])
            stack.callback(worker.wait)
            stack.callback(worker.kill)
        print(f"{process_count()} processes, load {os.getloadavg()[0]:.2f} at the start")
        environment = dict(os.environ, STATE_DIRECTORY=folder, RUNTIME_DIRECTORY=folder, ATALAYA_LUA=os.path.join(ROOT, "lua"))
        with running([atalaya, "run", os.path.join(ROOT, "pipelines/recorder.lua")], environment) as agent:
            measure(agent.pid)
            resident = resident_mib(agent.pid)
            print(f"RSS after {WARM_UP + INTERVAL * INTERVALS} s: {resident:.1f} MiB ({parts(agent.pid)}); "
                  f"goal at most {GOAL_MEMORY}: {verdict(resident <= GOAL_MEMORY)}")
            largest, file = record(atalaya, agent.pid, folder)
            after = resident_mib(agent.pid)
            print(f"RSS in and after a recording of 2 minutes (file of {file:.1f} MiB): maximum {largest:.1f} MiB, then {after:.1f} MiB; "
                  f"goal at most {GOAL_MEMORY}: {verdict(largest <= GOAL_MEMORY)}")
        print(f"load {os.getloadavg()[0]:.2f} at the end")


main()
