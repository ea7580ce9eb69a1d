# SPDX-License-Identifier: Apache-2.0
"""(d) The shared counters of JVMs next to jstat."""

import contextlib
import os
import subprocess
import tempfile
import time

from bench_tools import Ended
from peers.group import Group
from peers.program import binary, write
from peers.programs.atalaya import File
from peers.table import Column, Goal, Table, fraction
from peers.turns import take_turns, watch

JVMS, WINDOWS, SAMPLES, ROUNDS = 10, 10, 10, 3
NAME = "bench-jvm"  # of the process: other JVMs are left alone
OURS, MARGINAL = "atalaya, whole agent", "atalaya, without the agent's own windows"
ONCE, CONTINUOUS = "jstat -gc PID", "jstat -gc PID 1s"
IDLE = """final class Idle {
  public static void main(String[] words) throws InterruptedException {
    System.out.println("ready");
    Thread.sleep(Long.MAX_VALUE);
  }
}
"""
PIPELINE = """local a = require "atalaya"
a.pipeline "bench" {{ every = "1s", a.source.jvm {{ processes = {{ "{name}" }}, profile = false }},
  a.sink.file {{ path = "{{folder}}/f.jsonl", format = "samples" }} }}"""


@contextlib.contextmanager
def jvms(count):
    """Their pids, when all of them run."""
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder, contextlib.ExitStack() as stack:
        subprocess.run([binary("javac"), "-d", folder, write(folder, "Idle.java", IDLE)], check=True)
        program = os.path.join(folder, NAME)
        os.symlink(os.path.realpath(binary("java")), program)
        started = []
        for _ in range(count):
            process = subprocess.Popen([program, "-Xmx16m", "-cp", folder, "Idle"], stdout=subprocess.PIPE)
            stack.callback(lambda one=process: (one.kill(), one.wait(), one.stdout.close()))
            started.append(process)
        for process in started:
            if process.stdout.readline() != b"ready\n":
                raise Ended("a JVM did not start")
        yield [process.pid for process in started]


class Counters(File):
    """The agent with the source jvm for processes of this name, and windows of 1 s."""

    def __init__(self, group, folder, program, name, every=1):
        super().__init__(group, folder, program, PIPELINE.format(name=name), every)

    def ready(self):
        """At once: an agent without a JVM writes nothing."""
        return True


def ours(bench):
    """The agent with the JVMs, and the difference to an agent without one."""
    def costs():
        whole = watch(Counters, bench.atalaya, NAME, windows=WINDOWS, warm_up=3)
        none = watch(Counters, bench.atalaya, "no-such-name", windows=WINDOWS, warm_up=3)
        return whole["ms"] / JVMS, (whole["ms"] - none["ms"]) / JVMS, whole["rss"]
    return costs


def once_a_sample(pid):
    def run():
        with Group() as group:
            for _ in range(SAMPLES):
                if group.start([binary("jstat"), "-gc", str(pid)]).wait() != 0:
                    group.check()
            return {"ms": group.cpu_ns() / 1e6 / SAMPLES}
    return run


def continuous(pid):
    def run():
        with Group() as group:
            group.start([binary("jstat"), "-gc", str(pid), "1s"])
            time.sleep(4)  # until it has compiled what it runs
            before = group.cpu_ns()
            time.sleep(WINDOWS)
            cpu, resident = group.cpu_ns() - before, group.resident_mib()
            group.check()
        return {"ms": cpu / 1e6 / WINDOWS, "rss": resident}
    return run


def measure(bench, recorder):
    with jvms(JVMS) as pids:
        costs = ours(bench)
        for _ in range(bench.rounds or ROUNDS):
            with recorder.turn(OURS):
                whole, marginal, resident = costs()
                recorder.add(OURS, ms=whole, rss=resident)
                recorder.add(MARGINAL, ms=marginal)
            take_turns(recorder, {ONCE: once_a_sample(pids[0]), CONTINUOUS: continuous(pids[0])}, 1)


TABLES = (Table(
    name="jvm",
    title="Counters of a JVM",
    text=(f"One sample of the heap spaces and collections of one JVM. atalaya reads {JVMS} idle JVMs once per second; jstat reads one of them, as a new "
          "process for each sample or as one process for all.",),
    columns=(Column("ms", "CPU of a sample, ms", 4), Column("rss", "RSS, MiB", 1)),
    rows={OURS: "atalaya", MARGINAL: "atalaya", ONCE: "jstat", CONTINUOUS: "jstat"},
    goals=(Goal("whole agent: at most 1/1000 of `jstat -gc PID`", fraction(OURS, ONCE, "ms", 1000)),
           Goal("one JVM more: at most 1/1000 of `jstat -gc PID`", fraction(MARGINAL, ONCE, "ms", 1000))),
    measure=measure,
    reference=OURS,
),)
