# SPDX-License-Identifier: Apache-2.0
"""A control group (version 2) of its own around a program: CPU time and memory of all its processes, those that ended too."""

import contextlib
import itertools
import os
import signal
import subprocess
import tempfile
import time

from bench_tools import Ended

PAGE = os.sysconf("SC_PAGESIZE")
PATIENCE = 10  # seconds for an orderly end
numbers = itertools.count()


def mount_point():
    """Where control groups of version 2 are: alone, or next to version 1."""
    with open("/proc/self/mounts") as mounts:
        for line in mounts:
            words = line.split()
            if words[2] == "cgroup2":
                return words[1]
    raise Ended("no control groups of version 2 are mounted")


class Group:
    """A context: at its end all its processes are ended and the group is removed."""

    def __init__(self):
        self.path = os.path.join(mount_point(), f"atalaya-bench-{os.getpid()}-{next(numbers)}")
        self.started = []

    def __enter__(self):
        try:
            os.mkdir(self.path)
        except OSError as error:
            raise Ended(f"{self.path}: {error.strerror}; run this as root") from error
        return self

    def __exit__(self, *_):
        """Not to be cut short: what it leaves, stays."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGTERM, signal.SIGINT})
        try:
            self.end()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def end(self):
        for process, _ in reversed(self.started):
            process.terminate()
        until = time.monotonic() + PATIENCE
        while self.processes() and time.monotonic() < until:
            for process, _ in self.started:
                process.poll()
            time.sleep(0.02)
        self.kill()
        for process, errors in self.started:
            process.wait()
            if process.stdout:
                process.stdout.close()
            errors.close()
        self.remove()

    def remove(self):
        """The kernel still counts processes that init has not reaped."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return os.rmdir(self.path)
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.02)

    def kill(self):
        while left := self.processes():
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, 9)
            for process, _ in self.started:
                process.poll()
            time.sleep(0.01)

    def start(self, command, environment=None, stdout=subprocess.DEVNULL, folder=None):
        """Its first instruction already runs in the group."""
        with open(os.path.join(self.path, "cgroup.procs"), "w") as procs:
            errors = tempfile.TemporaryFile()
            try:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=errors, env=environment,
                                           cwd=folder, preexec_fn=lambda: os.write(procs.fileno(), b"0"))
            except OSError as error:
                errors.close()
                raise Ended(f"{command[0]}: {error.strerror}") from error
        self.started.append((process, errors))
        return process

    def check(self):
        """Ended if one of the programs ended, with its last words."""
        for process, errors in self.started:
            if process.poll():
                errors.seek(0)
                words = errors.read().decode(errors="replace").strip().splitlines()
                raise Ended(words[-1].strip() if words else f"{process.args[0]} ended with status {process.returncode}")

    def processes(self):
        with open(os.path.join(self.path, "cgroup.procs")) as procs:
            return [int(line) for line in procs]

    def cpu_ns(self):
        with open(os.path.join(self.path, "cpu.stat")) as stat:
            return next(int(line.split()[1]) * 1000 for line in stat if line.startswith("usage_usec"))

    def resident_mib(self):
        """Sum over its processes: memory that several of them share counts in each."""
        pages = 0
        for pid in self.processes():
            with contextlib.suppress(OSError), open(f"/proc/{pid}/statm") as file:
                pages += int(file.read().split()[1])
        return pages * PAGE / 2**20

    def proportional_mib(self):
        """As resident_mib, but shared memory counts once. Slow: the kernel walks all pages."""
        kilobytes = 0
        for pid in self.processes():
            with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup") as file:
                kilobytes += next((int(line.split()[1]) for line in file if line.startswith("Pss:")), 0)
        return kilobytes / 1024
