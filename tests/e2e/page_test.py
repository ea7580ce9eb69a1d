# SPDX-License-Identifier: Apache-2.0
"""The page of `serve` in a real Chromium: its controls by clicks and keys, without an error on the console and without a request to another
host. page_test.mjs has the steps for any store, data_test.mjs those for generated data, hostile_test.mjs those for hostile names in a real store,
and questions_test.mjs answers the ten questions of docs/tutorial/slow-job.md."""

import json
import os
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))

import slow_job  # noqa: E402
from harness import main  # noqa: E402
from questions import QueryCase, http  # noqa: E402

WEB = "plugins/commands/serve/web"
NODE = shutil.which("node")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
LIMIT = 800  # seconds, on a busy machine
EVIL = '<img src=x onerror="document.title=1"><script>document.title=2</script>\'"&'


def run(case, *files, **environment):
    done = subprocess.run([NODE, "--test", "--test-reporter=spec", *files], env=dict(os.environ, CHROMIUM=CHROMIUM, **environment), capture_output=True, text=True,
                          timeout=LIMIT)
    case.assertEqual(done.returncode, 0, done.stdout[-8000:] + done.stderr[-2000:])


class Live(QueryCase):
    """The agent of QueryCase, which also reads this host."""

    def setUp(self):
        super().setUp()
        base = self.agents[0]
        with open(base.file) as file:
            lua = file.read()
        base.write(lua + 'a.pipeline "host" { every = "1s", a.source.proc { processes = true, host = true }, sink }\n')
        base.reload()
        base.wait_line("reloaded")
        now = int(time.time())
        lines = []
        for second in range(now - 120, now + 1, 5):
            tags = {"host": EVIL, "process": EVIL, "pid": "1"}
            lines.append({"kind": "metrics", "time": second * 10**9, "duration": 5 * 10**9, "tags": tags,
                          "fields": {"proc.cpu.user": 50.0, "proc.cpu.kernel": 1.0, "proc.mem.resident": 10.0}})
            lines.append({"kind": "stack", "time": second * 10**9, "duration": 5 * 10**9, "text": f"{EVIL.replace(';', ':')};b",
                          "tags": dict(tags, profile="cpu"), "fields": {"profile.samples": 9}})
        http(self.hub + "/api/jsonlines", "".join(json.dumps(line) + "\n" for line in lines).encode())
        base.wait_status(lambda status: any(row["pipeline"] == "host" and row["type"] == "sink" and row["out"] > 0 for row in status["ledger"]))

    def test_every_view(self):
        run(self, "tests/e2e/page_test.mjs", ATALAYA_URL=self.serve("--socket", self.agents[0].socket))


class Stored(QueryCase):
    """Data of senders, in the store of an agent that runs."""

    def test_hostile_names(self):
        run(self, "tests/e2e/hostile_test.mjs", HUB=self.hub, ATALAYA_URL=self.serve("--socket", self.agents[0].socket))

    def test_ten_questions(self):
        begin = int(time.time()) - slow_job.SECONDS
        http(self.hub + "/api/jsonlines", slow_job.lines(begin))
        run(self, "tests/e2e/questions_test.mjs", BEGIN=str(1000 * begin), ATALAYA_URL=self.serve("--socket", self.agents[0].socket))


class Generated(unittest.TestCase):
    def test_every_view(self):
        run(self, "tests/e2e/page_test.mjs", "tests/e2e/data_test.mjs")

    def test_modules_and_types(self):
        run(self, WEB + "/test/modules.test.mjs")
        done = subprocess.run([NODE, "node_modules/typescript/bin/tsc", "--noEmit"], cwd=WEB, capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    missing = [what for what, found in (("node", NODE), ("chromium", CHROMIUM), ("esbuild", shutil.which("esbuild")),
                                        ("playwright-core (npm ci in " + WEB + ")", os.path.isdir(WEB + "/node_modules/playwright-core")))
               if not found]
    if missing:
        print("skipped; missing: " + ", ".join(missing))
        sys.exit(77)
    main()
