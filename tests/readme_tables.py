#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the tables in the plugins' READMEs and in docs/reference/metrics.md equal to the descriptors of the plugins.

readme_tables.py --check|--update ATALAYA [--plugins FOLDER] [README...]

The text between `<!-- generated: atalaya plugins NAME -->` and `<!-- end -->` is the output of that command with
`--format markdown`; after `<!-- generated: metrics -->` it is the table of metrics of each component with metrics.
--check names each README that differs; --update rewrites them.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"(<!-- generated: (?:atalaya plugins ([a-z0-9_/-]+)|metrics) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
METRICS = "### Metrics\n"


def page(command, name):
    return subprocess.run([*command, name, "--format", "markdown"], check=True, stdout=subprocess.PIPE, text=True).stdout


def metrics(command):
    listed = json.loads(subprocess.run([*command, "--format", "json"], check=True, stdout=subprocess.PIPE, text=True).stdout)
    text = ""
    for one in listed:
        before, found, table = page(command, f"{one['kind']}/{one['name']}").partition(METRICS)
        if found:
            text += f"## {one['kind'].capitalize()} `{one['name']}`\n\n{before.partition(chr(10))[0]}.\n\n{table.strip()}\n\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true")
    mode.add_argument("--update", action="store_true")
    parser.add_argument("atalaya", type=pathlib.Path)
    parser.add_argument("--plugins", help="folder of the plugins")
    parser.add_argument("readme", nargs="*", type=pathlib.Path, help="default: plugins/*/*/README.md and docs/**/*.md of the tree")
    arguments = parser.parse_args()

    command = [arguments.atalaya, "plugins"] + (["--plugins", arguments.plugins] if arguments.plugins else [])
    tree = pathlib.Path(__file__).resolve().parent.parent
    readmes = arguments.readme or sorted([*tree.glob("plugins/*/*/README.md"), *tree.glob("docs/**/*.md")])
    blocks, wrong = 0, []
    for readme in readmes:
        text = readme.read_text(encoding="utf-8")
        blocks += len(BLOCK.findall(text))
        wanted = BLOCK.sub(lambda m: m[1] + (page(command, m[2]) if m[2] else metrics(command)) + m[4], text)
        if wanted == text:
            continue
        if arguments.update:
            readme.write_text(wanted, encoding="utf-8")
            print(f"{readme}: updated")
        else:
            wrong.append(readme)
    for readme in wrong:
        print(f"{readme}: differs from the plugin; run tests/readme_tables.py --update {arguments.atalaya}", file=sys.stderr)
    if blocks == 0:
        print("no generated block found in any README", file=sys.stderr)
    return 1 if wrong or blocks == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
