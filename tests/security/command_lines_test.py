# SPDX-License-Identifier: Apache-2.0
"""Command lines leave a process only where they are allowed, and without hidden parts: seen in the output of a real agent."""

import json
import os
import subprocess

import harness

SECRET = "S3cret4711"
# The program's name is its name in the kernel; it prints that it has started.
SLEEPER = ["/bin/sh", "-c", "echo ready; read line", "sleeper", "--host", "db", f"--password={SECRET}", f"https://ana:{SECRET}@host/x"]


class CommandLines(harness.AgentCase):
    def setUp(self):
        super().setUp()
        names = {"allowed": "canary-allowed", "other": "canary-other"}
        self.sleepers = []
        for name in names.values():
            link = self.path(name)
            os.symlink("/bin/sh", link)
            process = subprocess.Popen([link, *SLEEPER[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.assertEqual(process.stdout.readline(), b"ready\n")
            self.sleepers.append(process)

    def tearDown(self):
        for process in self.sleepers:
            process.communicate(b"\n")
        super().tearDown()

    def samples(self, options, backend):
        """Samples of both processes in a window, by name; and all delivered samples, as text."""
        out = self.path("out.jsonl")
        if os.path.exists(out):
            os.remove(out)
        agent = self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "p" {{
              every = "1s",
              a.source.proc {{ host = false, cgroups = false, backend = "{backend}", {options} }},
              a.translate.names {{}},
              a.filter.match {{ pid = {{ "{self.sleepers[0].pid}", "{self.sleepers[1].pid}" }} }},
              a.sink.file {{ path = "{out}", format = "jsonlines" }},
            }}""")
        if backend == "bpf":
            with agent.changed:
                agent.changed.wait_for(lambda: any(line is None or "running" in line for line in agent.lines), harness.PATIENCE)
            if "does not work here" in agent.errors():
                self.skipTest(agent.errors())
        agent.running()
        agent.wait_status(lambda status: agent.row("p", "file", status)["out"] >= 2)
        agent.stop()
        with open(out) as file:
            text = file.read()
        found = {}
        for line in text.splitlines():
            sample = json.loads(line)
            found[int(sample["tags"]["pid"])] = sample["tags"]
        self.assertEqual(set(found), {process.pid for process in self.sleepers}, text)
        return [found[process.pid] for process in self.sleepers], text + agent.errors()

    def test_none_by_default(self):
        tags, text = self.samples("", "auto")
        self.assertNotIn("command", tags[0])
        self.assertNotIn(SECRET, text)
        self.assertNotIn("--host", text)

    def allowed(self, backend):
        tags, text = self.samples('command_lines = { allow = { "canary-allowed*" }, redact = { "--host" } }', backend)
        self.assertEqual(tags[0]["command"], f"{self.path('canary-allowed')} -c echo ready; read line sleeper --host *** "
                                             "--password=*** https://***@host/x")
        self.assertNotIn("command", tags[1])
        self.assertNotIn(SECRET, text)

    def test_those_that_are_allowed_without_their_secrets_by_files(self):
        self.allowed("procfs")

    def test_those_that_are_allowed_without_their_secrets_by_the_kernels_iterator(self):
        self.allowed("bpf")

    def test_an_allow_list_is_needed(self):
        agent = self.run_agent("""local a = require "atalaya"
            a.pipeline "p" { every = "1s", a.source.proc { command_lines = {} }, a.sink.stdout {} }""")
        self.assertEqual(agent.join(), 2, agent.errors())
        self.assertIn("allow", agent.errors())


if __name__ == "__main__":
    harness.main()
