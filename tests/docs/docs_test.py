# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of README.md and the pages in docs/: each ```sh block in order, each page in a scratch folder with the pipelines;
each ```lua block, also of the plugins' READMEs, is checked as a pipeline file, or as part of one. A comment before a block changes this:

    <!-- not run: REASON -->                 the block is not run
    <!-- while this runs: COMMAND -->        the agent of that command runs, and has delivered samples, while the block runs

The help of all commands is plain English of at most 80 columns. prose_test.py checks the prose and the links of the pages,
tests/readme_tables.py the generated tables."""

import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

import harness
import style

BINARY = os.path.abspath(harness.BINARY)
# The pages whose commands have a test of their own: under a real systemd, and against an installed package.
ELSEWHERE = {"docs/how-to/operations.md", "docs/tutorial/write-a-plugin.md"}
PAGES = ["README.md", *sorted(glob.glob("docs/*.md") + [page for page in glob.glob("docs/*/*.md") if "/decisions/" not in page])]
BLOCK = re.compile(r"^(?:<!-- (not run|while this runs): ([^\n]*?) -->\n+)?```(sh|lua)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
READMES = sorted(glob.glob("plugins/*/*/README.md"))

# Before single components: each gets a pipeline of its own, as only what is used is checked.
PART_OF_A_FILE = """
local real, count = require "atalaya", 0
local function used(kind, build)
  return setmetatable({}, { __index = function(_, name)
    return function(parameters)
      count = count + 1
      real.pipeline("p" .. count)(build(real[kind][name](parameters)))
    end
  end })
end
local function of(stage) return { every = "1s", real.source.proc {}, stage, real.sink.stdout {} } end
local a = {
  source = used("source", function(source) return { every = "1s", source, real.sink.stdout {} } end),
  translate = used("translate", of), filter = used("filter", of),
  sink = used("sink", function(sink) return { every = "1s", real.source.proc {}, sink } end),
}
"""


class Page:
    """A scratch folder that looks like the tree to the page's commands. The state folder of the pages is one in it."""

    def __init__(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="atalaya-docs-")
        self.folder = os.path.join(self.temporary.name, "tree")
        self.state = os.path.join(self.temporary.name, "state")
        os.mkdir(self.state)
        os.makedirs(os.path.join(self.folder, "build/release"))
        os.makedirs(os.path.join(self.temporary.name, "bin"))
        for place in ("tree/build/release", "bin"):
            os.symlink(BINARY, os.path.join(self.temporary.name, place, "atalaya"))
        for part in ("pipelines", "examples/slow-job"):
            shutil.copytree(part, os.path.join(self.folder, part))
        self.environment = dict(os.environ, STATE_DIRECTORY=self.state, RUNTIME_DIRECTORY=self.state,
                                ATALAYA_LUA=os.path.abspath("lua"),
                                PATH=os.path.join(self.temporary.name, "bin") + ":" + os.environ["PATH"])

    def run(self, script):
        return subprocess.run(["sh", "-e", "-c", script.replace("/var/lib/atalaya", self.state)], cwd=self.folder,
                              env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              timeout=4 * harness.PATIENCE, check=False)  # some hash 2 GB, or run several commands

    def start(self, command):
        """The agent that the block is about, once it has delivered something."""
        agent = subprocess.Popen(["sh", "-c", "exec " + command], cwd=self.folder, env=self.environment,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = []
        reader = threading.Thread(target=lambda: said.extend(agent.stderr))
        reader.start()
        until = time.monotonic() + harness.PATIENCE
        while time.monotonic() < until and agent.poll() is None:
            if self.delivered():
                return agent, reader
        agent.kill()
        agent.wait()
        reader.join()
        raise AssertionError(f"{command} delivered nothing: {''.join(said)}")

    def delivered(self):
        status = self.run("atalaya status --format json")
        return status.returncode == 0 and any(row["type"] == "sink" and row["out"] > 0
                                              for row in json.loads(status.stdout)["ledger"])


class Docs(unittest.TestCase):
    def blocks(self, language, pages):
        for path in pages:
            with open(path) as file:
                text = file.read()
            for found in BLOCK.finditer(text):
                mark, value, kind, body = found.groups()
                if kind == language and mark != "not run":
                    yield path, text.count("\n", 0, found.start(4)) + 1, value if mark else None, body

    def test_commands(self):
        pages, ran = {}, 0
        try:
            for path, line, beside, script in self.blocks("sh", PAGES):
                if path in ELSEWHERE:
                    continue
                if path not in pages:
                    pages[path] = Page()
                page = pages[path]
                with self.subTest(f"{path}:{line}"):
                    agent, reader = page.start(beside) if beside else (None, None)
                    try:
                        done = page.run(script)
                        self.assertEqual(done.returncode, 0, f"{script}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
                        ran += 1
                    finally:
                        if agent:
                            agent.terminate()
                            self.assertEqual(agent.wait(harness.PATIENCE), 0)
                            reader.join()
                            agent.stderr.close()
        finally:
            for page in pages.values():
                page.temporary.cleanup()
        self.assertGreater(ran, 3)

    def test_pipeline_files(self):
        checked = 0
        page = Page()
        self.addCleanup(page.temporary.cleanup)
        for path, line, _, text in self.blocks("lua", PAGES + READMES):
            with self.subTest(f"{path}:{line}"):
                if 'require "atalaya"' not in text:
                    text = PART_OF_A_FILE + text
                with open(os.path.join(page.folder, "page.lua"), "w") as file:
                    file.write(text)
                done = page.run("atalaya check page.lua" + (" && atalaya test page.lua" if "a.test " in text else ""))
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                checked += 1
        self.assertGreater(checked, 3)

    def test_every_page_is_in_the_index(self):
        with open("docs/README.md") as file:
            index = {os.path.normpath(os.path.join("docs", link)) for link in LINK.findall(file.read())}
        for path in PAGES[1:]:
            if path != "docs/README.md":
                self.assertIn(path, index)

    def test_every_pipeline_is_explained(self):
        with open("docs/reference/pipelines.md") as file:
            text = file.read()
        for path in glob.glob("pipelines/*.lua"):
            self.assertIn(f"../../{path}", text)


class Help(unittest.TestCase):
    """`atalaya help` and the help of every command."""

    def texts(self):
        words = [line.split("\t")[0] for line in self.atalaya("complete", "").splitlines()[1:]]
        commands = [word for word in words if word != "help" and not word.startswith("-")]
        self.assertGreater(len(commands), 8)
        yield "atalaya help", self.atalaya("help")
        for command in commands:
            yield f"atalaya {command} --help", self.atalaya(command, "--help")

    def atalaya(self, *words):
        done = subprocess.run([BINARY, *words], capture_output=True, text=True, timeout=harness.PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_help_has_at_most_80_columns(self):
        for name, text in self.texts():
            with self.subTest(name):
                self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])

    def test_help_has_no_banned_phrase(self):
        phrases = style.Phrases()
        for name, text in self.texts():
            with self.subTest(name):
                self.assertEqual(phrases.find(text), [])

    def test_summaries_of_components(self):
        for component in json.loads(self.atalaya("plugins", "--format", "json")):
            summary = component["summary"]
            with self.subTest(f'{component["kind"]} {component["name"]}'):
                self.assertLessEqual(len(summary), 70, summary)
                self.assertEqual(summary[0], summary[0].upper())
                self.assertFalse(summary.endswith("."), summary)


if __name__ == "__main__":
    harness.main()
