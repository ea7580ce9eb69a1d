# SPDX-License-Identifier: Apache-2.0
"""(i) A simulated fleet that sends to one hub."""

import os
import tempfile

from peers.database import Database
from peers.growth import fitted, linear, medians
from peers.hub import SAMPLES, WINDOW, Hub, fleet, record
from peers.table import Column, Goal, Table, values, verdict
from peers.turns import at_work

HOSTS = (100, 1000, 3000, 10000)
ROWS = {hosts: f"{hosts:,} hosts" for hosts in HOSTS}
WARM_UP, WINDOWS = 2, 4  # the first window of a host makes its series
SPREAD = 3  # seconds, as in pipelines/agent.lua
WANTED = 10_000  # hosts of a core
PACKED_HOSTS, PACKED_WINDOWS = 20, 720  # an hour


def packing(bench, records):
    """CPU ns for a point that the hub takes later, to pack it: for an hour of a few hosts, packed at once."""
    with at_work(Hub, bench.atalaya) as (hub, _, _):
        for _ in fleet(bench.tool("fleet"), hub, PACKED_HOSTS, PACKED_WINDOWS, 0, 0, records):
            pass
        hub.stop()
        figures = bench.figures("store_bench", "replay", hub.store, os.path.join(hub.folder, "packed.db"), os.devnull)
    return 1e9 * figures["maintain_s"] / figures["points"]


def with_fleet(bench, recorder, hosts, records, ns_of_packing):
    """Each window is recorded when it is over: a machine that is too slow for the last ones has the first."""
    name = ROWS[hosts]
    with at_work(Hub, bench.atalaya) as (hub, group, _):
        before = 0
        for number, account in enumerate(fleet(bench.tool("fleet"), hub, hosts, WARM_UP + WINDOWS, WINDOW, SPREAD, records)):
            cpu, points = group.cpu_ns(), account["points"] / (number + 1)
            if number >= WARM_UP:
                received, packed = (cpu - before) / 1e6, points * ns_of_packing / 1e6
                late = f"a window took {account['seconds']:.1f} s" if account["seconds"] > 1.1 * WINDOW else ""
                note = f"{account['again']} requests were sent again" if account["again"] else late
                recorder.add(name, note, hub.commands(), core=(received + packed) / WINDOW / 10, received=received, packing=packed,
                             wait=account["p99_ms"])
            before = cpu
        stored = bench.figures("store_bench", "count", hub.store, str(WINDOW))  # without the hub's own metrics
        recorder.add(name, rss=group.resident_mib(), points=points, lost=account["points"] - stored["points"], refused=account["refused"])


def measure(bench, recorder):
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-", dir=Database.scratch) as folder:
        records = record(bench.atalaya, folder)
        ns_of_packing = packing(bench, records)
        for hosts in HOSTS:
            cores = expected_cores(recorder.rows, hosts)
            if cores > os.cpu_count() - 1:
                recorder.miss(ROWS[hosts], f"the rows before let expect {cores:.1f} cores for the hub, and the fleet needs one")
                continue
            with recorder.turn(ROWS[hosts]):
                with_fleet(bench, recorder, hosts, records, ns_of_packing)


def expected_cores(rows, hosts):
    """By the line through the rows that were measured; 0 for the first two."""
    numbers, costs = medians(rows, ROWS, "core")
    if len(numbers) < 2:
        return 0
    slope, start = fitted(numbers, costs)
    return (start + slope * hosts) / 100


def hosts_of_a_core(rows):
    """Where the line through the figures is at 100 %."""
    numbers, costs = medians(rows, ROWS, "core")
    slope, start = fitted(numbers, costs)
    found = (100 - start) / slope
    if found >= WANTED > numbers[-1]:
        raise KeyError(f"{WANTED} hosts were not measured")
    return (f"{found:,.0f} hosts ({slope * 1000:.2f} % of a core for 1,000 more; measured up to {numbers[-1]:,})", verdict(found >= WANTED))


def nothing_lost(rows):
    found = [values(rows, name, key)[0] for name in ROWS.values() if "lost" in rows[name]["values"] for key in ("lost", "refused")]
    if not found:
        raise KeyError("lost")
    return f"{sum(map(abs, found)):,}", verdict(not any(found))


TABLES = (Table(
    name="hub",
    title="A fleet and its hub",
    text=(f"One hub (`receive` and the embedded store with `sync = \"full\"`, as in `pipelines/hub.lua`) and a simulated fleet: each host has an "
          f"address and a connection of its own, and sends {SAMPLES} processes every {WINDOW} s, in the first {SPREAD} s of it. The requests are "
          "recorded from a real agent (`flat`, zstd); names of hosts and times are changed. The CPU time is the hub's, without its first two windows, "
          f"with the later packing of points (measured on an hour of {PACKED_HOSTS} hosts), without deletion by age. All hosts repeat a "
          "few recorded windows, the store is half a minute old, and senders have no tokens.",),
    columns=(Column("core", "CPU, % of a core", 1), Column("received", "CPU of a window, ms: received and stored", 0, detail=True),
             Column("packing", "packed later", 0, detail=True), Column("wait", "acknowledged after, ms (99 %)", 0), Column("rss", "RSS, MiB", 0),
             Column("points", "points of a window", 0, detail=True), Column("lost", "acknowledged and not stored", 0, detail=True)),
    rows={name: "atalaya" for name in ROWS.values()},
    goals=(Goal(f"one core: at least {WANTED:,} hosts with {SAMPLES} samples every {WINDOW} s", hosts_of_a_core),
           Goal("points lost or requests refused: none", nothing_lost),
           linear("hosts", ROWS, "core", "% of a core")),
    measure=measure,
    minutes=8,
),)
