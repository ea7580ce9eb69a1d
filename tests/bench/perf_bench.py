# SPDX-License-Identifier: Apache-2.0
"""The source perf next to perf record: CPU time per sample, and the loss of the sampled programs.

perf_bench.py ATALAYA SPIN [SECONDS [PAIRS]]
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from bench_tools import Atalaya, Ended, cpu_ns, resident_mib, running, spread, verdict

CORES = os.cpu_count()
WARM_UP, LEG = 2, 4  # seconds


def pipeline(atalaya, folder, frequency, every, options=""):
    path = os.path.join(folder, "bench.lua")
    with open(path, "w") as file:
        file.write(f"""local a = require "atalaya"
            a.pipeline "bench" {{ every = "{every}s", a.source.perf {{ frequency = {frequency}, {options} }},
              a.sink.file {{ path = "{folder}/samples", format = "samples" }} }}""")
    return [atalaya.binary, "run", path]


def spin(command, seconds, threads=CORES):
    done = json.loads(subprocess.run([*command, str(seconds), str(threads)], capture_output=True, check=True).stdout)
    return done["rounds"] / done["cpu_ns"] * 1e9


def load(program, seconds):
    """Programs of several kinds for so long."""
    children = [subprocess.Popen([program, str(seconds), "1"], stdout=subprocess.DEVNULL)]
    children.append(subprocess.Popen([sys.executable, "-c", "import json\nwhile True: json.loads(json.dumps(list(range(200))))"]))
    if shutil.which("node"):
        children.append(subprocess.Popen(["node", "-e", "while (true) JSON.parse(JSON.stringify([...Array(500).keys()]))"]))
    children.append(subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=512"], stderr=subprocess.DEVNULL))
    return children


def end(children):
    for child in children:
        child.kill()
        child.wait()


def cost_of_agent(atalaya, seconds, options, every, frequency=101):
    """CPU ns a sample, in the agent and in the kernel, of its windows; and its memory."""
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder:
        with running(pipeline(atalaya, folder, frequency, every, options), atalaya.environment(folder)) as agent:
            # From behind one window to behind another one: the first reads all that there is to know.
            wait_windows(folder, 1)
            before, first = cpu_ns(agent.pid), count_windows(folder)
            wait_windows(folder, first + max(1, seconds // every))
            cpu, memory = cpu_ns(agent.pid) - before, resident_mib(agent.pid)
        accounts = read_accounts(folder)[first:]
    samples = sum(account["perf.samples"] for account in accounts)
    kernel = sum(account.get("perf.cpu.kernel", 0) for account in accounts) / 100 * every * 1e9
    incomplete = 100 * sum(account["perf.stacks.incomplete"] for account in accounts) / samples
    return cpu / samples, kernel / samples, memory, samples, incomplete


def read_accounts(folder):
    path = os.path.join(folder, "samples")
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line)["fields"] for line in file if line.startswith('{"kind":"metrics"') and line.endswith("\n")]


def count_windows(folder):
    return len(read_accounts(folder))


def wait_windows(folder, count):
    while count_windows(folder) < count:
        time.sleep(0.05)


def children_cpu_ns(run):
    before = os.times()
    run()
    after = os.times()
    return (after.children_user + after.children_system - before.children_user - before.children_system) * 1e9


def cost_of_perf(seconds):
    """CPU ns per sample of perf record and perf script; without the cost of sampling for the sampled programs."""
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        data, quiet = os.path.join(folder, "perf.data"), {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command = ["perf", "record", "-F", "101", "-a", "-g", "-o", data, "sleep", str(seconds)]
        record = children_cpu_ns(lambda: subprocess.run(command, check=True, **quiet))
        text = os.path.join(folder, "text")

        def script():
            with open(text, "w") as file:
                subprocess.run(["perf", "script", "-i", data, "-F", "comm,pid,tid,time,event,ip,sym,dso"], check=True, stdout=file,
                               stderr=subprocess.DEVNULL)
        script_ns = children_cpu_ns(script)
        with open(text, errors="replace") as file:
            samples = sum(bool(line.strip()) and not line.startswith("\t") for line in file)
    if samples == 0:
        raise Ended("perf took no sample")
    return record / samples, script_ns / samples, samples


def bench_cost(atalaya, program, seconds):
    print(f"CPU time a sample, 101 Hz, {CORES} cores, {seconds} s each beside the same load")
    children = load(program, 20 * seconds)
    figures = {}
    try:
        for name, options, every in (("atalaya", "", 20), ("atalaya, windows of 60 s", "", 60), ("atalaya, dwarf", 'unwind = "dwarf"', 20),
                                     ("atalaya, backend ring", 'backend = "ring"', 20)):
            user, kernel, memory, samples, incomplete = cost_of_agent(atalaya, seconds, options, every)
            figures[name] = user
            note = f"{kernel / 1e3:.1f} us in the BPF program, " if kernel else ""
            print(f"  {name:28} {user / 1e3:7.1f} us, {note}{memory:.0f} MiB, {samples} samples, {incomplete:.1f} % incomplete")
        if not shutil.which("perf"):
            raise Ended("perf is not installed")
        record, script, samples = cost_of_perf(seconds)
        print(f"  {'perf record + perf script':28} {(record + script) / 1e3:7.1f} us, of it record {record / 1e3:.1f}, {samples} samples")
        ratio = figures["atalaya"] / (record + script)
        print(f"  atalaya / perf: {ratio:.3f}; goal at most 0.1: {verdict(ratio <= 0.1)}")
    except (Ended, subprocess.CalledProcessError) as error:
        print(f"  left out: {error}")
    finally:
        end(children)


def leg(atalaya, command, frequency):
    """Work a CPU second; frequency 0: without the agent. Its window does not end meanwhile: its cost then is not the program's."""
    if frequency == 0:
        time.sleep(WARM_UP)
        return spin(command, LEG)
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder:
        with running(pipeline(atalaya, folder, frequency, 3600), atalaya.environment(folder)):
            time.sleep(WARM_UP)
            return spin(command, LEG)


