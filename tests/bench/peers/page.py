# SPDX-License-Identifier: Apache-2.0
"""docs/benchmarks.md from the results file. A figure that was not taken is "not measured"."""

import os
import textwrap

from bench_tools import ROOT
from peers.programs import LIST
from peers.table import UNMEASURED, figure, ratios
from peers.tables import ALL

PATH = os.path.join(ROOT, "docs", "benchmarks.md")
WIDTH = 120

INTRODUCTION = """# Benchmarks

<!-- Written by ./dev bench peers; the text is in tests/bench/peers/page.py. -->

This page compares atalaya with other programs on the same work, in one run on one machine. `./dev bench peers` installs the programs from Debian,
takes the figures and writes this page. `./dev bench peers TABLE...` takes some: the name of a table is the first word of its header. The raw values are in
`docs/benchmarks.json`. A program that does not run on the machine is a row with the reason.

## Method

- **In turns.** The programs run one after the other, in several rounds, so that each finds the same machine. A figure is the median of the
  rounds, with the smallest and the largest in parentheses. Ratios are those of one round.
- **CPU time** is user and system time of the whole process tree, children that ended included: each program runs in a control group of its own.
  Start and first windows are left out, unless the text says otherwise.
- **Memory.** RSS is the sum over the processes of a program, PSS counts shared pages once.
- **Goals** are those of the project. `pass` and `short` are judged by the median. A loss is judged by at least 15 pairs of runs, with its 95 %
  interval; more noise than 2 % is `inconclusive`.
- **Growth.** A cost at several numbers is judged by its exponent: e of costs like a + b × number^e, above the smallest number. 1 is a line, 2 a
  square; up to 1.1 counts as linear, because of noise. A line through such costs has the least squares of relative errors.
- **Floors** are costs that no program can avoid, such as one pass over all processes that reads only their pids.
- **Versions** are those of Debian 12: some are years old, and newer ones can be better. The list at the end has their dates, and what each program
  counts and does not count. Compare only figures of programs that count what you need.
"""

ELSEWHERE = """## Measured elsewhere, or not at all

- A hub whose senders use OpenTSDB's protocol: `./dev bench receive`. Faults of nodes that `bottleneck` finds on a small cluster: `./dev bench cluster`.
  ClickHouse: `./dev bench clickhouse`. Floor of a hub: `./dev bench protocols`.
- telegraf, async-profiler and a JMX exporter are not in Debian 12: not measured.
"""


def wrapped(text):
    """Paragraphs and items at the width of the page."""
    lines = []
    for block in text.strip().split("\n\n"):
        items = block.split("\n- ") if block.startswith("- ") else [block]
        for number, item in enumerate(items):
            start = "- " if len(items) > 1 or block.startswith("- ") else ""
            words = " ".join((item[2:] if start and number == 0 else item).split())
            lines += textwrap.wrap(words, WIDTH, initial_indent=start, subsequent_indent="  " if start else "", break_long_words=False,
                                   break_on_hyphens=False)
        lines.append("")
    return lines


def table_lines(header, rows):
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)] + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def cell(row, column):
    found = row["values"].get(column.key)
    return column.text(found, column.digits) if found else "-"


def ratio(table, rows, name):
    if name == table.reference and rows[name]["values"]:
        return "1"
    try:
        found = ratios(rows, name, table.reference, table.columns[0].key)
    except KeyError:
        return "-"
    return figure(found) if found else "-"


def remark(row):
    if "missing" in row:
        return f"{UNMEASURED}: {row['missing']}"
    if not row["values"]:
        return UNMEASURED
    return row["note"]


def judged(table, rows):
    """(goal, figure, verdict) of each."""
    for goal in table.goals:
        try:
            found, state = goal.judge(rows)
        except (KeyError, ZeroDivisionError):
            found, state = "-", UNMEASURED
        yield goal.text, found, state


def rows_of(table, entry):
    """Those of the results, and empty ones for rows that the results do not have."""
    found = entry["rows"] if entry else {}
    return {name: found.get(name, {"values": {}, "note": ""}) for name in table.rows}


def section(table, entry):
    rows = rows_of(table, entry)
    lines = [f"## {table.title}", ""]
    for paragraph in table.text:
        lines += wrapped(paragraph)
    header = [table.name] + [column.title for column in table.columns] + (["ratio to atalaya"] if table.reference else []) + ["remark"]
    lines += table_lines(header, ([name, *(cell(row, column) for column in table.columns), *([ratio(table, rows, name)] if table.reference else []),
                                   remark(row)] for name, row in rows.items()))
    if table.reference:
        lines += wrapped(f"The ratio is that of the column \"{table.columns[0].title}\".")
    if table.goals:
        lines += table_lines(("goal", "result", ""), judged(table, rows))
    return lines + wrapped(origin(entry))


def origin(entry):
    if not entry:
        return "Not measured."
    stamp = entry["stamp"]
    words = f"Measured on {stamp['date']} at commit {entry['commit']} in {entry['seconds']} s; load of the machine before: {stamp['load']}."
    return words + (f" The table is not complete: {entry['ended']}." if "ended" in entry else "")


def machine_lines(entries):
    machines = sorted({entry["stamp"]["machine"] for entry in entries.values()})
    return ["## Machine", ""] + wrapped("; ".join(machines) + "." if machines else "Not measured.")


def summary(entries):
    lines = ["## Goals", ""]
    rows = [(table.title, *row) for table in ALL for row in judged(table, rows_of(table, entries.get(table.name)))]
    return lines + table_lines(("table", "goal", "result", ""), rows)


def programs(entries):
    """The list of programs, with the versions that took part."""
    seen = {}
    for entry in entries.values():
        seen.update(entry["programs"])
    rows = []
    for program in LIST.values():
        known = seen.get(program.name, {"version": "", "packaged": ""})
        package = f"{program.package} {known['version']}".strip() or "this tree"
        rows.append((program.name, package if known["version"] or not program.package else f"{program.package}: {UNMEASURED}", known["packaged"] or "-",
                     program.counts, program.misses))
    return ["## Programs", "", *table_lines(("program", "Debian package", "in Debian since", "counts", "does not count, or does otherwise"), rows)]


def commands(entries):
    """Of each row, those of the last table that has it. The configuration files are in tests/bench/peers/programs."""
    found = {}
    for entry in entries.values():
        found.update({name: row["commands"] for name, row in entry["rows"].items() if row.get("commands")})
    lines = [f"{name}: {command}" for name, of_row in found.items() for command in of_row]
    return ["## Commands", "", "FOLDER is the folder of a run. Its configuration files are in `tests/bench/peers/programs`.", "", "```text",
            *(lines or [UNMEASURED]), "```", ""]


def render(results):
    entries = {table.name: results["tables"][table.name] for table in ALL if table.name in results["tables"]}
    head, _, items = INTRODUCTION.partition("## Method\n")
    title, comment, text = head.split("\n\n", 2)
    lines = [title, "", comment, "", *wrapped(text), "## Method", "", *wrapped(items), *machine_lines(entries), *summary(entries)]
    for table in ALL:
        lines += section(table, entries.get(table.name))
    heading, _, rest = ELSEWHERE.partition("\n\n")
    lines += [heading, "", *wrapped(rest), *programs(entries), *commands(entries)]
    return "\n".join(lines).rstrip("\n") + "\n"
