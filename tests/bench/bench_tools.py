# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the agent's benchmarks: a contender's CPU time per window, loads, and figures with their spread."""

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SECOND = 1_000_000_000
# Of a second: when no window is being collected, as all contenders begin theirs early in the second.
PHASE = SECOND * 6 // 10
IDLE, BUSY = 1000, 20  # processes of load()


class Ended(Exception):
    """A contender that does not run here."""


def cpu_ns(pid):
    """CPU time of a process so far, of all its threads, ended ones too: the clock behind schedstat's first number."""
    return time.clock_gettime_ns(~pid << 3 | 2)


@contextlib.contextmanager
def bpf_clock():
    """The kernel measures the run time of BPF programs."""
    switch = "/proc/sys/kernel/bpf_stats_enabled"
    with open(switch) as file:
        before = file.read()
    with open(switch, "w") as file:
        file.write("1\n")
    try:
        yield
    finally:
        with open(switch, "w") as file:
            file.write(before)


def resident_mib(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def sleep_until(realtime_ns):
    time.sleep(max(0, realtime_ns - time.time_ns()) / SECOND)


def next_second():
    return (time.time_ns() // SECOND + 1) * SECOND


def process_count():
    return sum(name.isdigit() for name in os.listdir("/proc"))


@dataclass
class Cost:
    windows: list  # CPU ms of each
    resident: float  # MiB at the end
    begin: int  # Unix ns; a window that ends within (begin, end] is in it
    end: int

    @property
    def ms(self):
        return statistics.mean(self.windows)


@contextlib.contextmanager
def running(command, environment=None, stdout=subprocess.DEVNULL):
    """The process while it is wanted. Ended when it went by itself, with its last words."""
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=errors, env=environment)
        except OSError as error:
            raise Ended(f"{command[0]}: {error.strerror}") from error
        try:
            yield process
            if process.poll() is not None:
                errors.seek(0)
                words = errors.read().decode(errors="replace").strip().splitlines()
                raise Ended(words[-1] if words else f"{command[0]} ended with status {process.returncode}")
        finally:
            process.terminate()
            process.wait()


def watch(command, windows, warm_up=2, environment=None):
    """CPU time of a program that works once per second, in each of this number of windows after its first seconds."""
    begin = next_second()
    sleep_until(begin)
    with running(command, environment) as process:
        first = begin + warm_up * SECOND + PHASE
        readings = []
        for i in range(windows + 1):
            sleep_until(first + i * SECOND)
            readings.append(cpu_ns(process.pid) if process.poll() is None else 0)
        resident = resident_mib(process.pid) if process.poll() is None else 0
    costs = [(after - before) / 1e6 for before, after in zip(readings, readings[1:])]
    return Cost(costs, resident, first, first + windows * SECOND)


class Atalaya:
    """The binary under test, and pipelines for it."""

    def __init__(self, binary):
        self.binary = os.path.abspath(binary)
        self.names = subprocess.run([self.binary, "plugins", "names"], capture_output=True).returncode == 0

    def print_names(self):
        print("translator names: " + ("in the pipelines" if self.names else "not in this build, so not in the pipelines"))

    def environment(self, folder):
        return dict(os.environ, STATE_DIRECTORY=folder, RUNTIME_DIRECTORY=folder, ATALAYA_LUA=os.path.join(ROOT, "lua"))

    def command(self, folder, source, *stages):
        """A pipeline of processes at 1 s windows. `names` replaces that translator, if given."""
        stages = [stage for stage in stages if stage != "names" or self.names]
        stages = ["a.translate.names {}" if stage == "names" else stage for stage in stages]
        path = os.path.join(folder, "bench.lua")
        with open(path, "w") as file:
            file.write(f"""local a = require "atalaya"
                a.pipeline "bench" {{ every = "1s", a.source.proc {{ host = false, cgroups = false, {source} }},
                  {", ".join(stages)} }}""")
        return [self.binary, "run", path]

    def watch(self, windows, warm_up, source, *stages, after=None):
        """The cost of a pipeline; stages may name {folder}. `after(folder, cost)` reads the output."""
        with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder:
            command = self.command(folder, source, *(stage.replace("{folder}", folder) for stage in stages))
            cost = watch(command, windows, warm_up, self.environment(folder))
            return (cost, after(folder, cost)) if after else (cost, None)


ACTIVE = 'a.filter.value { ["proc.cpu.user"] = 0.5, ["proc.cpu.kernel"] = 0.5 }'
NONE = 'a.filter.value { ["proc.cpu.user"] = 1e9 }'
SQLITE = 'a.sink.sqlite { path = "{folder}/s.db" }'
FILE = 'a.sink.file { path = "{folder}/f.jsonl" }'


def spread(values, digits=2):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def verdict(met):
    return "met" if met else "missed"


@contextlib.contextmanager
def sleepers(program, count):
    """Starts this number of processes that do nothing."""
    load = subprocess.Popen([program, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        if load.stdout.readline() != b"ready\n":
            raise Ended(f"{program} could not start {count} processes")
        yield
    finally:
        load.stdin.close()
        load.wait()
        load.stdout.close()


def worker(steps, pause):
    """The command of a process that works a little and sleeps, again and again."""
    return [sys.executable, "-c", f"import time\nwhile True:\n  sum(range({steps})); time.sleep({pause})"]


def load():
    """A host with many idle processes and some busy ones. Busy: a little work, often, so that the machine itself is not the measurement."""
    return processes([["sleep", "600"]] * IDLE + [worker(2000, 0.02)] * BUSY)


@contextlib.contextmanager
def processes(commands):
    """Processes that run until the end of the block."""
    children = [subprocess.Popen(command) for command in commands]
    try:
        yield
    finally:
        for child in children:
            child.kill()
        for child in children:
            child.wait()