def bench_overhead(atalaya, program, command, frequency, every, goal, pairs):
    print(f"Loss of {'Java' if command[0] == 'java' else 'C++'} programs at {frequency} Hz: work a CPU second in {pairs} ABBA pairs of {LEG} s, and the agent's share of the host "
          f"with windows of {every} s")
    losses = []
    for i in range(pairs):
        order = (0, frequency) if i % 2 == 0 else (frequency, 0)
        rates = {each: leg(atalaya, command, each) for each in order}
        losses.append(100 * (1 - rates[frequency] / rates[0]))
    children = load(program, 20 * every)
    try:
        user, _, _, samples, _ = cost_of_agent(atalaya, every, "", every, frequency)
        share = 100 * user * samples / (every * 1e9 * CORES)
    finally:
        end(children)
    mean, error = statistics.mean(losses), statistics.stdev(losses) / len(losses) ** 0.5
    noise = 2 * error
    result = "inconclusive" if noise > 2 else verdict(mean + share <= goal or mean + share - noise <= 0)
    print(f"  {mean:.2f} % +- {noise:.2f} (95 %), median and range {spread(losses)}; agent {share:.2f} %; goal at most {goal} % together: {result}")


def main():
    atalaya, program = Atalaya(sys.argv[1]), sys.argv[2]
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    pairs = int(sys.argv[4]) if len(sys.argv) > 4 else 15
    bench_cost(atalaya, program, seconds)
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as classes:
        subprocess.run(["javac", "-d", classes, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Spin.java")], check=True)
        for command in ([program], ["java", "-XX:+PreserveFramePointer", "-cp", classes, "Spin"]):
            bench_overhead(atalaya, program, command, 101, 60, 1, pairs)
            bench_overhead(atalaya, program, command, 202, 30, 2, pairs)


if __name__ == "__main__":
    main()
