# SPDX-License-Identifier: Apache-2.0
"""Many JVMs in one view."""

import json
import os
import tempfile

from peers.command import cost_of
from peers.growth import linear
from peers.table import Column, Goal, Table, at_least
from peers.turns import take_turns

JVMS, ROUNDS = (10, 100, 1000), 3
ROWS = {count: f"{count:,} JVMs" for count in JVMS}


def view(bench, store, span):
    """The command of a user, with its default `--max-points`."""
    answer, cost = cost_of([bench.atalaya, "jvms", "--store", store, "--from", str(span["begin"]), "--to", str(span["end"]), "--format", "json",
                            "--top", str(max(JVMS))])
    found = json.loads(answer)
    return dict(cost, shown=len(found["jvms"]), functions=len(found["functions"]))


def measure(bench, recorder):
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder:
        contenders = {}
        for count in JVMS:
            store = os.path.join(folder, f"{count}.db")
            span = bench.figures("fill_store", "jvms", store, count)
            recorder.add(ROWS[count], samples=span["samples"])
            contenders[ROWS[count]] = lambda store=store, span=span: view(bench, store, span)
        take_turns(recorder, contenders, bench.rounds or ROUNDS)


TABLES = (Table(
    name="jvms",
    title="Many JVMs in one view",
    text=("`atalaya jvms` over two minutes, with its default `--max-points`. A generator wrote the samples as the source `jvm` reports them by default "
          "in windows of 5 s: 32 functions, their stacks and 20 other stacks per JVM and window.",),
    columns=(Column("cpu", "CPU, ms", 0), Column("ms", "ms", 0, detail=True), Column("rss", "RSS, MiB", 1), Column("shown", "JVMs in the answer", 0),
             Column("functions", "functions in the answer", 0, detail=True), Column("samples", "samples in the store", 0, detail=True)),
    rows={name: "atalaya" for name in ROWS.values()},
    goals=(Goal("1,000 JVMs in one view", at_least(ROWS[1000], "shown", 1000, "JVMs", 0)),
           linear("JVMs, CPU", ROWS, "cpu", "ms"), linear("JVMs, memory", ROWS, "rss", "MiB")),
    measure=measure,
),)
