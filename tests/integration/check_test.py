# SPDX-License-Identifier: Apache-2.0
"""`check` reports what `run` would meet on this host, `run` reports stages that pass nothing and its losses, and commands end
quietly when nobody reads their output."""

import json
import os
import random
import re
import shlex
import shutil
import signal
import string
import subprocess
import time

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

    def test_two_servers_with_the_same_path_of_their_metrics(self):
        two = ", ".join(f'a.sink.prometheus {{ listen = "127.0.0.1:{port}" }}' for port in (9464, 9465))
        done = self.check(self.pipeline(two))
        self.assertEqual((done.returncode, done.stderr), (0, ""))

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

    def test_a_filter_for_rare_spans_that_passes_nothing_is_not_reported(self):
        stages = 'a.filter.match { kind = "span", alert = "*" },'
        agent = self.run_agent(self.pipeline(f'a.sink.file {{ path = "{self.path("out")}" }}', stages=stages)).running()
        agent.wait_status(lambda status: agent.row("p", "match", status)["reasons"].get("filtered", 0) > 0)
        seen = agent.row("p", "match")["in"]
        agent.wait_status(lambda status: agent.row("p", "match", status)["in"] > 15 * seen)
        agent.stop()
        self.assertNotIn("has passed no sample", agent.errors())

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


