#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pictures in docs/pictures, made of generated samples: the job of docs/tutorial/slow-job.md, also for README.md, and a program
with phases.

pictures.py --update    makes all of them again: those of commands, and with node and Chromium those of the page
pictures.py             as a test: each picture of a command is the output of that command

A picture of the tutorial has the name of the file that the command above it writes."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import unittest
import xml.dom.minidom

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(TOP, "tests", folder) for folder in ("integration", "e2e")]

import phase_runs  # noqa: E402
import slow_job  # noqa: E402
import terminal  # noqa: E402
from harness import BINARY, PATIENCE, AgentCase, main  # noqa: E402
from questions import DECLARATIONS, http  # noqa: E402

UPDATE = "--update" in sys.argv
FOLDER = os.path.join(TOP, "docs", "pictures")
TUTORIAL = os.path.join(TOP, "docs", "tutorial", "slow-job.md")
BEGIN = 1_763_992_800  # 2025-11-24 14:00 UTC
LINK = re.compile(r"!\[[^]]*\]\(\.\./pictures/slow-job-([\w-]+)\.svg\)")


def commands():
    """The name of each image of the tutorial, and the words of the command that draws it, without the file."""
    with open(TUTORIAL) as file:
        text = file.read()
    for found in LINK.finditer(text):
        end = f" -o {found[1]}.svg"
        lines = [line for line in text[:found.start()].splitlines() if line.startswith("atalaya ") and line.endswith(end)]
        yield found[1], shlex.split(lines[-1].removesuffix(end))[1:]


class Pictures(AgentCase):
    def store_of(self, name, samples):
        store = self.path(name + ".db")
        agent = self.run_agent('local a = require "atalaya"\nlocal sink = a.sink.sqlite { path = "%s", retain = "0s" }\n'
                               'a.pipeline "hub" { a.source.receive { listen = "127.0.0.1:0", store_timeout = "50s" }, sink }\n' % store + DECLARATIONS)
        http("http://" + agent.wait_line("listening on ").split("listening on ")[1].split()[0] + "/api/jsonlines", samples)
        agent.stop()
        return store

    def atalaya(self, store, *words):
        subprocess.run([BINARY, *words], check=True, capture_output=True, timeout=PATIENCE, env=dict(os.environ, ATALAYA_STORE=store, TZ="UTC"))

    def drawn(self, store, *words):
        path = self.path("picture.svg")
        self.atalaya(store, *words, "-o", path)
        with open(path) as file:
            return file.read()

    def check(self, name, text):
        """Writes it with --update."""
        path = os.path.join(FOLDER, name)
        if UPDATE:
            with open(path, "w") as file:
                file.write(text)
        with open(path) as file:
            self.assertEqual(file.read(), text, f"{name} is not the output of its command; run tests/docs/pictures.py --update and look at it")
        xml.dom.minidom.parseString(text)
        self.assertIn("prefers-color-scheme:dark", text)

    def test_pictures_of_the_tutorial(self):
        store = self.store_of("job", slow_job.lines(BEGIN))
        names = []
        for name, words in commands():
            with self.subTest(name):
                self.check(f"slow-job-{name}.svg", self.drawn(store, *words))
                names.append(f"slow-job-{name}.svg")
        self.assertGreater(len(names), 1)
        self.assertEqual(sorted(names), sorted(name for name in os.listdir(FOLDER) if name.startswith("slow-job-")))

    def test_pictures_of_the_readme(self):
        store = self.store_of("job", slow_job.lines(BEGIN))
        self.check("flamegraph.svg", self.drawn(store, "flamegraph", "--by", "name", "--experiment", "before"))
        words = [BINARY, "top", "--at", str(BEGIN + slow_job.RUNS["before"] + 150), "--store", store]  # in the third step: the network
        screen = terminal.first_screen(words, dict(os.environ, TZ="UTC"), rows=12, until="n name", patience=PATIENCE)
        self.check("top.svg", terminal.svg(screen))

    def test_picture_of_phases(self):
        runs = phase_runs.Runs()
        samples = [one for run in runs.normal() for one in run]
        last, when = runs.next(9.5)
        store = self.store_of("phases", phase_runs.lines(samples + last))
        self.atalaya(store, "phases", "learn", "--from", str(phase_runs.START), "--to", str(runs.now))
        self.check("phases.svg", self.drawn(store, "phases", "show", *when))

    @unittest.skipUnless(UPDATE, "they differ with the fonts of a system: only --update makes them")
    def test_pictures_of_the_page(self):
        if not shutil.which("node") or not shutil.which("chromium"):
            self.skipTest("needs node and chromium")
        store = self.store_of("job", slow_job.lines(BEGIN))
        server = subprocess.Popen([BINARY, "serve", "--store", store, "--listen", "127.0.0.1:0", "--socket", self.path("none.sock")], stderr=subprocess.PIPE,
                                  text=True, env=dict(os.environ, TZ="UTC"))
        try:
            url = next(line for line in server.stderr if "serving on" in line).split("serving on ")[1].split()[0]
            subprocess.run(["node", os.path.join(TOP, "tests/e2e/pictures.mjs")], check=True, timeout=5 * PATIENCE,
                           env=dict(os.environ, ATALAYA_URL="http://" + url, BEGIN=str(1000 * BEGIN), FOLDER=FOLDER))
        finally:
            server.terminate()
            server.wait(PATIENCE)
            server.stderr.close()


if __name__ == "__main__":
    sys.argv = [word for word in sys.argv if word != "--update"]
    main()
