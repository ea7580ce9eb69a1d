# SPDX-License-Identifier: Apache-2.0
"""The embedded store next to victoria-metrics and influxdb, on the same points in the same run: bytes a point, CPU time a point, a query of a
day; and the size of stacks.

store_bench.py ATALAYA STORE_BENCH [RECORDING]. $ATALAYA_BENCH_HOURS instead of 24 makes the made-up day shorter. RECORDING is a store that an agent wrote, of less than ten minutes or of schema 1; without
one this host is recorded for a minute, all processes at 1 s. The day is made up: 200 processes at 1 s.
"""

import json
import os
import subprocess
import sys
import tempfile

from bench_tools import ROOT, Ended
from peers.programs import influxdb, victoria_metrics
from peers.turns import at_work

RECORDED = "60s"


def record(atalaya, folder):
    path, store = os.path.join(folder, "record.lua"), os.path.join(folder, "recording.db")
    with open(path, "w") as file:
        file.write(f'local a = require "atalaya" a.pipeline "all" {{ every = "1s", a.source.proc {{}}, a.sink.sqlite {{ path = "{store}" }} }}')
    environment = {**os.environ, "STATE_DIRECTORY": folder, "RUNTIME_DIRECTORY": folder, "ATALAYA_LUA": os.path.join(ROOT, "lua")}
    subprocess.run([atalaya, "run", path, "--for", RECORDED], env=environment, check=True, stderr=subprocess.DEVNULL)
    return store


def compare(name, peer, points, lines):
    cpu, size = peer.load(lines)
    print(f"  {name:<17} {size / points:5.2f} bytes a point, {points / cpu / 1e6:5.2f} million points a second of CPU "
          "(HTTP and parsing of lines included)")


def compare_all(points, lines, hours, begin=None, total=None):
    """The databases with the same points; the query too when the points are a day."""
    for name, module in (("influxdb", influxdb), ("victoria-metrics", victoria_metrics)):
        try:
            with at_work(module.Store) as (peer, _, _):
                compare(name, peer, points, lines)
                if begin is not None:
                    ms, cpu, sums = peer.query(begin, hours)
                    print(f"  {name}: {ms:.0f} ms ({cpu:.0f} ms of CPU); its total is {sums / total:.6f} of ours")
        except Ended as error:
            print(f"  {name:<17} left out: {error}")


def run(bench, *arguments):
    return json.loads(subprocess.run([bench, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout)


def ours(title, bench, *arguments):
    """Prints a line for us; returns how many points it were."""
    figures = run(bench, *arguments)
    points = figures["points"]
    print(f"{title}: {points} points, {figures['entities']} entities")
    cpu = figures["write_s"] + figures["maintain_s"]
    print(f"  atalaya           {figures['bytes'] / points:5.2f} bytes a point, {points / cpu / 1e6:5.2f} million points a second of CPU "
          f"(writing {figures['write_s'] / points * 1e6:.2f} us, packing {figures['maintain_s'] / points * 1e6:.2f} us a point; "
          f"a step p99 {figures['step_p99_ms']} ms, longest {figures['step_max_ms']} ms)")
    return points


def roll_up(bench, store, hours):
    """Size of a store whose points become one a minute, and the same query of it."""
    figures, query = run(bench, "rollup", store, "60"), run(bench, "scan", store, hours)
    print(f"  rolled up to a minute: {figures['bytes_before'] / 1e6:.1f} MB become {figures['bytes'] / 1e6:.1f} MB in {figures['maintain_s']:.1f} s of CPU "
          f"(a step p99 {figures['step_p99_ms']} ms, longest {figures['step_max_ms']} ms); sums of ten minutes {query['points_cpu_ms']:.0f} ms of CPU")
    return query["total"]


def main():
    atalaya, bench = sys.argv[1:3]
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-", dir="/var/tmp") as folder:
        recording = os.path.join(folder, "copy.db")
        source = sys.argv[3] if len(sys.argv) > 3 else record(atalaya, folder)
        subprocess.run(["sqlite3", source, f"VACUUM INTO '{recording}'"], check=True)
        print("the reference estimate is 35 bytes a point")
        hours = int(os.environ.get("ATALAYA_BENCH_HOURS", "24"))
        for title, source, arguments in (("recorded", [recording], []), (f"{hours} hours of 200 series at 1 s", [], [str(hours)])):
            kind = "replay" if source else "day"
            store, lines = os.path.join(folder, kind + ".db"), os.path.join(folder, kind + ".lines")
            points = ours(title, bench, kind, *source, store, lines, *arguments)
            if kind == "replay":
                compare_all(points, lines, hours)
            else:
                figures = run(bench, "scan", store, str(hours))
                print(f"  sums of ten minutes: {figures['summaries_ms']:.0f} ms by the chunks' heads, {figures['points_ms']:.0f} ms by points "
                      f"({figures['points_cpu_ms']:.0f} ms of CPU)")
                compare_all(points, lines, hours, figures["begin"], figures["total"])
                total = roll_up(bench, store, str(hours))
                assert abs(total / figures["total"] - 1) < 1e-9, f"{total} after the roll-up, {figures['total']} before"
            os.remove(lines)
        ours(f"{hours} hours of them, ten windows a batch", bench, "day", os.path.join(folder, "batches.db"), os.path.join(folder, "batches.lines"),
             str(hours), "10")
        os.remove(os.path.join(folder, "batches.lines"))
        ours("such a day imported, a series a batch", bench, "import", os.path.join(folder, "import.db"))
        figures = run(bench, "many", os.path.join(folder, "many.db"))
        print(f"a million entities, CPU time: the first 10,001 series {figures['series_ms']:.0f} ms, names {figures['metrics_ms']:.0f} ms, keys "
              f"{figures['keys_ms']:.0f} ms, hosts {figures['hosts_ms']:.0f} ms (goal: 1000 ms each)")
        figures = run(os.path.join(os.path.dirname(bench), "store_stacks"), folder)
        print(f"an hour of {figures['samples']} samples of stacks: {figures['tree_bytes'] / 1e6:.1f} MB as a tree, "
              f"{figures['tree_bytes'] / figures['samples']:.1f} bytes a sample ({figures['texts_bytes'] / 1e6:.1f} MB as texts); "
              f"{figures['write_us']:.1f} us to write a stack, {figures['read_us']:.1f} us to read it")


if __name__ == "__main__":
    main()
