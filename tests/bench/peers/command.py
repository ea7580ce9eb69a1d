# SPDX-License-Identifier: Apache-2.0
"""The cost of a command from start to end."""

import contextlib
import tempfile
import time

from peers.group import Group

STEP = 0.002  # seconds between two readings of its memory


def cost_of(command):
    """(its output, {"cpu": ms, "ms": of time, "rss": largest MiB})."""
    with Group() as group, tempfile.TemporaryFile() as output:
        begin, before = time.monotonic(), group.cpu_ns()
        process, largest = group.start(command, stdout=output), 0
        while process.poll() is None:
            largest = max(largest, peak_mib(process.pid))
            time.sleep(STEP)
        elapsed, cpu = time.monotonic() - begin, group.cpu_ns() - before
        group.check()
        output.seek(0)
        return output.read(), {"cpu": cpu / 1e6, "ms": elapsed * 1e3, "rss": largest}


def peak_mib(pid):
    """0 when it has ended. (The peak in rusage has that of the program that started it.)"""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as file:
        return next((int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM:")), 0)
    return 0
