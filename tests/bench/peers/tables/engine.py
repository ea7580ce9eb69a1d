# SPDX-License-Identifier: Apache-2.0
"""(f) Samples per second through stages."""

import os
import re
import subprocess

from bench_tools import ROOT
from peers.table import Column, Goal, Table, at_least

LINE = re.compile(r"^(.+?) +([0-9.]+) M samples/s +[0-9.]+ ns a sample")
VALUE, MATCH, TAGS = "filter value", "filter match", "translator tags"
RETURNS, TESTS, SETS = "Lua function, returns the sample", "Lua function, tests a field", "Lua function, reads and sets a tag"
ROUNDS = 9  # of two seconds


def measure(bench, recorder):
    for _ in range(bench.rounds or ROUNDS):
        said = subprocess.run([bench.tool("engine_bench"), os.path.join(bench.build, "plugins"), os.path.join(ROOT, "lua")], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        for line in said.splitlines():
            found = LINE.match(line)
            if found and found[1] in recorder.rows:
                recorder.add(found[1], rate=float(found[2]))


TABLES = (Table(
    name="engine",
    title="Stages",
    text=("Samples of 15 fields through one stage, on one core. No peer: the stages of other collectors are not programs that can be started alone.",),
    columns=(Column("rate", "million samples per CPU second"),),
    rows={name: "atalaya" for name in (VALUE, MATCH, TAGS, RETURNS, TESTS, SETS)},
    goals=(Goal("native: at least 70 million", at_least(VALUE, "rate", 70, "million")),
           Goal("Lua: at least 5 million", at_least(TESTS, "rate", 5, "million"))),
    measure=measure,
),)
