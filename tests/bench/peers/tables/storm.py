# SPDX-License-Identifier: Apache-2.0
"""The share of the host's CPU time that each program finds while 600 processes a second begin and end."""

import contextlib
import json
import os
import subprocess
import time

from bench_tools import SECOND, Ended
from conservation_bench import SCHEDULER, Atop, Busy, ProcReader, Samples, scheduled_now
from peers.program import binary
from peers.programs import netdata, process_exporter
from peers.programs.atalaya import File
from peers.table import Column, Goal, Table, between
from peers.turns import at_work, take_turns

SECONDS, ROUNDS = 20, 2
OURS, READER = "atalaya", "reader of /proc/*/stat, 1 s"
ROWS = {OURS: "atalaya", "atop -P PRC 1": "atop", "process-exporter": "process-exporter", "netdata, only processes": "netdata", READER: ""}
PIPELINE = """local a = require "atalaya"
a.pipeline "bench" { every = "1s", a.source.proc { host = false, cgroups = false, backend = "bpf" },
  a.sink.file { path = "{folder}/f.jsonl", format = "samples" } }"""


class Used:
    """The host's CPU time by the two clocks of the kernel: ticks, and the scheduler's where it can be read."""

    def __init__(self, ticks, scheduled):
        self.clocks = {"scheduled": scheduled, "ticks": ticks}

    def share(self, seen, *windows):
        return {key: 100 * seen / sum(clock.between(*window) for window in windows) for key, clock in self.clocks.items() if clock}


class Storm:
    """One run of fork_storm, and the host's CPU time during it."""

    def __init__(self, bench, seconds):
        self.command = [bench.tool("fork_storm"), "--seconds", str(seconds), "--rate", "600", "--burn-us", "1500"]

    @contextlib.contextmanager
    def running(self):
        """The CPU time is read from before the storm to a second after it."""
        with Busy() as ticks, (Busy(scheduled_now) if os.path.exists(SCHEDULER) else contextlib.nullcontext()) as scheduled:
            time.sleep(1)
            yield Used(ticks, scheduled)

    def blow(self):
        """(begin, end) in ns."""
        said = subprocess.run(self.command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        return json.loads(said[0])["begin"], json.loads(said[1])["end"]


def with_atalaya(bench, storm):
    def once():
        with storm.running() as used, at_work(File, bench.atalaya, PIPELINE) as (peer, _, _):
            time.sleep(3)  # its first window with rates has passed
            begin, end = storm.blow()
            time.sleep(3)  # the last processes have been reported
            samples = Samples(peer.output)
        windows = samples.whole_windows(begin, end)
        if not windows:
            raise Ended("no window was reported during the storm")
        whole = sum(Samples.sum(samples.of(windows), lambda sample: sample["tags"]["process"] != "unattributed"))
        return used.share(whole, *windows)
    return once


def with_account(storm, start):
    """Of a reader that has an Account."""
    def once():
        with storm.running() as used, start() as account:
            time.sleep(3)
            begin, end = storm.blow()
            time.sleep(2)
        window = account.within(begin, end)
        if window is None:
            raise Ended("no window was reported during the storm")
        return used.share(window[2], window[:2])
    return once


@contextlib.contextmanager
def atop():
    process = subprocess.Popen([binary("atop"), "-P", "PRC", "1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        with Atop(process.stdout) as reader:
            try:
                yield reader.account
            finally:
                process.terminate()
                process.wait()
    finally:
        process.stdout.close()


@contextlib.contextmanager
def proc_reader():
    with ProcReader() as reader:
        yield reader.account


def with_exporter(storm):
    def once():
        with storm.running() as used, at_work(process_exporter.Processes) as (peer, _, _):
            readings = [(time.time_ns(), peer.cpu_seconds())]
            storm.blow()
            readings.append((time.time_ns(), peer.cpu_seconds()))
            time.sleep(1)
        (begin, before), (end, after) = readings
        return used.share(after - before, (begin, end))
    return once


def with_netdata(storm):
    def once():
        with storm.running() as used, at_work(netdata.Processes) as (peer, _, _):
            time.sleep(3)
            begin, end = storm.blow()
            time.sleep(3)
            first, last = begin // SECOND + 1, end // SECOND
            seen = peer.cpu_seconds(first, last)
        return used.share(seen, (first * SECOND, last * SECOND))
    return once


def measure(bench, recorder):
    storm = Storm(bench, bench.seconds or SECONDS)
    take_turns(recorder, dict(zip(ROWS, (
        with_atalaya(bench, storm), with_account(storm, atop), with_exporter(storm), with_netdata(storm), with_account(storm, proc_reader)))),
        bench.rounds or ROUNDS)


STORM = Table(
    name="storm",
    title="A storm of short processes",
    text=("600 processes per second begin, compute for 1.5 ms and end, for 20 s. The figure is the CPU time attributed to processes, as a share "
          "of the host's. atalaya uses the scheduler's clock, in nanoseconds; the others use ticks, which charge the process that they meet. "
          "The remainder that atalaya reports as `unattributed` is not in its share.",),
    columns=(Column("scheduled", "of the scheduler's time, %", 1), Column("ticks", "of the ticks, %", 1)),
    rows=ROWS,
    goals=(Goal("99 to 101 % of the scheduler's time attributed", between(OURS, "scheduled", 99, 101, "%", 1)),),
    measure=measure,
)
