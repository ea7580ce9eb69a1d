#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the messages of `atalaya check` on broken pipeline files with the full text.

run.py BINARY PLUGINS [--update] [CASE ...]

A case is cases/NAME.lua and cases/NAME.txt: the lines that check prints on standard error, then its exit status. NAME.lua is absent
for files that are made here: a folder, a pipe, a file that is too large, one that does not exist. NAME.module.lua is for others to
require, as NAME.
"""
import difflib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CASES = pathlib.Path(__file__).resolve().parent / "cases"
SECONDS = 60  # far above the limits of check: it must never hang


def prepare(folder):
    for path in CASES.glob("*.lua"):
        shutil.copy(path, folder / path.name.replace(".module.lua", ".lua"))
    (folder / "folder.lua").mkdir()
    os.mkfifo(folder / "pipe.lua")
    (folder / "too_large.lua").write_bytes(b"-- " + b"x" * (1 << 20) + b"\n")
    (folder / "bytecode.lua").write_bytes(b"\x1bLua\x54\x00\x19\x93\r\n\x1a\n")
    (folder / "unreadable.lua").write_text("")
    (folder / "unreadable.lua").chmod(0)


def check(binary, plugins, folder, name):
    library = pathlib.Path(__file__).resolve().parents[2] / "lua"
    environment = {**os.environ, "ATALAYA_LUA": str(library)}
    for variable in ("ATALAYA_PLUGINS", "ATALAYA_STORE", "ATALAYA_NOT_SET"):
        environment.pop(variable, None)
    environment["STATE_DIRECTORY"] = str(folder)
    done = subprocess.run([binary, "check", name + ".lua", "--plugins", plugins], cwd=folder, env=environment, timeout=SECONDS,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True, errors="replace")
    return done.stderr + f"exit status {done.returncode}\n"


def main():
    arguments = [word for word in sys.argv[1:] if word != "--update"]
    update = "--update" in sys.argv
    binary, plugins = (os.path.abspath(path) for path in arguments[:2])
    made = {"folder", "pipe", "too_large", "bytecode", "missing", "unreadable"}
    written = {path.name.removesuffix(".lua") for path in CASES.glob("*.lua") if not path.name.endswith(".module.lua")}
    names = sorted(written | made)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="atalaya-messages-") as folder:
        prepare(pathlib.Path(folder))
        for name in arguments[2:] or names:
            if name == "unreadable" and os.geteuid() == 0:
                print("unreadable: skipped, root can read everything")
                continue
            given = check(binary, plugins, folder, name)
            expected_path = CASES / (name + ".txt")
            if update:
                expected_path.write_text(given)
                continue
            expected = expected_path.read_text() if expected_path.exists() else ""
            if given != expected:
                failed += 1
                sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), given.splitlines(True),
                                                           name + ": expected", name + ": given"))
    print(f"{len(names)} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
