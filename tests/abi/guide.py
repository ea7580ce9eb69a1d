# SPDX-License-Identifier: Apache-2.0
"""Runs every command of docs/tutorial/write-a-plugin.md, in order, against an installed Atalaya; then checks the results.

usage: guide.py SOURCE BUILD. /usr in the commands is a prefix of the test's own."""

import json
import os
import re
import subprocess
import sys
import tempfile

SOURCE, BUILD = (os.path.abspath(path) for path in sys.argv[1:])
PLUGINS = ("load/build/plugins/load.so", "files/build/plugins/files.so", "uptime/build/plugins/uptime.so")


def install(prefix):
    for component in ("atalaya", "dev"):
        subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix, "--component", component], check=True, stdout=subprocess.DEVNULL)


def commands(prefix):
    with open(os.path.join(SOURCE, "docs/tutorial/write-a-plugin.md")) as file:
        blocks = re.findall(r"(?ms)^```sh\n(.*?)^```", file.read())
    assert len(blocks) >= 5, "the guide has lost its commands"
    return "set -eux\n" + "\n".join(blocks).replace("/usr/", prefix + "/")


def main():
    os.umask(0o022)
    with tempfile.TemporaryDirectory(prefix="atalaya-guide-") as folder:
        prefix, work = os.path.join(folder, "prefix"), os.path.join(folder, "work")
        os.mkdir(work)
        install(prefix)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ATALAYA")}
        environment.update(PATH=f"{prefix}/bin:{environment['PATH']}", CMAKE_PREFIX_PATH=prefix, CMAKE_COMPILE_WARNING_AS_ERROR="ON",
                           STATE_DIRECTORY=folder, RUNTIME_DIRECTORY=folder)
        ran = subprocess.run(["sh", "-c", commands(prefix)], cwd=work, env=environment, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
        assert ran.returncode == 0, ran.stdout
        for said in ("load; host ", "files; host ", "uptime; host "):  # by try
            assert said in ran.stdout, said + " is not in:\n" + ran.stdout
        assert "FAILED" not in ran.stdout, ran.stdout
        with open(os.path.join(work, "load.jsonl")) as file:
            points = [json.loads(line) for line in file]
        assert points and all(point["metric"] == "load.one" and point["value"] >= 0 for point in points), points
        assert os.path.exists(os.path.join(prefix, "lib/atalaya/load.so")), "not installed"
        subprocess.run([os.path.join(SOURCE, "tests/abi/exports.sh"), *(os.path.join(work, path) for path in PLUGINS)], check=True)


if __name__ == "__main__":
    main()
