#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over files of the tree, two at a time. A clean result is remembered by content, so a file is analysed once.

usage: tests/tidy.py BUILD [--since COMMIT [--minutes N]]

  --since COMMIT  only files whose code differs from COMMIT: not those that moved or changed in includes and comments only.
                  The files with the most changed lines come first.
  --minutes N     start no analysis after N minutes; the number of files left is reported
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "atalaya-tidy"
KEEP_DAYS = 30
COMMENT = re.compile(r"^\s*//(?!.*NOLINT).*$")


def output(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, **options).stdout


def code(text):
    """The lines that clang-tidy can find something in: no includes, no comment lines, no empty lines."""
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#include") and not COMMENT.match(line)]


def changed_lines(commit):
    """{path: number of code lines that differ from `commit`}, renames followed; files without such lines are left out."""
    changes = {}
    diff = output("git", "diff", "--name-status", "-z", "-M40%", "-l0", "--diff-filter=d", commit, "--", "*.cpp", text=True).split("\0")
    words = iter(diff)
    for status in words:
        if not status:
            break
        old = next(words)
        new = next(words) if status[0] in "RC" else old
        before = [] if status[0] == "A" else code(output("git", "show", f"{commit}:{old}", text=True, errors="replace"))
        after = code(pathlib.Path(new).read_text(errors="replace"))
        lines = len(set(after) - set(before))
        if lines or before != after:
            changes[new] = lines
    return changes


def key(entry, version):
    """A hash of the analyser's input: preprocessed source with comments and macros but without paths, configuration, tool."""
    command = [word for word in shlex.split(entry["command"]) if not word.startswith("-ffile-prefix-map")]
    at = command.index("-o")
    del command[at : at + 2]
    command = ["clang++" if entry["file"].endswith(".cpp") else "clang", *command[1:]]
    source = output(*command, "-w", "-Wno-unknown-warning-option", "-E", "-P", "-C", "-dD", cwd=entry["directory"], stderr=subprocess.DEVNULL)
    flags = " ".join(word for word in command if word.startswith(("-f", "-W", "-std", "-O")))
    text = b"\0".join([version, pathlib.Path(".clang-tidy").read_bytes(), flags.encode(), source])
    return hashlib.sha256(text).hexdigest()


def analyse(entry, version, build, end):
    """None: no time left; else whether the file is clean."""
    if time.monotonic() > end:
        return None
    try:
        mark = CACHE / key(entry, version)
    except subprocess.CalledProcessError:
        mark = None  # clang-tidy reports the reason
    if mark and mark.exists():
        mark.touch()
        return True
    found = subprocess.run(["clang-tidy", "-quiet", "-p", build, entry["file"]], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    sys.stdout.write(found.stdout)
    sys.stdout.flush()
    if found.returncode == 0 and mark:
        mark.touch()
    return found.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--since")
    parser.add_argument("--minutes", type=float, default=24 * 60)
    options = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    for mark in CACHE.iterdir():
        if mark.stat().st_mtime < time.time() - KEEP_DAYS * 86400:
            mark.unlink(missing_ok=True)

    commands = {os.path.relpath(entry["file"]): entry for entry in json.loads((pathlib.Path(options.build) / "compile_commands.json").read_text())}
    if options.since:
        changes = changed_lines(options.since)
        paths = sorted(changes, key=lambda path: -changes[path])
    else:
        paths = output("git", "ls-files", "*.cpp", text=True).split("\n")
    entries = [commands[path] for path in paths if path in commands]

    version = output("clang-tidy", "--version")
    end = time.monotonic() + options.minutes * 60
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda entry: analyse(entry, version, options.build, end), entries))
    left = results.count(None)
    print(f"tidy: {len(results) - left} files, {results.count(False)} with findings" + (f"; no time for {left}" if left else ""), file=sys.stderr)
    return 1 if False in results else 0


sys.exit(main())
