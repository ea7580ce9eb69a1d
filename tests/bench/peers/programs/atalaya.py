# SPDX-License-Identifier: Apache-2.0
"""The agent of this tree, and its floor: a bare pass over all processes."""

import contextlib
import os
import sqlite3

from bench_tools import ACTIVE, FILE, NONE, ROOT, SQLITE, Atalaya
from peers.program import OnTheTerminal, Peer, Program, write

PROGRAM = Program(
    "atalaya", "",
    "each process by (boot, pid, start time): CPU time from the scheduler's clock, memory, disk bytes, faults, switches; processes that "
    "ended in the window; CPU time that no process was charged for",
    "CPU time of its hooks at the end of a process, which the kernel charges to that process")


EACH = 'backend = "bpf"'
SHIPPED = EACH + ', rest = "1m", rest_below = "10 MiB"'  # as in the shipped pipelines


class Agent(Peer):
    """The agent with a pipeline of processes. `binary` is the one under test."""

    def __init__(self, group, folder, binary, source=SHIPPED, stages=("names", ACTIVE, SQLITE, FILE), every=1):
        super().__init__(group, folder, every)
        self.atalaya = Atalaya(binary)
        self.source, self.stages = source, stages

    def command(self):
        stages = (stage.replace("{folder}", self.folder) for stage in self.stages)
        return self.atalaya.command(self.folder, self.source, *stages)

    def start(self):
        self.output = os.path.join(self.folder, "f.jsonl")
        self.group.start(self.command(), self.atalaya.environment(self.folder))

    def ready(self):
        return os.path.exists(self.output)


class SourceAlone(Agent):
    """The source, with a sample of each process in each window, and a filter that removes them: to compare with the floor."""

    def __init__(self, group, folder, binary, every=1):
        super().__init__(group, folder, binary, source=EACH, stages=(NONE, FILE), every=every)


class HostPipeline(Agent):
    """pipelines/host.lua as it is shipped, with its windows of 5 s."""

    def command(self):
        return [self.atalaya.binary, "run", os.path.join(ROOT, "pipelines", "host.lua")]

    def ready(self):
        """A reader finds a point in the store."""
        store = os.path.join(self.folder, "atalaya.db")
        if not os.path.exists(store):
            return False
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as reader:
            return reader.execute("SELECT count(*) FROM (SELECT 1 FROM samples LIMIT 1)").fetchone()[0] > 0
        return False


class File(Agent):
    """The agent with a pipeline file of the caller; its sink file writes f.jsonl."""

    def __init__(self, group, folder, binary, text, every=1):
        super().__init__(group, folder, binary, every=every)
        self.text = text

    def command(self):
        return [self.atalaya.binary, "run", write(self.folder, "bench.lua", self.text.replace("{folder}", self.folder))]


class Floor(OnTheTerminal):
    def __init__(self, group, folder, program, every=1):
        super().__init__(group, folder, every)
        self.program = program

    def command(self):
        return [self.program]
