# SPDX-License-Identifier: Apache-2.0
"""(e) The embedded store next to databases of points."""

import json
import os
import statistics
import tempfile

import ingest_bench
from bench_tools import Ended
from peers import floors
from peers.command import cost_of
from peers.database import BUCKET, QUERIES, Database
from peers.programs import influxdb, prometheus, victoria_metrics
from peers.table import Column, Goal, Table, at_least, at_most
from peers.turns import at_work, take_turns

HOURS = 24
OURS, TEN, ROLLED = "atalaya, 200 samples a batch", "atalaya, 2,000 samples a batch", "atalaya, rolled up to 1 min"
WRITE, ENTROPY, XZ = "floor: bare write of these bytes", "floor: entropy of differences", "floor: xz -9 of the values"
DATABASES = {"victoria-metrics": victoria_metrics, "influxdb": influxdb, "prometheus": prometheus}


def of_ours(figures):
    cpu = figures["write_s"] + figures["maintain_s"]
    return {"bytes": figures["bytes"] / figures["points"], "rate": figures["points"] / cpu / 1e6}


def command_ms(bench, store, query, hours):
    """CPU time of the command that a user runs, from start to end: it adds up summaries of blocks where they suffice."""
    command = [bench.atalaya, "query", "--store", store, "--from", str(query["begin"] * 1000), "--to", str((query["begin"] + hours * 3600) * 1000),
               "--metric", "proc.cpu.user", "--aggregate", "sum", "--every", f"{BUCKET}s-sum", "--format", "json"]
    runs = [cost_of(command) for _ in range(QUERIES)]
    total = sum(value for series in json.loads(runs[-1][0]) for _, value in series["dps"])
    return statistics.median(cost["cpu"] for _, cost in runs), total


def measure_ours(bench, folder, hours, recorder):
    """Returns the figures, and those of the query; the lines are for the others."""
    store, lines = os.path.join(folder, "day.db"), os.path.join(folder, "lines")
    figures = bench.figures("store_bench", "day", store, lines, str(hours))
    query = bench.figures("store_bench", "scan", store, str(hours))
    command, total = command_ms(bench, store, query, hours)
    note = f"the command's sums are {total / query['total']:.4f} of those of the points"
    recorder.add(OURS, note=note if hours == HOURS else f"{hours} hours only; {note}", **of_ours(figures), cpu=query["points_cpu_ms"],
                 ms=query["points_ms"], command=command, **({"day": command} if hours == HOURS else {}))
    recorder.add(WRITE, **floors.write_of(figures["bytes"], figures["points"], folder))
    with recorder.turn(ROLLED):
        rolled = bench.figures("store_bench", "rollup", store, "60")
        again = bench.figures("store_bench", "scan", store, str(hours))
        recorder.add(ROLLED, bytes=rolled["bytes"] / figures["points"], cpu=again["points_cpu_ms"], ms=again["points_ms"])
    with recorder.turn(TEN):
        recorder.add(TEN, **of_ours(bench.figures("store_bench", "day", os.path.join(folder, "ten.db"), os.devnull, str(hours), "10")))
    return figures, query


def measure(bench, recorder):
    hours = int(os.environ.get("ATALAYA_BENCH_HOURS", HOURS))
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-", dir=Database.scratch) as folder:
        figures, query = measure_ours(bench, folder, hours, recorder)
        lines = os.path.join(folder, "lines")
        with recorder.turn(ENTROPY):
            recorder.add(ENTROPY, bytes=floors.entropy_of(lines))
            recorder.add(XZ, bytes=floors.xz_of(lines))
        for name, module in DATABASES.items():
            with recorder.turn(name), at_work(module.Store) as (peer, _, _):
                cpu, size = peer.load(lines)
                ms, cpu_ms, total = peer.query(query["begin"], hours)
                note = f"its sums are {total / query['total']:.4f} of those of atalaya"
                recorder.add(name, note=note, commands=peer.commands(), bytes=size / figures["points"], rate=figures["points"] / cpu / 1e6, cpu=cpu_ms, ms=ms)


def measure_http(bench, recorder):
    requests = [[ingest_bench.put(sender, window) for sender in range(ingest_bench.SENDERS)] for window in range(ingest_bench.WINDOWS)]

    def once(kind):
        def take():
            try:
                cpu, wall = ingest_bench.take(kind, requests)
            except (SystemExit, AssertionError, TypeError) as error:
                raise Ended(error) from error
            return {"rate": cpu, "wall": wall}
        return take
    take_turns(recorder, {"atalaya, receive": once(lambda folder: ingest_bench.Ours(bench.atalaya, folder)),
                          "victoria-metrics": once(ingest_bench.Victoria), "influxdb": once(ingest_bench.Influx)}, bench.rounds or 3)


TABLES = (Table(
    name="store",
    title="Stores: one day of 200 series",
    text=("The same points for all: 200 processes, `proc.cpu.user` once per second for 24 hours, made by `store_bench day` "
          "(`ATALAYA_BENCH_HOURS`: fewer). The query adds up all series in each ten minutes from single points; `atalaya query` uses summaries of blocks, "
          "and its start is included. The databases receive their points by HTTP, which is in their CPU time; atalaya's writer is called in one process, "
          "as by its sink.",
          "The entropy is that of the differences of successive values: a coder that models more can be smaller."),
    columns=(Column("bytes", "bytes a point", 3), Column("rate", "million points per CPU second"), Column("cpu", "query, ms of CPU", 0),
             Column("ms", "query, ms", 0, detail=True), Column("command", "`atalaya query`, ms of CPU", 0, detail=True)),
    rows={OURS: "atalaya", TEN: "atalaya", ROLLED: "atalaya", **{name: name for name in DATABASES}, WRITE: "", ENTROPY: "", XZ: ""},
    goals=(Goal("at most 0.40 bytes a point", at_most(OURS, "bytes", 0.40, "bytes")),
           Goal("at least 1.4 million points per CPU second from 200 samples a batch", at_least(OURS, "rate", 1.4, "million")),
           Goal("`atalaya query` of 24 hours of 200 series: at most 60 ms of CPU", at_most(OURS, "day", 60, "ms", 0))),
    measure=measure,
    reference=OURS,
    minutes=10,
), Table(
    name="ingest",
    title="Points by HTTP",
    text=(f"{ingest_bench.SENDERS} senders with keep-alive connections put the same {ingest_bench.POINTS:,} points by OpenTSDB's protocol, 960 a "
          "request, until they can be read. atalaya answers after they are durable; influxdb answers before.",),
    columns=(Column("rate", "million points per CPU second", 3), Column("wall", "million points per second", 3)),
    rows={"atalaya, receive": "atalaya", "victoria-metrics": "victoria-metrics", "influxdb": "influxdb"},
    goals=(),
    measure=measure_http,
    reference="atalaya, receive",
))
