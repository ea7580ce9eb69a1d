# SPDX-License-Identifier: Apache-2.0
"""python3 -m peers BUILD [TABLE...]: measures all tables, or those of these names, and writes the pages."""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

from peers import page, results
from peers.programs import LIST
from peers.tables import ALL
from peers.turns import Recorder, TimeIsUp, limit


@dataclass(frozen=True)
class Bench:
    """What a measurement needs to know."""

    build: str
    rounds: int  # 0: as many as the table has by default
    seconds: int

    @property
    def atalaya(self):
        return os.path.join(self.build, "atalaya")

    def tool(self, name):
        return os.path.join(self.build, "tests", "bench", name)

    def figures(self, name, *arguments):
        """The JSON object that a tool prints."""
        return json.loads(subprocess.run([self.tool(name), *map(str, arguments)], check=True, stdout=subprocess.PIPE).stdout)

    def has(self, program):
        return shutil.which(program) is not None


def is_wanted(table, names):
    """By its name, or by the first word of it: `processes` are all of processes-100, processes-1000 and processes-10000."""
    return not names or table.name in names or table.name.split("-")[0] in names


def parse(words):
    parser = argparse.ArgumentParser(prog="./dev bench peers", description=__doc__)
    parser.add_argument("build")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(table.name for table in ALL))
    parser.add_argument("--rounds", type=int, default=0, help="rounds of each table (default: its own number)")
    parser.add_argument("--seconds", type=int, default=0, help="length of a storm or a profile (default: 20)")
    parser.add_argument("--results", default=results.PATH, help="results file (default: docs/benchmarks.json)")
    parser.add_argument("--page", default=page.PATH, help="page of results (default: docs/benchmarks.md)")
    parser.add_argument("--method", default=page.METHOD_PATH, help="page about the method (default: docs/benchmarks-method.md)")
    parser.add_argument("--only-page", action="store_true", help="measure nothing; write the pages from the results file")
    options = parser.parse_intermixed_args(words)
    unknown = [name for name in options.tables if not any(is_wanted(table, [name]) for table in ALL)]
    if unknown:
        parser.error(f"no table {', '.join(unknown)}; the tables are {', '.join(table.name for table in ALL)}")
    return options


def measured(table, bench):
    """An entry of the results file. An error or the limit of time ends the table, not the run."""
    recorder, begin = Recorder(table.rows), time.monotonic()
    entry = {"stamp": results.stamp(), "commit": LIST["atalaya"].version}
    try:
        with limit(60 * table.minutes):
            table.measure(bench, recorder)
    except TimeIsUp:
        entry["ended"] = f"it was ended after {table.minutes} minutes"
    except Exception as error:  # pylint: disable=broad-except
        entry["ended"] = f"it ended early: {type(error).__name__}: {error}"[:200]
    entry["seconds"] = round(time.monotonic() - begin)
    entry["rows"] = recorder.rows
    entry["programs"] = {name: {"version": LIST[name].version, "packaged": LIST[name].packaged} for name in set(table.rows.values()) if name}
    return entry


def end(*_):
    """Through all contexts, once: nothing stays behind."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(1)


def main(words):
    options = parse(words)
    signal.signal(signal.SIGTERM, end)
    bench = Bench(os.path.abspath(options.build), options.rounds, options.seconds)
    found = results.read(options.results)
    for table in ALL:
        if options.only_page or not is_wanted(table, options.tables):
            continue
        print(f"{table.name}: maximum {table.minutes} minutes", file=sys.stderr, flush=True)
        found["tables"][table.name] = measured(table, bench)
        results.write(options.results, found)
        print("\n".join(page.section(table, found["tables"][table.name])), flush=True)
    page.write(found, options.page, options.method)
    print(f"wrote {os.path.relpath(options.page)} and {os.path.relpath(options.method)}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
