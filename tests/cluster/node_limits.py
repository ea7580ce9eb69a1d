# SPDX-License-Identifier: Apache-2.0
"""Control groups of version 1 as nodes of a cluster: each with its share of the CPU and its rates of the disk below a folder."""

import os

CPU, USED, DISK = "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/blkio"
TREES = sorted({os.path.realpath(tree) for tree in (CPU, USED, DISK)})  # the first two are often one
PERIOD = 20_000  # microseconds; short, so that a held back task waits for milliseconds


def disk_below(folder):
    """"major:minor" of the whole disk; None where there is none, as in memory."""
    device = os.stat(folder).st_dev
    path = f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"
    if not os.path.exists(path):
        return None
    if os.path.exists(path + "/partition"):
        path = os.path.dirname(os.path.realpath(path))
    with open(path + "/dev") as file:
        return file.read().strip()


def reason_without_limits(folder):
    """Reason why limits are not available; None if they work."""
    for path in (f"{CPU}/cpu.cfs_quota_us", f"{USED}/cpuacct.usage", f"{DISK}/blkio.throttle.read_bps_device"):
        if not os.path.exists(os.path.dirname(path)):
            return f"no {os.path.dirname(path)}: limits are set by control groups of version 1"
    if disk_below(folder) is None:
        return f"{folder} is on no disk that could be limited"
    return None


class Limits:
    """A node's group. Rates are bytes a second; None: no limit."""

    def __init__(self, name, folder):
        self.name = name
        self.disk = disk_below(folder)
        for root in TREES:
            os.makedirs(f"{root}/{name}", exist_ok=True)

    def set(self, cores, read, write):
        self._put(CPU, "cpu.cfs_period_us", PERIOD)
        self._put(CPU, "cpu.cfs_quota_us", int(cores * PERIOD))
        self._put(DISK, "blkio.throttle.read_bps_device", f"{self.disk} {read or 0}")
        self._put(DISK, "blkio.throttle.write_bps_device", f"{self.disk} {write or 0}")

    def enter(self):
        """Moves the calling process; for preexec_fn."""
        for root in TREES:
            self._put(root, "cgroup.procs", os.getpid())

    def remove(self):
        for root in TREES:
            os.rmdir(f"{root}/{self.name}")

    def _put(self, root, file, value):
        with open(f"{root}/{self.name}/{file}", "w") as out:
            out.write(str(value))
