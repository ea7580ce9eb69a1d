# SPDX-License-Identifier: Apache-2.0
"""Bursts of the source perf (wakers): the loss of programs during a burst and over a minute, and the agent's memory with 10,000 threads.

bursts_bench.py ATALAYA BURST_LOAD [PAIRS]: PAIRS of runs (default 15) with and without a burst that lasts for the whole run.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from bench_tools import Atalaya, Ended, resident_mib, running, spread, verdict

LEG, BURST, MINUTE = 4, 1, 60  # seconds; the recommended burst of 1 s in each minute
THREADS, MIB = 10_000, 64
GOAL = 0.5  # per cent of the work, averaged over a minute


def command(atalaya, folder, every, options):
    path = os.path.join(folder, "bench.lua")
    with open(path, "w") as file:
        file.write(f"""local a = require "atalaya"
            a.pipeline "bench" {{ every = "{every}s", a.source.perf {{ {options} }}, a.sink.file {{ path = "{folder}/samples", format = "samples" }} }}""")
    return [atalaya.binary, "run", path]


def accounts(folder):
    path = os.path.join(folder, "samples")
    if not os.path.exists(path):
        return []
    with open(path) as file:
        lines = [json.loads(line) for line in file if line.startswith('{"kind":"metrics"') and line.endswith("\n")]
    return [line["fields"] for line in lines]


def links(pid):
    """BPF programs that a process has attached to tracepoints."""
    count = 0
    for name in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{name}") as file:
                text = file.read()
                count += "link_type:\ttracing" in text or "link_type:\traw_tracepoint" in text
        except OSError:  # closed in the meantime
            pass
    return count


def work(program, pairs=2):
    done = json.loads(subprocess.run([program, str(LEG), "pairs", str(pairs)], capture_output=True, check=True).stdout)
    return done["rounds"] / done["cpu_ns"] * 1e9


def leg(atalaya, program, bursts):
    """Work per CPU second; the burst lasts longer than the program, and the CPU profile runs in both legs."""
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder:
        options = f'frequency = 1{", wakers = " + chr(34) + str(10 * LEG) + "s" + chr(34) + ", wakers_every = " + chr(34) + "1h" + chr(34) if bursts else ""}'
        with running(command(atalaya, folder, 3600, options), atalaya.environment(folder)) as agent:
            while bursts and links(agent.pid) < 2:
                if agent.poll() is not None:
                    raise Ended("the agent ended before the burst began")
                time.sleep(0.05)
            time.sleep(1)
            return work(program)


def bench_loss(atalaya, program, pairs):
    print(f"Loss of programs that switch threads every 20 us: work per CPU second in {pairs} ABBA pairs of {LEG} s")
    losses = []
    for i in range(pairs):
        order = (False, True) if i % 2 == 0 else (True, False)
        rates = {bursts: leg(atalaya, program, bursts) for bursts in order}
        losses.append(100 * (1 - rates[True] / rates[False]))
    mean = statistics.mean(losses)
    noise = 2 * statistics.stdev(losses) / len(losses) ** 0.5
    part = BURST / MINUTE
    result = "inconclusive" if noise * part > GOAL else verdict(part * mean <= GOAL or part * (mean - noise) <= 0)
    print(f"  during a burst {mean:.2f} % +- {noise:.2f} (95 %), median and range {spread(losses)}")
    print(f"  over a minute with a burst of {BURST} s: {part * mean:.3f} % +- {part * noise:.3f}; goal at most {GOAL} %: {result}")


def most_memory(atalaya, options, windows):
    """MiB of the agent over this number of windows, and their accounts."""
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder:
        with running(command(atalaya, folder, 5, options), atalaya.environment(folder)) as agent:
            most = 0
            while len(accounts(folder)) < windows:
                most = max(most, resident_mib(agent.pid))
                time.sleep(0.05)
        return most, accounts(folder)


def bench_memory(atalaya, program):
    """While THREADS threads wake up once per second; without the symbols of other programs of this host."""
    tasks = 'processes = { "burst_load" }, tasks = true, '
    with subprocess.Popen([program, "3600", "sleepers", str(THREADS)], stdout=subprocess.PIPE, text=True) as load:
        load.stdout.readline()
        try:
            plain, _ = most_memory(atalaya, tasks, 4)
            off_cpu, _ = most_memory(atalaya, tasks + 'profile = "both", run_queue = true, tags = { "reason" }', 4)
            bursts, all_accounts = most_memory(atalaya, f'{tasks} wakers = "{BURST}s", wakers_every = "5s"', 4)
        finally:
            load.kill()
    waits = sum(one["perf.burst.waits"] for one in all_accounts)
    lost = sum(one["perf.burst.lost"] + one["perf.burst.unfollowed"] for one in all_accounts)
    print(f"Memory of the agent with {THREADS} threads: {plain:.0f} MiB with tasks, {off_cpu:.0f} MiB with waits of all time too, "
          f"{bursts:.0f} MiB with tasks and bursts ({waits} waits, {lost} lost); goal at most {MIB} MiB: {verdict(waits > 0 and bursts <= MIB)}", flush=True)


def main():
    atalaya, program = Atalaya(sys.argv[1]), sys.argv[2]
    bench_memory(atalaya, program)
    bench_loss(atalaya, program, int(sys.argv[3]) if len(sys.argv) > 3 else 15)


main()
