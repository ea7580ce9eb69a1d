# SPDX-License-Identifier: Apache-2.0
"""Line coverage by folder, of a build with --coverage whose tests have run: coverage.py BUILD [FILE-PREFIX...]. With prefixes, such as
core/delivery, the lines of each file there that no test ran. Needs gcov, which comes with the compiler, and nothing else."""

import collections
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOAL = {"core": 90, "core/delivery": 90}  # % of lines; below it this ends with 1
AT_ONCE = 50  # object files a call of gcov


def reports(build):
    """Report of gcov for each object file. Those that no test ran count too: their lines are all uncovered."""
    notes = [os.path.join(folder, name) for folder, _, names in os.walk(build) for name in names if name.endswith(".gcno")]
    for begin in range(0, len(notes), AT_ONCE):
        said = subprocess.run(["gcov", "--json-format", "--stdout", *notes[begin:begin + AT_ONCE]], capture_output=True, text=True, check=True, cwd=build)
        for line in said.stdout.splitlines():
            yield json.loads(line)


def lines_by_file(build):
    """File -> line -> how often it ran, in all programs together (a header is in many)."""
    files = collections.defaultdict(collections.Counter)
    for report in reports(build):
        for file in report["files"]:
            path = file["file"]  # from the tree's root, which -ffile-prefix-map took away
            if not path.startswith(("core/", "plugins/")):
                continue
            for line in file["lines"]:
                files[path][line["line_number"]] += line["count"]
    return files


def share(files, prefix):
    counts = [count for path, lines in files.items() if path.startswith(prefix + "/") for count in lines.values()]
    return sum(count > 0 for count in counts), len(counts)


def print_uncovered(files, prefixes):
    for path in sorted(path for path in files if path.startswith(tuple(prefixes))):
        missing = sorted(line for line, count in files[path].items() if count == 0)
        print(f"{path}: {len(missing)} of {len(files[path])}: {' '.join(map(str, missing))}")


def main():
    files = lines_by_file(os.path.abspath(sys.argv[1]))
    if sys.argv[2:]:
        return print_uncovered(files, sys.argv[2:])
    folders = {os.path.dirname(path) for path in files} | {"core", "plugins"}
    short = []
    for folder in sorted(folders):
        ran, lines = share(files, folder)
        if lines == 0:
            continue
        percent = 100 * ran / lines
        print(f"{percent:5.1f} %  {ran:6} of {lines:6}  {folder}")
        if percent < GOAL.get(folder, 0):
            short.append(f"{folder} has {percent:.1f} % of {GOAL[folder]}")
    if short:
        sys.exit("coverage: " + ", ".join(short))


if __name__ == "__main__":
    main()
