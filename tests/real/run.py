# SPDX-License-Identifier: Apache-2.0
"""./dev real spark|hadoop|kafka|all [--window SECONDS] [--only NAMES]: real frameworks, judged by oracles that share no code with
atalaya. Writes the tables of docs/reference/compatibility.md (not with --small; with --only the other rows stay); exit status 1 if a count or a sum differs
or an application does not run."""

import argparse
import os
import re
import signal
import sys

import hadoop
import kafka
import spark

PAGE = "docs/reference/compatibility.md"
PRODUCTS = {"spark": spark, "hadoop": hadoop, "kafka": kafka}


def write_page(command, rows, partial):
    """Replaces the table of this command; of a partial run, only its rows."""
    with open(PAGE) as file:
        text = file.read()
    begin, end = f"<!-- generated: ./dev real {command} -->\n", "\n<!-- end -->"
    found = re.search(re.escape(begin) + "(.*?)" + re.escape(end), text, flags=re.S)
    if not found:
        print(f"{PAGE} has no table of ./dev real {command}")
        return
    with open(PAGE, "w") as file:
        file.write(text[:found.start(1)] + rows.table(found[1] if partial else "") + text[found.end(1):])


def chosen(module, options):
    if options.only:
        return options.only.split(",")
    return module.SMALL if options.small else [entry[0] for entry in module.APPLICATIONS]


def main():
    parser = argparse.ArgumentParser(prog="./dev real")
    parser.add_argument("product", choices=[*PRODUCTS, "all"])
    parser.add_argument("--release", choices=sorted(spark.VERSIONS), default="4", help="of Spark")
    parser.add_argument("--window", type=int, default=5, help="length of the agent's windows in seconds")
    parser.add_argument("--small", action="store_true", help="few applications, for ./dev test --full; writes no page")
    parser.add_argument("--full-only", action="store_true", help="exit status 77, a skipped test, without ATALAYA_FULL")
    parser.add_argument("--only", help="names of applications, with commas; the other rows of the page stay")
    parser.add_argument("--cache", default="build/real")
    options = parser.parse_args()
    if options.full_only and "ATALAYA_FULL" not in os.environ:
        print("takes minutes and a download: ./dev test --full")
        return 77
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the daemons, too
    changed = "".join(f" --{name} {getattr(options, name)}" for name in ("release", "window")
                      if getattr(options, name) != parser.get_default(name))
    results = []
    for part, module in PRODUCTS.items():
        if options.product in (part, "all"):
            run = module.Run(options)
            partial = True
            try:
                run.all(chosen(module, options))
                partial = bool(options.only)
            finally:  # an interrupted run has the rows of the applications that it ran
                results += run.rows.results
                if not options.small:
                    write_page(part + changed, run.rows, partial)
    print(f"{results.count('pass')} of {len(results)} pass; counts or sums differ: {results.count('differs')}")
    return 1 if not results or {"differs", "failed"} & set(results) else 0


sys.exit(main())
