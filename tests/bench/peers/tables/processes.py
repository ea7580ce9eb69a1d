# SPDX-License-Identifier: Apache-2.0
"""(a) Collection by process at several numbers of processes, and the share of CPU time that is found under a storm of short ones."""

from bench_tools import sleepers
from peers.programs import atalaya, atop, netdata, pcp, pidstat, process_exporter
from peers.table import Column, Goal, Table, at_most, fraction, times
from peers.tables.storm import STORM
from peers.turns import take_turns, watch

WINDOWS, WARM_UP, ROUNDS = 4, 2, 3
OURS, ALONE, FLOOR = "atalaya, whole pipeline", "atalaya, source alone", "floor: bare iterator"
ATOP, EXPORTER = "atop -P PRC,PRM,PRD 1", "process-exporter"
ROWS = {OURS: "atalaya", ALONE: "atalaya", FLOOR: "", ATOP: "atop", "pidstat -u -r -d -p ALL 1": "pidstat", EXPORTER: "process-exporter",
        "process-exporter, no threads, no smaps": "process-exporter", "pcp, pmlogger of processes": "pcp", "netdata, only processes": "netdata"}


def measure(count):
    def run(bench, recorder):
        def once(kind, *arguments):
            return lambda: watch(kind, *arguments, windows=WINDOWS, warm_up=WARM_UP)
        with sleepers(bench.tool("sleepers"), count):
            take_turns(recorder, dict(zip(ROWS, (
                once(atalaya.Agent, bench.atalaya), once(atalaya.SourceAlone, bench.atalaya), once(atalaya.Floor, bench.tool("bare_iterator")),
                once(atop.Processes), once(pidstat.Processes), once(process_exporter.Processes), once(process_exporter.Cheapest),
                once(pcp.Processes), once(netdata.Processes)))), bench.rounds or ROUNDS)
    return run


def goals(count):
    found = []
    if count == 1000:
        found = [Goal("at most 1/40 of `atop -P`", fraction(OURS, ATOP, "ms", 40)),
                 Goal("at most 1/150 of process-exporter with its defaults", fraction(OURS, EXPORTER, "ms", 150)),
                 Goal("source: at most 2 times the bare iterator", times(ALONE, FLOOR, "ms", 2)),
                 Goal("at most 20 MiB of memory (RSS)", at_most(OURS, "rss", 20, "MiB", 1))]
    if count == 10000:
        found = [Goal("at most 60 MiB of memory (RSS)", at_most(OURS, "rss", 60, "MiB", 1))]
    return tuple(found)


TABLES = (*(Table(
    name=f"processes-{count}",
    title=f"{count:,} processes",
    text=("CPU time of one collection of all processes, once per second; the processes sleep. In atalaya's whole pipeline those below 10 MiB "
          "that do not run have one sample per minute, as in the files of `pipelines/`. The source alone makes a sample of each process in each "
          "window.",),
    columns=(Column("ms", "CPU of a window, ms"), Column("rss", "RSS, MiB", 1), Column("pss", "PSS, MiB", 1, detail=True)),
    rows=ROWS,
    goals=goals(count),
    measure=measure(count),
    reference=OURS,
) for count in (100, 1000, 10000)), STORM)
