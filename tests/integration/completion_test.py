# SPDX-License-Identifier: Apache-2.0
"""Completion in a real bash on a terminal: names that the store has are offered, and never run."""

import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import time
import unittest

from harness import BINARY, PATIENCE, AgentCase, main

BINARY = os.path.abspath(BINARY)
NAMES = ("java", "two words", "$(touch pwned)", "`touch pwned`", "a;touch pwned", "it's", "-rf", "*")


class Shell:
    """A bash with completion. `words` reads the words of a line after all completions of its last word were inserted."""

    def __init__(self, folder, environment):
        script = os.path.join(folder, "completion.bash")
        with open(script, "w") as file:
            file.write(subprocess.run([BINARY, "help", "bash"], capture_output=True, text=True, check=True).stdout)
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            path = os.path.dirname(BINARY) + ":" + os.environ["PATH"]
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"],
                       {**os.environ, "PATH": path, "ATALAYA_COMPLETION_TIMEOUT": str(PATIENCE), "PS1": "", "TERM": "dumb",
                        "HISTFILE": "", "INPUTRC": "/dev/null", **environment})
        self.number = 0
        self.run(f"stty -echo columns 20000; bind 'set enable-bracketed-paste off'; bind 'set completion-query-items 0'; . {script}; "
                 "args() { printf 'ARG<%s>' \"$@\"; echo; }")

    def send(self, text):
        os.write(self.terminal, text.encode())

    def read_until(self, pattern):
        seen, until = "", time.monotonic() + PATIENCE
        while not (found := re.search(pattern, seen, re.DOTALL)):
            ready, _, _ = select.select([self.terminal], [], [], until - time.monotonic())
            if not ready:
                raise AssertionError(f"no {pattern} in {seen!r}")
            seen += os.read(self.terminal, 65536).decode(errors="replace")
        return found

    def run(self, command):
        self.number += 1
        self.send(f"{command}; echo ready$(({self.number}))X\n")
        return self.read_until(rf"(.*)ready{self.number}X")[1]

    def words(self, line):
        """M-* inserts all completions; the line then becomes the arguments of a function that prints them."""
        self.number += 1
        self.send(f"{line}\x1b*\x01args \x05; echo ready$(({self.number}))X\n")
        text = self.read_until(rf"(.*)ready{self.number}X")[1]
        return re.findall(r"ARG<(.*?)>(?=ARG<|\r|\n|$)", text)

    def completions(self, line):
        """The last words, without those that the line has already, unless it is one of them that was completed."""
        count = len(line.split(" ")) - 1
        return self.words(line)[count:]

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


