# SPDX-License-Identifier: Apache-2.0
"""Where the host's CPU time went while hundreds of processes a second began and ended.

conservation_bench.py ATALAYA FORK_STORM [SECONDS]. In one run, beside a storm of short-lived processes: the agent with 1 s
windows, `atop -P PRC 1`, and /proc/*/stat read once a second. Share of each in the CPU time that /proc/stat counted as busy
(user, nice, system, irq, softirq) between the first and the last of its windows that lie within the storm. Once with each
backend, and with a storm of threads of one process.
"""

import bisect
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from bench_tools import SECOND, Atalaya, Ended, bpf_clock, next_second, running, sleep_until, verdict

TICKS = os.sysconf("SC_CLK_TCK")
CORES = os.cpu_count()
POLL = SECOND // 50
RATE, BURN_US, THREAD_RATE, THREAD_BURN_US = 600, 1500, 1000, 500
HOOKS = ("process_exits", "process_is_fre")  # the kernel keeps 15 bytes of a name


def busy_now():
    """CPU seconds of the host since it was booted."""
    with open("/proc/stat") as file:
        words = file.readline().split()
    return sum(int(words[i]) for i in (1, 2, 3, 6, 7)) / TICKS


SCHEDULER = "/sys/fs/cgroup/cpuacct/cpuacct.usage"  # of the root: control groups of version 1


def scheduled_now():
    """CPU seconds of all tasks since boot, by the scheduler's clock instead of ticks."""
    with open(SCHEDULER) as file:
        return int(file.read()) / SECOND


class Background:
    """A thread that runs until the end of the block."""

    def __init__(self):
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()


