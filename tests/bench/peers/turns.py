# SPDX-License-Identifier: Apache-2.0
"""Rounds in which each program has its turn, one at a time, so that each finds the same machine; and a limit on their time."""

import contextlib
import signal
import sys
import tempfile
import time

from bench_tools import PHASE, SECOND, Ended, sleep_until
from peers.group import Group


class TimeIsUp(Exception):
    """The limit of a table. It is no error: the rounds so far count."""


@contextlib.contextmanager
def limit(seconds):
    """Ends the block after this time by TimeIsUp, which passes through all its contexts."""

    def end(*_):
        raise TimeIsUp
    signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


class Recorder:
    """The rows of one table: values of each round, or the reason why there are none."""

    def __init__(self, names):
        self.rows = {name: {"values": {}, "note": "", "commands": []} for name in names}

    def add(self, name, note="", commands=(), **values):
        row = self.rows[name]
        row["note"] = note or row["note"]
        row["commands"] = list(commands) or row["commands"]
        for key, value in values.items():
            row["values"].setdefault(key, []).append(value)

    def miss(self, name, reason):
        """Rounds before count. A reason is one short line."""
        self.rows[name]["missing"] = " ".join(str(reason).split())[:160]

    def is_missing(self, name):
        return "missing" in self.rows[name]

    @contextlib.contextmanager
    def turn(self, name):
        """What does not run here is a row with a reason."""
        print(f"  {time.strftime('%H:%M:%S')} {name}", file=sys.stderr, flush=True)
        try:
            yield
        except Ended as error:
            self.miss(name, error)
        except (OSError, ValueError, KeyError, IndexError, RuntimeError, StopIteration) as error:
            self.miss(name, f"{type(error).__name__}: {error}")


def take_turns(recorder, contenders, rounds):
    """Each of {name: function that returns values} once per round. Nobody waits for one that failed."""
    for _ in range(rounds):
        for name, once in contenders.items():
            if recorder.is_missing(name):
                continue
            with recorder.turn(name):
                values = once()
                recorder.add(name, **values)


@contextlib.contextmanager
def at_work(kind, *arguments, every=1):
    """A peer that has its first data; (peer, group, seconds until then)."""
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-", dir=kind.scratch) as folder, Group() as group:
        peer = kind(group, folder, *arguments, every=every)
        begin = time.monotonic()
        peer.start()
        peer.wait_until(peer.ready)
        yield peer, group, time.monotonic() - begin


def watch(kind, *arguments, windows, warm_up, every=1):
    """CPU ms of each window on average, memory and start time of a program, after its first windows."""
    with at_work(kind, *arguments, every=every) as (peer, group, first_data):
        steps = Steps(every)
        for _ in range(warm_up):
            steps.wait()
            peer.collect()
        steps.wait()
        first, before, asked, resident = steps.at, group.cpu_ns(), 0, []
        while steps.at < first + windows * every * SECOND:
            peer.collect()
            asked += 1
            steps.wait()
            resident.append(group.resident_mib())
        cpu, elapsed = group.cpu_ns() - before, steps.at - first
        group.check()
        proportional, commands = group.proportional_mib(), peer.commands()
    # A program that is asked may take longer than a window to answer; the others keep their interval.
    collections = asked if peer.asked else elapsed / (every * SECOND)
    return {"ms": cpu / collections / 1e6, "core": 100 * cpu / elapsed, "rss": max(resident), "pss": proportional, "first": first_data,
            "commands": commands}


class Steps:
    """Times between two windows: those who collect by themselves do it early in a second. A late one skips steps."""

    def __init__(self, every):
        self.every = every * SECOND
        self.at = time.time_ns() // SECOND * SECOND + PHASE

    def wait(self):
        self.at += self.every
        now = time.time_ns()
        if self.at < now:
            self.at += (now - self.at + self.every - 1) // self.every * self.every
        sleep_until(self.at)

