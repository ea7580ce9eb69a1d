# SPDX-License-Identifier: Apache-2.0
"""./dev real spark [--release 3|4] [--window SECONDS] [--only NAMES]: real frameworks, judged by oracles that share no code with
atalaya. Writes the table of these options in docs/reference/compatibility.md (not with --small); exit status 1 if a count or a sum
differs or an application does not run."""

import argparse
import os
import re
import sys

import spark

PAGE = "docs/reference/compatibility.md"
HEAD = ("application", "counts", "sums", "CPU, core-s: atalaya, cgroup", "first finding")


def cell(compared, ours, oracle, result):
    """What a row compared, and its cell."""
    if compared.startswith("first"):
        return 4, f"{result}: {ours}"
    if compared.startswith("CPU"):
        return 3, f"{ours.removesuffix(' core-s')}, {oracle.removesuffix(' core-s')}: {result}"
    return (1 if compared.startswith("counts") else 2), result


def table(rows):
    """A line for each application; `rows`: (product, "application: compared", atalaya, oracle, result)."""
    lines = {}
    for product, compared, *values in rows:
        name, _, what = compared.partition(": ")
        line = lines.setdefault((product, name), [f"{product}: {name}", *[""] * (len(HEAD) - 1)])
        column, line_text = cell(what, *values)
        line[column] = line_text
    return "\n".join("| " + " | ".join(line) + " |" for line in [HEAD, ("---",) * len(HEAD), *lines.values()])


def write_page(part, rows):
    with open(PAGE) as file:
        text = file.read()
    begin, end = f"<!-- generated: ./dev real {part} -->\n", "\n<!-- end -->"
    made, count = re.subn(re.escape(begin) + ".*?" + re.escape(end), lambda _: begin + table(rows) + end, text, flags=re.S)
    if count != 1:
        print(f"{PAGE} has no table of ./dev real {part}")
        return
    with open(PAGE, "w") as file:
        file.write(made)


def main():
    parser = argparse.ArgumentParser(prog="./dev real")
    parser.add_argument("product", choices=["spark", "all"])
    parser.add_argument("--release", choices=sorted(spark.VERSIONS), default="4")
    parser.add_argument("--window", type=int, default=5, help="length of the agent's windows in seconds")
    parser.add_argument("--small", action="store_true", help="three applications, for ./dev test --full; writes no page")
    parser.add_argument("--full-only", action="store_true", help="exit status 77, a skipped test, without ATALAYA_FULL")
    parser.add_argument("--only", help="names of applications, with commas; writes no page")
    parser.add_argument("--cache", default="build/real")
    options = parser.parse_args()
    if options.full_only and "ATALAYA_FULL" not in os.environ:
        print("takes minutes and a download: ./dev test --full")
        return 77
    names = options.only.split(",") if options.only else spark.SMALL if options.small else [entry[0] for entry in spark.APPLICATIONS]
    run = spark.Run(options.release, options.cache, options.window)
    run.all(names)
    if not options.small and not options.only:
        changed = [f" --{name} {getattr(options, name)}" for name in ("release", "window")
                   if getattr(options, name) != parser.get_default(name)]
        write_page("spark" + "".join(changed), run.rows)
    results = [row[-1] for row in run.rows]
    print(f"{results.count('pass')} of {len(results)} pass; counts or sums differ: {results.count('differs')}")
    return 1 if {"differs", "failed"} & set(results) else 0


sys.exit(main())