class Busy(Background):
    """The host's busy time at any time, from readings every 20 ms, the ends of windows among them."""

    def __init__(self, read=busy_now):
        super().__init__()
        self.read = read
        self.times, self.values = [], []

    def run(self):
        while not self.stopped.is_set():
            sleep_until((time.time_ns() // POLL + 1) * POLL)
            self.values.append(self.read())
            self.times.append(time.time_ns())

    def at(self, when):
        after = bisect.bisect_left(self.times, when)
        if not 0 < after < len(self.times):
            raise Ended("the busy time of the host was not read at the ends of the windows")
        span = self.times[after] - self.times[after - 1]
        part = (when - self.times[after - 1]) / span
        return self.values[after - 1] + part * (self.values[after] - self.values[after - 1])

    def between(self, begin, end):
        return self.at(end) - self.at(begin)


class Account:
    """Readings at the ends of windows, each with the CPU seconds that were seen since the one before."""

    def __init__(self):
        self.ends, self.seen = [], []

    def add(self, end, seen):
        self.ends.append(end)
        self.seen.append(seen)

    def within(self, begin, end):
        """(begin, end, CPU seconds) of all windows that lie within."""
        wanted = [i for i in range(1, len(self.ends)) if self.ends[i - 1] >= begin and self.ends[i] <= end]
        if not wanted:
            return None
        return self.ends[wanted[0] - 1], self.ends[wanted[-1]], sum(self.seen[i] for i in wanted)


class ProcReader(Background):
    """View of a program that reads the files of all processes once a second. A new process had used nothing before."""

    def __init__(self):
        super().__init__()
        self.account, self.known = Account(), {}

    def run(self):
        at = next_second()
        while not self.stopped.is_set():
            sleep_until(at)
            self.account.add(time.time_ns(), self.read_all())
            at = max(at + SECOND, next_second())

    def read_all(self):
        seen, now, first = 0, {}, not self.known
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", "rb") as file:
                    words = file.read().rpartition(b")")[2].split()
            except OSError:
                continue  # it has ended
            used, who = int(words[11]) + int(words[12]), (pid, words[19])
            now[who] = used
            if not first:
                seen += used - self.known.get(who, 0)
        self.known = now
        return seen / TICKS


class Atop(Background):
    """Processes in the output of atop, those that ended too where the kernel's process accounting works."""

    # Behind a name in parentheses: state, ticks a second, user, system, six more, its process, and whether it is that.
    PROCESS = re.compile(r"\) [A-Z] \d+ (\d+) (\d+) (?:-?\d+ ){6}\d+ y ")

    def __init__(self, stdout):
        super().__init__()
        self.stdout, self.account = stdout, Account()

    def run(self):
        ticks, since_boot = 0, True
        for line in self.stdout:
            if line.startswith("SEP"):
                self.account.add(time.time_ns(), 0 if since_boot else ticks / TICKS)
                ticks, since_boot = 0, False
            elif line.startswith("PRC"):
                found = self.PROCESS.search(line)
                ticks += int(found[1]) + int(found[2]) if found else 0


def has_pid(sample):
    return "pid" in sample["tags"]


def cpu_seconds(sample):
    """(user, kernel) of its window: both are rates in % of a core."""
    seconds = sample["duration"] / SECOND
    return tuple(sample["fields"].get(f"proc.cpu.{mode}", 0) / 100 * seconds for mode in ("user", "kernel"))


def part_of(sample):
    if has_pid(sample):
        return "live"
    return sample["tags"]["process"] if sample["tags"]["process"] in ("irq", "unattributed") else "exited"


class Samples:
    """Samples that the agent wrote, a window after the other."""

    def __init__(self, path):
        with open(path) as file:
            self.all = [json.loads(line) for line in file]

    def whole_windows(self, begin, end):
        """(begin, end) of those within that have an account: one that the agent missed has none, nor has the one after."""
        windows = [(sample["time"] - sample["duration"], sample["time"]) for sample in self.all
                   if part_of(sample) == "unattributed"]
        return sorted(window for window in windows if window[0] >= begin and window[1] <= end)

    def of(self, windows):
        ends = {end for _, end in windows}
        return [sample for sample in self.all if sample["time"] in ends]

    @staticmethod
    def sum(samples, wanted=lambda _: True):
        pairs = [cpu_seconds(sample) for sample in samples if wanted(sample)]
        return sum(user for user, _ in pairs), sum(kernel for _, kernel in pairs)

    @staticmethod
    def count(samples, field):
        return sum(sample["fields"].get(field, 0) for sample in samples)


def programs_of(pid):
    """The ids of the BPF programs that a process holds."""
    ids = set()
    for name in os.listdir(f"/proc/{pid}/fdinfo"):
        with open(f"/proc/{pid}/fdinfo/{name}") as file:
            ids.update(int(line.split()[1]) for line in file if line.startswith("prog_id:"))
    return ids


@contextlib.contextmanager
def bpf_statistics():
    """The kernel counts the cost of its BPF programs. Yields a function of a pid: [(runs, ns)] of that agent's hooks so far."""
    def read(pid):
        if not shutil.which("bpftool"):
            return []
        programs = json.loads(subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, check=True).stdout)
        held = programs_of(pid)
        return [(program.get("run_cnt", 0), program.get("run_time_ns", 0)) for program in programs
                if program["id"] in held and program.get("name", "").startswith(HOOKS)]

    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(bpf_clock())
        except OSError:
            yield lambda pid: []
            return
        yield read


class Run:
    """One storm in parallel with all contenders."""

    def __init__(self, atalaya, backend, storm):
        self.problems = []
        with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder, contextlib.ExitStack() as stack:
            path = os.path.join(folder, "samples")
            command = atalaya.command(folder, f'backend = "{backend}", tags = {{ "parent" }}',
                                      f'a.sink.file {{ path = "{path}", format = "samples" }}')
            hooks = stack.enter_context(bpf_statistics())
            with running(command, atalaya.environment(folder)) as agent, contextlib.ExitStack() as others:
                self.busy = others.enter_context(Busy())
                self.reader = others.enter_context(ProcReader()).account
                self.atop = self.start_atop(others)
                time.sleep(3)  # the first window with rates has passed
                self.storm(storm)
                self.hooks = hooks(agent.pid)
                time.sleep(3)  # the last processes have been reported
            self.samples = Samples(path)

    def start_atop(self, others):
        if not shutil.which("atop"):
            self.problems.append("atop is not installed")
            return None
        process = subprocess.Popen(["atop", "-P", "PRC", "1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        others.callback(process.stdout.close)
        atop = others.enter_context(Atop(process.stdout))
        others.callback(lambda: (process.terminate(), process.wait()))
        return atop.account

    def storm(self, command):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            lines = [json.loads(line) for line in process.stdout]
        if process.returncode != 0 or len(lines) != 2:
            raise Ended("the storm did not come to its end")
        self.begin, self.pid, self.name = lines[0]["begin"], lines[0]["pid"], lines[0]["name"]
        self.end, self.truth = lines[1]["end"], lines[1]

    def print_others(self):
        for name, account in (("atop -P PRC 1", self.atop), ("/proc/*/stat once a second", self.reader)):
            window = account.within(self.begin, self.end) if account else None
            if window:
                begin, end, seen = window
                busy = self.busy.between(begin, end)
                print(f"  {name:28} {seen:8.2f} of {busy:.2f} s busy: {100 * seen / busy:.1f} %")
        for problem in self.problems:
            print(f"  {problem}")

    def print_agent(self):
        windows = self.samples.whole_windows(self.begin, self.end)
        if not windows:
            raise Ended("the agent reported nothing during the storm")
        samples = self.samples.of(windows)
        busy = sum(self.busy.between(begin, end) for begin, end in windows)
        parts = {part: sum(Samples.sum(samples, lambda sample, part=part: part_of(sample) == part))
                 for part in ("live", "exited", "irq", "unattributed")}
        whole = sum(parts.values())
        missed = round((windows[-1][1] - windows[0][0]) / SECOND) - len(windows)
        print(f"  {'atalaya':28} {whole:8.2f} of {busy:.2f} s busy: {100 * whole / busy:.1f} %, {len(windows)} windows, "
              f"{missed} without an account")
        for part, seconds in parts.items():
            print(f"    {part:26} {seconds:8.2f} s, {100 * seconds / busy:.2f} %")
        print(f"    ends reported {Samples.count(samples, 'proc.exits')}, lost {Samples.count(samples, 'proc.exits.lost')}")
        limit = CORES / TICKS
        print(f"  sum - busy = {1000 * (whole - busy):+.0f} ms; goal within a tick a core, {1000 * limit:.0f} ms: "
              f"{verdict(abs(whole - busy) <= limit)}")
        share = 100 * parts["unattributed"] / busy
        print(f"  unattributed {share:.2f} % of busy; goal at most 1 %: {verdict(share <= 1)}")

    def print_hooks(self):
        runs = max((count for count, _ in self.hooks), default=0)
        if runs:
            ns = sum(cost for _, cost in self.hooks)
            print(f"  hooks, charged to those that end: {ns / runs:.0f} ns a thread, as the kernel measures, which adds to it")

    def split(self, name, user, kernel, note=""):
        total = user + kernel
        print(f"  {name:28} {total:8.2f} s, {100 * user / total if total else 0:.1f} % of it user{note}")

    def rate(self):
        return self.truth["started"] / ((self.end - self.begin) / SECOND)

    def print_children(self):
        """All that the storm's children used, whenever: the agent's windows reach from before the first to after the last."""
        kinds = [self.truth[kind] for kind in ("plain", "exec")]
        user, kernel = (sum(kind[mode] for kind in kinds) for mode in ("user", "kernel"))
        count = sum(kind["count"] for kind in kinds)
        print(f"  the storm's {count} children, {self.rate():.0f} begun a second:")
        self.split("  by rusage", user, kernel, "; the kernel calls all user of those without a tick")
        burnt = self.truth["burnt"]
        self.split("  by their own clocks", burnt["user"], burnt["kernel"], "; without the cost of begin and end")
        children = [sample for sample in self.samples.all if sample["tags"].get("parent") == self.name]
        seen = Samples.sum(children)
        ends = Samples.count(children, "proc.exits")
        self.split("  atalaya", *seen, f"; {100 * sum(seen) / (user + kernel):.1f} % of rusage, {ends} ends")

    def print_threads(self):
        truth = self.truth["plain"]
        own = [sample for sample in self.samples.all if has_pid(sample) and int(sample["tags"]["pid"]) == self.pid]
        seen = Samples.sum(own)
        print(f"  the storm's {self.truth['started']} threads, {self.rate():.0f} begun a second:")
        self.split("  by rusage", truth["user"], truth["kernel"])
        self.split("  atalaya", *seen, f"; {100 * sum(seen) / (truth['user'] + truth['kernel']):.1f} % of rusage")


def bench(atalaya, title, backend, command, print_storm):
    print(title)
    try:
        run = Run(atalaya, backend, command)
        run.print_agent()
        run.print_others()
        print_storm(run)
        run.print_hooks()
    except Ended as error:
        print(f"  left out: {error}")


def main():
    atalaya, program = Atalaya(sys.argv[1]), sys.argv[2]
    seconds = sys.argv[3] if len(sys.argv) > 3 else "30"
    forks = [program, "--seconds", seconds, "--rate", str(RATE), "--burn-us", str(BURN_US)]
    threads = [program, "--threads", "--seconds", str(max(5, int(seconds) // 2)), "--rate", str(THREAD_RATE),
               "--burn-us", str(THREAD_BURN_US)]
    for backend in ("bpf", "procfs"):
        bench(atalaya, f"processes, {RATE} begun a second, backend {backend}", backend, forks, Run.print_children)
        bench(atalaya, f"threads, {THREAD_RATE} begun a second, backend {backend}", backend, threads, Run.print_threads)


if __name__ == "__main__":
    main()
