# SPDX-License-Identifier: Apache-2.0
"""Samples of a program that sorts: its runs have phases whose length depends on an input that nobody states."""

import json
import random

from questions import T0

MINUTE = 60
START = T0 + 3600
FAULTS = {"cpu": ("merge", "CPU", 2), "leak": ("merge", "memory", 3), "disk": ("flush", "time", 4), "traffic": ("flush", "disk writes", 4)}
NORMAL_RUNS = 14


def sample(kind, end, tags, fields, text=""):
    return {"kind": kind, "time": int(end * 1e9), "duration": 1_000_000_000, "text": text, "tags": tags, "fields": fields}


def phases_of(size, fault=""):
    """(stacks, seconds, CPU in percent, memory in MiB, disk writes in MiB/s) of each phase of a run."""
    cpu, leak, disk, traffic = (FAULTS[name][2] if fault == name else 1 for name in FAULTS)
    work = {"main;merge;compare": 3, "main;merge": 1}
    return [({"main;warm": 2}, 12, 100, 100, 0),
            ({"main;load;parse": 2, "main;load": 1}, 2 * size, 70, 100 + 10 * size, 0),
            (work, 3 * size * cpu, 190, (100 + 20 * size) * leak, 0),
            ({"main;flush;force": 1, "main;flush": 1}, 1.5 * size * disk, 20, 100 + 20 * size, 30 * traffic / disk)]


class Runs:
    def __init__(self):
        self.chance = random.Random(5)
        self.now = START
        self.pid = 100

    def next(self, size, fault=""):
        """The samples of one run, a window per second, and its range as options of a command."""
        self.pid += 1
        begin = self.now
        tags = {"host": "h1", "process": "Sorter", "pid": str(self.pid)}
        samples = []
        for stacks, seconds, cpu, memory, writes in phases_of(size, fault):
            spread = [self.chance.gauss(1, 0.02) for _ in range(4)]
            for _ in range(round(seconds * spread[0])):
                self.now += 1
                names = self.chance.choices(list(stacks), list(stacks.values()), k=4)
                for stack in sorted(set(names)):
                    samples.append(sample("stack", self.now, {**tags, "profile": "wall"},
                                          {"profile.samples": names.count(stack), "profile.ns": names.count(stack) * 10**9}, stack))
                samples.append(sample("metrics", self.now, tags, {
                    "proc.cpu.user": cpu * spread[1] + self.chance.gauss(0, 2), "proc.cpu.kernel": 1.0,
                    "proc.mem.resident": memory * spread[2], "proc.disk.writes.mb": writes * spread[3]}))
        self.now += 2 * MINUTE
        return samples, ["--from", str(begin), "--to", str(self.now - MINUTE)]

    def normal(self):
        """The samples of the runs that others are compared with."""
        for number in range(NORMAL_RUNS):
            yield self.next(6 + number * 5 % 14)[0]


def lines(samples):
    """As /api/jsonlines takes them."""
    return "".join(json.dumps(one) + "\n" for one in samples).encode()
