# SPDX-License-Identifier: Apache-2.0
"""docs/benchmarks.md, the results, and docs/benchmarks-method.md from the results file. A figure that was not taken is "not measured"."""

import itertools
import os
import textwrap

from bench_tools import ROOT
from peers.programs import LIST
from peers.table import PASS, UNMEASURED, figure, ratios
from peers.tables import ALL

PATH = os.path.join(ROOT, "docs", "benchmarks.md")
METHOD_PATH = os.path.join(ROOT, "docs", "benchmarks-method.md")
WIDTH = 120
COLUMNS = 4  # of a table, at most

COMMENT = "<!-- Written by ./dev bench peers; the text is in tests/bench/peers. -->"

INTRODUCTION = """
atalaya next to other programs on the same work, in turns on one machine. A figure is the median of several rounds, with the smallest and the largest in
parentheses; ± is a 95 % interval. A ratio is that of the first column, in the same round. [How it is measured](benchmarks-method.md) explains each
table, what the programs count, and the goals. `docs/benchmarks.json` has all values and the command of each row.
"""

METHOD = """
`./dev bench peers` installs the programs from Debian, takes the figures and writes [the results](benchmarks.md) and this page. `./dev bench peers TABLE...`
takes some: the name of a table is the first word of its header. A program that does not run on the machine has the reason below its table.

- **In turns.** The programs run one after the other, in several rounds.
- **CPU time** is user and system time of the whole process tree, children that ended included. RSS is the sum over its processes.
  Start and first windows are left out, unless the text says otherwise.
- **Goals** are those of the project. `pass` and `short` are judged by the median. A loss is judged by at least 15 pairs of runs, with its 95 %
  interval; more noise than 2 % is `inconclusive`.
- **Growth.** A cost at several numbers is judged by its exponent: e of costs like a + b × number^e, above the smallest number. 1 is a line, 2 a
  square; up to 1.1 counts as linear, because of noise.
- **Floors** are costs that no program can avoid, such as one pass over all processes that reads only their pids.
- **Versions** are those of Debian 12; newer ones can be better.
- **Other benchmarks**: a hub with OpenTSDB's protocol, `./dev bench receive`; faults of nodes that `bottleneck` finds, `./dev bench cluster`;
  ClickHouse, `./dev bench clickhouse`; the floor of a hub, `./dev bench protocols`.
- **Not measured**, because Debian 12 does not have them: telegraf, async-profiler, a JMX exporter.
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


def shown(table):
    return [column for column in table.columns if not column.detail]


def has_ratio(table):
    return bool(table.reference) and len(shown(table)) + 2 <= COLUMNS


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


def result_lines(table, rows):
    """The rows with figures of the page's columns, and below them the remarks."""
    header = [table.name] + [column.title for column in shown(table)] + (["ratio to atalaya"] if has_ratio(table) else [])
    cells = {name: [cell(row, column) for column in shown(table)] for name, row in rows.items()}
    remarks = [f"- {name}: {remark(row)}." for name, row in rows.items() if remark(row)]
    lines = table_lines(header, ([name, *of_row, *([ratio(table, rows, name)] if has_ratio(table) else [])]
                                 for name, of_row in cells.items() if set(of_row) != {"-"}))
    return lines + (wrapped("\n".join(remarks)) if remarks else [])


def section(table, entry):
    rows = rows_of(table, entry)
    lines = [f"## {table.title}", "", *result_lines(table, rows)]
    if table.goals:
        lines += table_lines(("goal", "result", ""), judged(table, rows))
    return lines + wrapped(origin(entry))


def origin(entry):
    if not entry:
        return "Not measured."
    stamp = entry["stamp"]
    words = f"{stamp['date']}, commit {entry['commit']}, load before {stamp['load']}."
    return words + (f" The table is not complete: {entry['ended']}." if "ended" in entry else "")


def machine(entries):
    machines = sorted({entry["stamp"]["machine"] for entry in entries.values()})
    return wrapped("Machine: " + ("; ".join(machines) if machines else UNMEASURED) + ".")


def summary(entries):
    """The number of goals that are met, and those that are not."""
    rows = [(table.title, *row) for table in ALL for row in judged(table, rows_of(table, entries.get(table.name)))]
    others = [row for row in rows if row[3] != PASS]
    lines = wrapped(f"Goals: {len(rows) - len(others)} of {len(rows)} pass" + ("; the others:" if others else "."))
    return lines + (wrapped("\n".join(f"- {title}, {goal}: {found}, {state}." for title, goal, found, state in others)) if others else [])


def programs(entries):
    """The list of programs, with the versions that took part."""
    seen = {}
    for entry in entries.values():
        seen.update(entry["programs"])
    rows = []
    for program in LIST.values():
        known = seen.get(program.name, {"version": "", "packaged": ""})
        package = f"{program.package} {known['version']}".strip() or "this tree"
        packaged = f" ({known['packaged']})" if known["packaged"] not in ("", "-") else ""
        rows.append((program.name, package + packaged if known["version"] or not program.package else f"{program.package}: {UNMEASURED}",
                     program.counts, program.misses))
    return ["## Programs", "", *table_lines(("program", "Debian package (date)", "counts", "does not count, or does otherwise"), rows)]


def explanations():
    """A section of the method for each text; tables of one text share it."""
    lines = []
    for text, tables in itertools.groupby(ALL, lambda table: table.text):
        lines += ["## " + "; ".join(table.title for table in tables), ""]
        for paragraph in text:
            lines += wrapped(paragraph)
    return lines


def finished(lines):
    return "\n".join(lines).rstrip("\n") + "\n"


def render(results):
    """The page of results."""
    entries = {table.name: results["tables"][table.name] for table in ALL if table.name in results["tables"]}
    lines = ["# Benchmarks", "", COMMENT, "", *wrapped(INTRODUCTION), *machine(entries), *summary(entries)]
    for table in ALL:
        lines += section(table, entries.get(table.name))
    return finished(lines)


def render_method(results):
    """The page about the method."""
    return finished(["# How the benchmarks are measured", "", COMMENT, "", *wrapped(METHOD), *explanations(),
                     *programs(results["tables"])])


def write(results, path, method_path):
    for name, text in ((path, render(results)), (method_path, render_method(results))):
        with open(name, "w") as file:
            file.write(text)
