# SPDX-License-Identifier: Apache-2.0
"""(c) Profiles of the whole host: cost of a sample, and loss of the programs that are sampled."""

import contextlib
import json
import os
import re
import subprocess
import tempfile
import time

import perf_bench
from bench_tools import ROOT, Atalaya, Ended
from peers.group import Group
from peers.program import binary
from peers.table import Column, Goal, Table, fraction, loss

SECONDS, LEG, WARM_UP, PAIRS, FREQUENCY = 20, 4, 1, 20, 101
PATIENCE = 70  # seconds for a profile of SECONDS and its names
OURS, DWARF, PERF = "atalaya", "atalaya, unwind = dwarf", "perf record + perf script"
BCC, BPFTRACE, SYSPROF = "bpfcc profile", "bpftrace", "sysprof-cli"
LOSS_OURS, LOSS_PERF = "atalaya", "perf record"
STACKS = "profile:hz:%d { @[kstack, ustack, comm] = count(); } interval:s:%d { exit(); }"


def of_agent(bench, options, seconds):
    """One window of the agent, next to the load; its share of complete stacks."""
    user, kernel, resident, samples, incomplete = perf_bench.cost_of_agent(Atalaya(bench.atalaya), seconds, options, seconds, FREQUENCY)
    return {"us": user / 1e3, "kernel": kernel / 1e3, "rss": resident, "complete": 100 - incomplete, "samples": samples}


def finished(group, command, output=None):
    """Runs a program to its end in the group; its peak of memory, read every half second. Some name stacks for minutes."""
    until = time.monotonic() + PATIENCE
    process = group.start(command, dict(os.environ, LC_ALL="C"), stdout=output or subprocess.DEVNULL)
    peak = 0.0
    while process.poll() is None:
        if time.monotonic() > until:
            raise Ended(f"{os.path.basename(command[0])} did not end in {PATIENCE} s")
        peak = max(peak, group.resident_mib())
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.5)
    group.check()
    return peak


def of_perf(seconds):
    """Of its stacks those are complete that end in a first function of a thread."""
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder, Group() as group:
        data, text = os.path.join(folder, "perf.data"), os.path.join(folder, "text")
        peak = finished(group, [binary("perf"), "record", "-F", str(FREQUENCY), "-a", "-g", "-o", data, "sleep", str(seconds)])
        with open(text, "wb") as file:
            peak = max(peak, finished(group, ["perf", "script", "-i", data, "-F", "comm,pid,tid,time,event,ip,sym,dso"], file))
        cpu = group.cpu_ns()
        with open(text, errors="replace") as file:
            samples = sum(bool(line.strip()) and not line.startswith("\t") for line in file)
    return of_samples(cpu, samples, peak)


def of_samples(cpu, samples, resident):
    if samples == 0:
        raise Ended("it took no sample")
    return {"us": cpu / samples / 1e3, "rss": resident, "samples": samples}


def of_counter(command, pattern):
    """A program that counts stacks and prints them at its end."""
    with tempfile.TemporaryFile() as output, Group() as group:
        peak = finished(group, command, output)
        cpu = group.cpu_ns()
        output.seek(0)
        samples = sum(int(count) for count in re.findall(pattern, output.read(), re.M))
    return of_samples(cpu, samples, peak)


def measure(bench, recorder):
    seconds = bench.seconds or SECONDS
    load = perf_bench.load(bench.tool("spin"), 40 * seconds)
    try:
        for name, once in {
            OURS: lambda: of_agent(bench, "", seconds),
            DWARF: lambda: of_agent(bench, 'unwind = "dwarf"', seconds),
            PERF: lambda: of_perf(seconds),
            BCC: lambda: of_counter([binary("profile-bpfcc"), "-F", str(FREQUENCY), "-f", str(seconds)], rb" (\d+)$"),
            BPFTRACE: lambda: of_counter([binary("bpftrace"), "-e", STACKS % (FREQUENCY, seconds)], rb"\]: (\d+)$"),
        }.items():
            with recorder.turn(name):
                recorder.add(name, **once())
    finally:
        perf_bench.end(load)
    recorder.miss(SYSPROF, "its capture has no names: only its window reads it" if bench.has("sysprof-cli") else "sysprof-cli is not installed")


