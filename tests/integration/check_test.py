# SPDX-License-Identifier: Apache-2.0
"""`check` reports what `run` would meet on this host, `run` reports stages that pass nothing and its losses, and commands end
quietly when nobody reads their output."""

import os
import random
import signal
import string
import subprocess

from harness import BINARY, PATIENCE, AgentCase, main

NOBODY = 65534


class CheckTest(AgentCase):
    def pipeline(self, sink, source="a.source.self {}", stages=""):
        return f'local a = require "atalaya"\na.pipeline "p" {{ every = "100ms", {source}, {stages} {sink} }}\n'

    def check(self, lua, **options):
        file = self.path("checked.lua")
        with open(file, "w") as out:
            out.write(lua)
        environment = dict(os.environ, STATE_DIRECTORY=self.path("state"), **options.pop("environment", {}))
        return subprocess.run([BINARY, "check", "--quiet", file], capture_output=True, text=True, timeout=PATIENCE, env=environment,
                              **options)

    def assert_warns(self, lua, *parts, **options):
        done = self.check(lua, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_a_sound_file_has_no_warning(self):
        self.assertEqual(self.check(self.pipeline("a.sink.sqlite {}")).stderr, "")
        self.assertFalse(os.path.exists(self.path("state")))  # nothing is made

    def test_folders_that_run_would_miss(self):
        missing = self.path("missing")
        self.assert_warns(self.pipeline(f'a.sink.file {{ path = "{missing}/out" }}'), f"path: the folder {missing} does not exist")
        self.assert_warns(self.pipeline(f'a.sink.sqlite {{ path = "{missing}/db" }}'), f"path: the folder {missing} does not exist")
        with open(self.path("file"), "w"):
            pass
        spool = f'a.sink.http {{ url = "http://127.0.0.1:1/", spool = {{ dir = "{self.path("file")}/spool" }} }}'
        self.assert_warns(self.pipeline(spool), "spool.dir: " + self.path("file") + ": is not a folder")

    def test_permissions_of_the_user(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to become another user")
        os.chmod(self.folder, 0o755)
        lua = self.pipeline(f'a.sink.file {{ path = "{self.path("out")}" }}')
        self.check(lua)
        try:
            done = subprocess.run([BINARY, "check", "--quiet", self.path("checked.lua")], capture_output=True, text=True, user=NOBODY,
                                  group=NOBODY, extra_groups=[], env=dict(os.environ, STATE_DIRECTORY=self.path("state")))
        except PermissionError:
            self.skipTest("nobody may not run " + BINARY)
        self.assertIn(f"path: {self.folder}: this user cannot write it", done.stderr)

    def test_the_process_that_has_a_lock_is_named(self):
        db, out, spool = self.path("held.db"), self.path("held.jsonl"), self.path("held")
        sinks = (f'a.sink.sqlite {{ path = "{db}" }}, a.sink.file {{ path = "{out}" }},'
                 f'a.sink.http {{ url = "http://127.0.0.1:1/", spool = {{ dir = "{spool}" }} }}')
        agent = self.run_agent(self.pipeline(sinks)).running()
        pid = agent.process.pid
        self.assert_warns(self.pipeline(sinks), *(f"{path}: process {pid} writes it" for path in (db, out, spool)))

    def test_no_secret_is_printed(self):
        seed = random.randrange(1 << 32)
        chosen = random.Random(seed)
        for _ in range(20):
            secret = "".join(chosen.choices(string.ascii_letters + string.digits + "+/=-._", k=chosen.randint(12, 60)))
            lua = self.pipeline(f'a.sink.http {{ url = "http://127.0.0.1:1/", bearer = "{secret}" }}')
            done = self.check(lua)
            self.assertNotIn(secret, done.stdout + done.stderr, f"seed {seed}")
            self.assertIn("bearer: ", done.stderr, f"seed {seed}")
        lua = self.pipeline(f'a.sink.http {{ url = "http://127.0.0.1:1/", bearer = "{secret}" }}')
        agent = self.run_agent(lua, "--for", "300ms")
        agent.join()
        self.assertNotIn(secret, agent.errors())

    def test_a_stage_that_passes_nothing_is_reported_once_and_the_losses_at_the_end(self):
        agent = self.run_agent(self.pipeline(f'a.sink.file {{ path = "{self.path("out")}" }}', stages="function(s) return nil end,"))
        agent.wait_line("has passed no sample in 10 windows")
        seen = agent.row("p", "function")["in"]
        agent.wait_status(lambda status: agent.row("p", "function", status)["in"] > 2 * seen)
        agent.stop()
        self.assertEqual(agent.errors().count("has passed no sample"), 1, agent.errors())
        self.assertRegex(agent.errors(), r'stopped: \d+ samples in, 0 delivered, .*; (\d+) dropped: \1 by "p" 2 function \(filtered\)')

    def test_output_that_nobody_reads_ends_quietly(self):
        for words in (["try", "self", "--every", "50ms", "--windows", "1000000"], ["run", self.path("pipeline.lua")], ["plugins"]):
            with open(self.path("pipeline.lua"), "w") as file:
                file.write(self.pipeline("a.sink.stdout {}"))
            process = subprocess.Popen([BINARY, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       env=dict(os.environ, STATE_DIRECTORY=self.folder, RUNTIME_DIRECTORY=self.folder))
            process.stdout.readline()
            process.stdout.close()
            errors = process.stderr.read()
            process.stderr.close()
            self.assertIn(process.wait(PATIENCE), (0, -signal.SIGPIPE), errors)
            self.assertNotRegex(errors, "(?i)broken pipe|not complete|error", words)


if __name__ == "__main__":
    main()