@unittest.skipUnless(shutil.which("bash"), "needs bash")
class Completion(AgentCase):
    def setUp(self):
        super().setUp()
        self.store = self.path("store.db")
        listed = ", ".join("'" + name.replace("'", "\\'") + "'" for name in NAMES)
        agent = self.run_agent(f"""
            local a = require "atalaya"
            local names, last = {{ {listed} }}, 0
            a.pipeline "self" {{ every = "100ms", a.source.self {{}},
              function(s) last = last % #names + 1; s.tags.process = names[last]; return s end,
              a.sink.sqlite {{ path = "{self.store}" }} }}""").running()
        agent.wait_status(lambda status: agent.row("self", "sink sqlite", status)["out"] >= len(NAMES))
        self.assertEqual(agent.stop(), 0, agent.errors())
        subprocess.run([BINARY, "experiment", "start", "nightly sort", "--store", self.store], check=True, capture_output=True)
        self.shell = self.start({"ATALAYA_STORE": self.store})

    def start(self, environment):
        shell = Shell(self.folder, environment)
        self.addCleanup(shell.end)
        return shell

    def names(self, *command, member):
        done = subprocess.run([BINARY, *command, "--format", "json", "--store", self.store], capture_output=True, text=True, check=True)
        return sorted(row[member] for row in json.loads(done.stdout))

    def test_metrics(self):
        metrics = [name for name in self.names("metrics", member="metric") if name.startswith("self.")]
        self.assertGreater(len(metrics), 1)
        self.assertEqual(sorted(self.shell.completions("atalaya query --metric self.")), metrics)
        self.assertEqual(sorted(self.shell.completions("atalaya metrics self.")), metrics)
        self.assertEqual(sorted(self.shell.completions("atalaya plot --top 3 --metric self.")), metrics)

    def test_the_store_of_the_line_counts(self):
        shell = self.start({"ATALAYA_STORE": "/missing/store.db"})
        self.assertEqual(shell.completions("atalaya query --metric self."), ["self."])
        self.assertGreater(len(shell.completions(f"atalaya query --store {self.store} --metric self.")), 1)

    def test_names_of_processes_are_quoted_and_never_run(self):
        # As one argument each; only the characters that JSON escapes would be missing.
        self.assertEqual(sorted(self.shell.completions("atalaya flamegraph --process ")), sorted(NAMES))
        self.assertFalse(os.path.exists(self.path("pwned")))

    def test_tags(self):
        keys = self.names("tags", member="tag")
        self.assertIn("process", keys)
        self.assertEqual(self.shell.completions("atalaya query --tag proc"), ["process="])
        self.assertEqual(self.shell.completions("atalaya query --tag process=ja"), ["process=java"])
        self.assertEqual(self.shell.completions("atalaya query --group-by host,proc"), ["host,process"])

    def test_experiments_stores_components_words(self):
        self.assertEqual(self.shell.completions("atalaya report --experiment nig"), ["nightly sort"])
        self.assertEqual(self.shell.completions("atalaya experiment show nig"), ["nightly sort"])
        self.assertEqual(sorted(self.shell.completions("atalaya experiment s")), ["show", "start"])
        self.assertEqual(self.shell.completions("atalaya query --store st"), ["store.db"])
        self.assertEqual(self.shell.completions("atalaya try pow"), ["power"])
        self.assertEqual(self.shell.completions("atalaya try sq"), ["sq"])  # a sink
        self.assertEqual(self.shell.completions("atalaya plugins sqli"), ["sqlite"])
        self.assertEqual(self.shell.completions("atalaya query --format j"), ["json"])
        self.assertIn("--metric", self.shell.completions("atalaya query --m"))
        self.assertEqual(sorted(self.shell.completions("atalaya pl")), ["place", "plot", "plugins"])

    def test_pipeline_files(self):
        os.mkdir(self.path("pipes"))
        for name in ("pipes/own.lua", "pipes/other.txt"):
            open(self.path(name), "w").close()
        self.assertEqual(self.shell.completions("atalaya run pipes/o"), ["pipes/own.lua"])
        self.assertEqual(self.shell.completions("atalaya check pipeline.lua pipes/o"), ["pipes/own.lua"])
        # Bundled ones, next to the binary of an installation.
        for folder in ("prefix/bin", "prefix/share/atalaya/pipelines"):
            os.makedirs(self.path(folder))
        os.symlink(BINARY, self.path("prefix/bin/atalaya"))
        bundled = self.path("prefix/share/atalaya/pipelines/profile.lua")
        open(bundled, "w").close()
        shell = self.start({})
        self.assertEqual(shell.completions("prefix/bin/atalaya run prof"), [os.path.realpath(bundled)])

    def test_a_store_that_does_not_reply_does_not_hang_the_shell(self):
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen()  # connections are accepted by the kernel, and never answered
            shell = self.start({"ATALAYA_COMPLETION_TIMEOUT": "1", "ATALAYA_STORE": f"clickhouse:http://127.0.0.1:{server.getsockname()[1]}/db"})
            self.assertEqual(shell.completions("atalaya query --metric self."), ["self."])


if __name__ == "__main__":
    main()