@contextlib.contextmanager
def sampled_by_us(bench):
    """The window does not end during a leg: its cost is the agent's, not the program's."""
    agent = Atalaya(bench.atalaya)
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder, Group() as group:
        group.start(perf_bench.pipeline(agent, folder, FREQUENCY, 3600), agent.environment(folder))
        time.sleep(WARM_UP)
        yield


@contextlib.contextmanager
def sampled_by_perf(_):
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder, Group() as group:
        group.start([binary("perf"), "record", "-F", str(FREQUENCY), "-a", "-g", "-o", os.path.join(folder, "perf.data")])
        time.sleep(WARM_UP)
        yield


@contextlib.contextmanager
def not_sampled(_):
    time.sleep(WARM_UP)
    yield


SAMPLERS = {"": not_sampled, LOSS_OURS: sampled_by_us, LOSS_PERF: sampled_by_perf}


@contextlib.contextmanager
def program(command):
    """A program that runs while it is wanted; gives a function for its work a CPU second in one leg. Code of a JVM is compiled
    in another way in each process, which differs by more than sampling costs: so all legs are of one process."""
    with subprocess.Popen([*command, "-", str(os.cpu_count())], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        def rate():
            process.stdin.write(f"{LEG}\n")
            process.stdin.flush()
            done = json.loads(process.stdout.readline())
            return done["rounds"] / done["cpu_ns"]
        try:
            yield rate
        finally:
            process.kill()


def pair(bench, recorder, rate, reverse):
    """Work a CPU second of one leg each; every second pair in the other order."""
    rates = {}
    for name in list(SAMPLERS)[::-1 if reverse else 1]:
        if name and recorder.is_missing(name):
            continue
        with recorder.turn(name or LOSS_OURS), SAMPLERS[name](bench):
            rates[name] = rate()
    for name, found in rates.items():
        if name and "" in rates:
            recorder.add(name, loss=100 * (1 - found / rates[""]))


def measure_loss(command):
    def run(bench, recorder):
        with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as classes, program(command(bench, classes)) as rate:
            rate()  # its code is compiled
            for number in range(bench.rounds or PAIRS):
                pair(bench, recorder, rate, number % 2 == 1)
    return run


def cpp(bench, _):
    return [bench.tool("spin")]


def java(_, classes):
    subprocess.run([binary("javac"), "-d", classes, os.path.join(ROOT, "tests", "bench", "Spin.java")], check=True)
    return [binary("java"), "-XX:+PreserveFramePointer", "-cp", classes, "Spin"]


def loss_table(name, title, command):
    return Table(
        name=f"loss-{name}",
        title=f"Loss of a {title} program that is sampled",
        text=(f"Work per CPU second at {FREQUENCY} Hz, on all cores, in pairs of legs of {LEG} s without and with the profiler, of one process. The "
              "agent's own CPU time comes in addition: see the cost of a sample.",),
        columns=(Column("loss", "less work, %"),),
        rows={LOSS_OURS: "atalaya", LOSS_PERF: "perf"},
        goals=(Goal("at most 0.5 %", loss(LOSS_OURS, "loss", 0.5)),),
        measure=measure_loss(command),
        minutes=8)


TABLES = (Table(
    name="profile",
    title="Profiles: cost of a sample",
    text=(f"The whole host at {FREQUENCY} Hz for {SECONDS} s, next to programs in C++, Python, JavaScript and a copy of blocks. The CPU time of "
          "atalaya is that of a window after its first, and that of its BPF program in addition; bpfcc and bpftrace compile their programs in that time.",),
    columns=(Column("us", "CPU of a sample, us", 1), Column("kernel", "and in its BPF program, us", 1), Column("complete", "complete stacks, %", 1),
             Column("rss", "RSS, MiB", 1, detail=True), Column("samples", "samples", 0, detail=True)),
    rows={OURS: "atalaya", DWARF: "atalaya", PERF: "perf", BCC: "bpfcc profile", BPFTRACE: "bpftrace", SYSPROF: "sysprof"},
    goals=(Goal("at most 1/15 of perf record and perf script", fraction(OURS, PERF, "us", 15)),),
    measure=measure,
    reference=OURS,
), loss_table("cpp", "C++", cpp), loss_table("java", "Java", java))
