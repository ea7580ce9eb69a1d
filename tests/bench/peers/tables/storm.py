# SPDX-License-Identifier: Apache-2.0
"""The share of the host's CPU time that each program finds while 600 processes a second begin and end."""

import contextlib
import json
import subprocess
import time

from bench_tools import SECOND, Ended
from conservation_bench import Atop, Busy, ProcReader, Samples
from peers.program import binary
from peers.programs import netdata, process_exporter
from peers.programs.atalaya import File
from peers.table import Column, Goal, Table, at_least
from peers.turns import at_work, take_turns

SECONDS, ROUNDS = 20, 2
OURS, READER = "atalaya", "reader of /proc/*/stat, 1 s"
ROWS = {OURS: "atalaya", "atop -P PRC 1": "atop", "process-exporter": "process-exporter", "netdata, only processes": "netdata", READER: ""}
PIPELINE = """local a = require "atalaya"
a.pipeline "bench" { every = "1s", a.source.proc { host = false, cgroups = false, backend = "bpf" },
  a.sink.file { path = "{folder}/f.jsonl", format = "samples" } }"""


class Storm:
    """One run of fork_storm, and the host's busy time during it."""

    def __init__(self, bench, seconds):
        self.command = [bench.tool("fork_storm"), "--seconds", str(seconds), "--rate", "600", "--burn-us", "1500"]

    @contextlib.contextmanager
    def running(self):
        """The busy time is read from before the storm to a second after it."""
        with Busy() as busy:
            time.sleep(1)
            yield busy

    def blow(self):
        """(begin, end) in ns."""
        said = subprocess.run(self.command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        return json.loads(said[0])["begin"], json.loads(said[1])["end"]


def share(seen, busy):
    return {"share": 100 * seen / busy}


def with_atalaya(bench, storm):
    def once():
        with storm.running() as busy, at_work(File, bench.atalaya, PIPELINE) as (peer, _, _):
            time.sleep(3)  # its first window with rates has passed
            begin, end = storm.blow()
            time.sleep(3)  # the last processes have been reported
            samples = Samples(peer.output)
        windows = samples.whole_windows(begin, end)
        if not windows:
            raise Ended("no window was reported during the storm")
        whole = sum(Samples.sum(samples.of(windows), lambda sample: sample["tags"]["process"] != "unattributed"))
        return share(whole, sum(busy.between(*window) for window in windows))
    return once


def with_account(storm, start):
    """Of a reader that has an Account."""
    def once():
        with storm.running() as busy, start() as account:
            time.sleep(3)
            begin, end = storm.blow()
            time.sleep(2)
        window = account.within(begin, end)
        if window is None:
            raise Ended("no window was reported during the storm")
        return share(window[2], busy.between(*window[:2]))
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
        with storm.running() as busy, at_work(process_exporter.Processes) as (peer, _, _):
            readings = [(time.time_ns(), peer.cpu_seconds())]
            storm.blow()
            readings.append((time.time_ns(), peer.cpu_seconds()))
            time.sleep(1)
        (begin, before), (end, after) = readings
        return share(after - before, busy.between(begin, end))
    return once


def with_netdata(storm):
    def once():
        with storm.running() as busy, at_work(netdata.Processes) as (peer, _, _):
            time.sleep(3)
            begin, end = storm.blow()
            time.sleep(3)
            first, last = begin // SECOND + 1, end // SECOND
            seen = peer.cpu_seconds(first, last)
        return share(seen, busy.between(first * SECOND, last * SECOND))
    return once


def measure(bench, recorder):
    storm = Storm(bench, bench.seconds or SECONDS)
    take_turns(recorder, dict(zip(ROWS, (
        with_atalaya(bench, storm), with_account(storm, atop), with_exporter(storm), with_netdata(storm), with_account(storm, proc_reader)))),
        bench.rounds or ROUNDS)


STORM = Table(
    name="storm",
    title="A storm of short processes",
    text=("600 processes per second begin, compute for 1.5 ms and end, for 20 s. The share is the CPU time that the program attributed to "
          "processes, of the busy time in `/proc/stat`. The remainder of atalaya, reported as `unattributed`, is not in its share.",),
    columns=(Column("share", "CPU time attributed, %", 1),),
    rows=ROWS,
    goals=(Goal("at least 99 % attributed", at_least(OURS, "share", 99, "%", 1)),),
    measure=measure,
)
