# SPDX-License-Identifier: Apache-2.0
"""./dev soak page [MINUTES]: two real Chromium browsers on the page of a running agent, live, for 30 minutes by default, through all views.
The memory of the agent, of serve and of both pages must not grow: tests/e2e/growth.mjs has the law, and soak.mjs prints the figures.
With LEAK=1 a page leaks, and the test must fail. Runs of 15 minutes or more begin after the store has packed for the first time, which
takes up to 22 minutes more: the agent needs some MiB for it, and keeps them."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
from harness import main  # noqa: E402
from questions import QueryCase  # noqa: E402

MINUTES = float(os.environ.get("ATALAYA_PAGE_MINUTES", "30"))
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class Page(QueryCase):
    def setUp(self):
        # The agent of QueryCase is not used: this one has the pipelines of a host, with short windows.
        super(QueryCase, self).setUp()
        self.store = self.path("atalaya.db")
        with open(os.path.join(TOP, "pipelines", "host.lua")) as file:
            lua = file.read().replace("a.sink.sqlite {}", f'a.sink.sqlite {{ path = "{self.store}" }}')
        self.agent = self.run_agent(lua.replace('every = "5s"', 'every = "1s"').replace('every = "30s"', 'every = "5s"')).running()
        self.agent.wait_status(lambda status: self.agent.row("processes", "sink sqlite", status)["out"] > 0)

    def wait_until_packed(self):
        until = time.monotonic() + 25 * 60
        with contextlib.closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)) as store:
            while not store.execute("SELECT EXISTS (SELECT 1 FROM chunks) AND NOT EXISTS (SELECT 1 FROM unfinished)").fetchone()[0]:
                self.assertLess(time.monotonic(), until, "the store packs nothing")
                time.sleep(5)  # nothing reports it

    @unittest.skipUnless(shutil.which("node") and shutil.which("chromium"), "needs node and chromium")
    def test_nothing_grows(self):
        if MINUTES >= 15:
            self.wait_until_packed()
        # Each worker keeps the memory of its largest answer: one has had that after the warm-up, several need hours.
        url, server = self.serve_process("--socket", self.agent.socket, "--workers", "1")
        done = subprocess.run(["node", os.path.join(TOP, "tests", "e2e", "soak.mjs")], check=False,
                              env=dict(os.environ, ATALAYA_URL=url, MINUTES=str(MINUTES), SERVER_PID=str(server.pid), AGENT_PID=str(self.agent.process.pid)))
        self.assertEqual(done.returncode, 0, "memory grows, or a page has a problem: see above")
        self.assert_balanced(self.agent.status())


if __name__ == "__main__":
    main()
