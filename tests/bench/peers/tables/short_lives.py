# SPDX-License-Identifier: Apache-2.0
"""(e) Bytes of the shipped pipeline next to compilers, whose processes live for a moment."""

import contextlib
import os
import sqlite3
import subprocess
import time

from peers.database import Database
from peers.program import binary, write
from peers.programs.atalaya import HostPipeline
from peers.table import Column, Goal, Table, at_most
from peers.turns import at_work

SECONDS, FILES = 200, 4000
LIVE, PACKED = "atalaya, as it is written", "atalaya, packed"
SOURCE = """#include <map>
#include <string>
#include <vector>
std::map<std::string, std::vector<int>> table{number};
int look_up{number}(const std::string &name) {{ return table{number}[name].size() + {number}; }}
"""
# Of the store: tables and indexes of names, of points that are packed, and of points that are rows.
PARTS = {"names": ("tag_sets", "tag_sets_tags", "entity_rows", "entity_rows_pid", "entity_rows_seen", "sqlite_sequence", "metrics"), "chunks": ("chunks", "chunks_entity", "chunks_arrived"),
         "rows": ("samples", "windows", "windows_open")}


class OnDisk(HostPipeline):
    scratch = Database.scratch


@contextlib.contextmanager
def compilers(folder):
    """`make -j2` of many small C++ files, until it is left."""
    binary("g++")
    for number in range(FILES):
        write(folder, f"f{number}.cpp", SOURCE.format(number=number))
    names = " ".join(f"f{number}.o" for number in range(FILES))
    path = write(folder, "Makefile", f"all: {names}\n%.o: %.cpp\n\tg++ -O1 -c $< -o $@\n")
    with subprocess.Popen([binary("make"), "-j2", "-C", folder, "-f", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 15)


def sizes(store):
    """Bytes of each part, and of the pages that are used."""
    with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as reader:
        value = lambda sql: reader.execute(sql).fetchone()[0]
        used = (value("PRAGMA page_count") - value("PRAGMA freelist_count")) * value("PRAGMA page_size")
        parts = dict(reader.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"))
    return {"all": used, **{part: sum(parts.get(name, 0) for name in names) for part, names in PARTS.items()}}


def figures(store, empty, points, entities):
    """An empty store has some pages: they are left out."""
    found = {part: size - empty[part] for part, size in sizes(store).items()}
    return {"bytes": found["all"] / points, **{part: found[part] / points for part in PARTS}, "points": points, "entities": entities,
            "of_name": found["names"] / entities}


def measure(bench, recorder):
    with at_work(OnDisk, bench.atalaya, every=5) as (peer, _, _):
        with compilers(os.path.join(peer.folder, "sources")) as make:
            time.sleep(bench.seconds or SECONDS)
            note = "" if make.poll() is None else "the compilers ended before"
        commands = peer.commands()
        peer.stop()
        store, packed, none = (os.path.join(peer.folder, name) for name in ("atalaya.db", "packed.db", "empty.db"))
        bench.figures("store_bench", "day", none, os.devnull, "0")
        empty = sizes(none)
        rows = bench.figures("store_bench", "count", store)
        recorder.add(LIVE, note, commands, **figures(store, empty, rows["points"], rows["entities"]))
        with recorder.turn(PACKED):
            replayed = bench.figures("store_bench", "replay", store, packed, os.devnull)
            recorder.add(PACKED, note, **figures(packed, empty, replayed["points"], replayed["entities"]))


TABLES = (Table(
    name="short-lives",
    title="Processes that live for a moment",
    text=(f"`pipelines/host.lua` next to `make -j2` of small C++ files for {SECONDS} s: most processes live for less than a window. The embedded "
          "store keeps the points of the last ten minutes as rows and packs them later; the second row is the same points after that "
          "(`store_bench replay`). A name is the row of a process with its tags and their indexes.",),
    columns=(Column("bytes", "bytes a point"), Column("names", "of it names"), Column("chunks", "packed points"), Column("rows", "rows", detail=True),
             Column("points", "points", 0, detail=True), Column("entities", "entities", 0, detail=True), Column("of_name", "bytes a name", 0, detail=True)),
    rows={LIVE: "atalaya", PACKED: "atalaya"},
    goals=(Goal("at most 1.5 bytes a point", at_most(PACKED, "bytes", 1.5, "bytes")),),
    measure=measure,
),)