class TerminalTest(AgentCase):
    """Tables for people: 80 columns, what is wrong first."""

    def assert_fits(self, text):
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def on_terminal(self, *words):
        done = subprocess.run(["script", "-qec", "stty cols 80 rows 24; " + shlex.join([BINARY, *words]), "/dev/null"],
                              capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
        return done.stdout.replace("\r", "")

    def test_doctor(self):
        done = subprocess.run([BINARY, "doctor"], capture_output=True, text=True, timeout=PATIENCE)
        self.assert_fits(done.stdout)
        self.assertRegex(done.stdout, r"(?m)^on: \d+$")
        on = done.stdout[done.stdout.index("\non: "):] if "\non: " in done.stdout else done.stdout
        self.assertNotIn("(source)", on)  # features that are on need no explanation
        features = json.loads(subprocess.run([BINARY, "doctor", "--format", "json"], capture_output=True, text=True).stdout)
        off = [feature["feature"] for feature in features if feature["state"] == "off"]
        for name in off:
            self.assertIn(f"\n  {name} (", done.stdout[:done.stdout.index("on: ")])
        if os.geteuid() == 0:
            self.assertNotIn("run as root", done.stdout)

    def test_status(self):
        agent = self.run_agent('local a = require "atalaya"\na.pipeline "p" { every = "100ms", a.source.self {}, '
                               'a.filter.value { ["agent.cpu.percent"] = 1e9, absent = "pass" }, '
                               'a.sink.http { url = "http://127.0.0.1:1/", queue = "64 KiB", when_full = "drop_newest" } }\n').running()
        agent.wait_status(lambda status: agent.row("p", "sink http", status)["errors"] > 0)
        shown = subprocess.run([BINARY, "status", "--socket", agent.socket], capture_output=True, text=True, timeout=PATIENCE).stdout
        self.assertRegex(shown, r"ledger: balanced\n! p: sink http: \d+ errors")
        self.assert_fits(shown.split("\n", 1)[1])  # the first line has the path of the file

    def test_processes_of_try(self):
        shown = self.on_terminal("try", "proc", "host=false", "exited=false", "--windows", "1")
        self.assert_fits(shown)
        tables = shown.split("proc by pid, process")
        self.assertGreater(len(tables), 1, shown)
        self.assertRegex(tables[-1], r"\d+ more rows")
        self.assertRegex(tables[-1], r"\b20\d\d-\d\d-\d\d \d\d:\d\d:\d\d(\+\d\d:\d\d| UTC)")
        everything = subprocess.run([BINARY, "try", "proc", "host=false", "exited=false", "--windows", "1"], capture_output=True,
                                    text=True, timeout=PATIENCE).stdout.split("proc by pid, process")[-1].splitlines()[1:]
        columns = everything[0].split()
        state, parent, user, kernel = (columns.index(name) - len(columns) for name in ("state", "parent.pid", "cpu.user", "cpu.kernel"))
        rows = [line for line in everything[1:] if re.search(r" \d\d:\d\d:\d\d[+-]\d\d:\d\d\b", line)]
        self.assertTrue(rows, everything[:5])
        # A start time is two words.
        start = columns.index("start.time") - len(columns)
        cell = lambda line, at: line.split()[at if at > start else at - 1]
        self.assertEqual([line for line in rows if not re.fullmatch("[A-Z]", cell(line, state))], [])
        kernel_threads = [cell(line, parent) == "2" for line in rows]
        self.assertEqual(kernel_threads, sorted(kernel_threads))
        used = [float(cell(line, user)) + float(cell(line, kernel)) for line, thread in zip(rows, kernel_threads)
                if not thread and cell(line, user) != "-"]
        self.assertEqual(used, sorted(used, reverse=True))


class InstalledTest(AgentCase):
    """Plugins that others put into the folder of Atalaya's own plugins are isolated, because no manifest lists them."""

    def test_a_foreign_plugin_crashes_without_the_agent(self):
        plugins = os.path.join(os.path.dirname(BINARY), "plugins")
        installed = self.path("prefix/lib/atalaya")
        os.makedirs(installed)
        os.makedirs(self.path("prefix/bin"))
        binary = shutil.copy(BINARY, self.path("prefix/bin/atalaya"))
        for name in ("source_self.so", "sink_file.so", "atalaya.manifest"):
            shutil.copy(os.path.join(plugins, name), installed)
        shutil.copy(os.path.join(CrashTest.PLUGINS, "test_faulty.so"), installed)
        lua = (f'local a = require "atalaya"\na.pipeline "p" {{ every = "100ms", a.source.faulty {{ trouble = "{self.path("trouble")}" }}, '
               f'a.source.self {{}}, a.sink.file {{ path = "{self.path("out")}" }} }}\n')
        with open(self.path("trouble"), "w") as file:
            file.write("segfault")
        agent = self.run_agent(lua, binary=binary).running()
        agent.wait_status(lambda status: agent.row("p", "source faulty", status)["restarts"] > 0)
        own = subprocess.run(["pgrep", "-c", "-P", str(agent.status()["launcher"])], capture_output=True, text=True).stdout
        self.assertLessEqual(int(own), 1, "own plugins run in the agent")
        self.assertEqual(agent.stop(), 0)


class CrashTest(AgentCase):
    """A crash or a hang of a component in the agent's own process names it."""

    PLUGINS = os.environ.get("ATALAYA_TEST_PLUGINS", "build/release/tests/plugins")

    def faulty(self, how):
        agent = self.run_agent(f'local a = require "atalaya"\na.pipeline "p" {{ every = "100ms", a.source.faulty {{ isolate = false, '
                               f'trouble = "{self.path("trouble")}" }}, a.sink.file {{ path = "{self.path("out")}" }} }}\n',
                               "--plugins", self.PLUGINS).running()
        with open(self.path("new"), "w") as file:
            file.write(how)
        os.rename(self.path("new"), self.path("trouble"))
        return agent

    def test_a_crash(self):
        agent = self.faulty("segfault")
        self.assertEqual(agent.join(), -signal.SIGSEGV)
        self.assertIn('pipeline "p": source "faulty": collect crashed (SIGSEGV); isolate = true', agent.errors())

    def test_a_hang(self):
        agent = self.faulty("hang")
        while os.path.exists(self.path("trouble")):  # it takes the file before it hangs
            self.assertIsNone(agent.process.poll())
            time.sleep(0.01)
        agent.stop()
        self.assertIn('pipeline "p": source "faulty": collect hangs', agent.errors())


if __name__ == "__main__":
    main()
