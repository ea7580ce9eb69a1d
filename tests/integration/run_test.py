# SPDX-License-Identifier: Apache-2.0
"""The agent as an operator meets it: start, status, reload, faults, the end."""

import glob
import json
import os
import re
import resource
import signal
import socket
import sqlite3
import subprocess
import time
import unittest

from harness import BINARY, PATIENCE, AgentCase, main, points

PIPELINE = """
local a = require "atalaya"
a.pipeline "all" {
  every = "100ms",
  a.source.proc { %s },
  %s
  %s
}
"""


def pipeline(sink, stages="", source="host = false, cgroups = false"):
    return PIPELINE % (source, stages, sink)


def is_whole(path):
    """Whether its last line is, if it has one: a first batch may be larger than the disk."""
    with open(path, "rb") as file:
        text = file.read()
    return not text or text.endswith(b"\n")


class Running(AgentCase):
    def test_processes_of_the_host_reach_file_and_store(self):
        out, store = self.path("out.jsonl"), self.path("store.db")
        agent = self.run_agent(pipeline(f'a.sink.file {{ path = "{out}" }}, a.sink.sqlite {{ path = "{store}" }}')).running()
        # The baseline has no rates; the windows after it have.
        first = agent.wait_status(lambda status: agent.row("all", "sink file", status)["out"] > 0)
        enough = 4 * agent.row("all", "sink file", first)["out"]
        agent.wait_status(lambda status: agent.row("all", "sink file", status)["out"] > enough)
        self.assertEqual(agent.stop(), 0, agent.errors())
        mine = [point for point in points(out) if point["tags"].get("pid") == str(os.getpid())]
        names = {point["metric"] for point in mine}
        for name in ("proc.cpu.user", "proc.cpu.kernel", "proc.mem.resident", "proc.mem.virtual"):
            self.assertIn(name, names)
        self.assertTrue(all(isinstance(point["value"], (int, float)) for point in mine))
        self.assertTrue(all(point["tags"]["host"] for point in mine))
        with sqlite3.connect(store) as database:
            stored, = database.execute("select count(*) from points where pid = ?", (os.getpid(),)).fetchone()
            check, = database.execute("pragma integrity_check").fetchone()
        self.assertEqual(stored, len(mine))
        self.assertEqual(check, "ok")

    def test_first_gauges_come_at_once(self):
        agent = self.run_agent(pipeline(f'a.sink.file {{ path = "{self.path("out")}" }}').replace("100ms", "1h")).running()
        agent.wait_status(lambda status: agent.row("all", "sink file", status)["out"] > 0)
        agent.stop()
        self.assertIn("proc.mem.resident", {point["metric"] for point in points(self.path("out"))})
        self.assertNotIn("proc.cpu.user", {point["metric"] for point in points(self.path("out"))})

    def test_the_ledger_balances_at_any_time(self):
        lua = pipeline(f'a.sink.file {{ path = "{self.path("a")}", when_full = "drop_oldest", queue = "64 KiB" }}') + f"""
        a.pipeline "sums" {{
          a.from "all",
          a.translate.aggregate {{ by = {{ "process" }} }},
          a.filter.top {{ by = "proc.mem.resident", k = 5 }},
          function(s) if s.tags.process == "other" then return nil end return s end,
          a.sink.sqlite {{ path = "{self.path("b.db")}" }},
        }}"""
        agent = self.run_agent(lua).running()
        agent.wait_status(lambda status: agent.row("sums", "sink sqlite", status)["out"] > 20)
        for number in range(50):
            self.assert_balanced(agent.status())
            if number % 10 == 5:
                agent.write(lua + f"\n-- {number}")
                agent.reload()
        agent.wait_line("reloaded", 5)
        self.assert_balanced(agent.status())
        self.assertEqual(agent.stop(), 0, agent.errors())
        self.assertEqual(len(points(self.path("a"))) > 0, True)

    def test_a_bad_file_on_reload_leaves_the_old_one_running(self):
        good = pipeline(f'a.sink.file {{ path = "{self.path("out")}" }}')
        agent = self.run_agent(good).running()
        agent.write(good.replace("a.source.proc", "a.source.prco"))
        agent.reload()
        agent.wait_line('source "prco" is not known; did you mean "proc"?')
        agent.wait_line("the old file runs on")
        before = agent.row("all", "sink file")["out"]
        agent.wait_status(lambda status: agent.row("all", "sink file", status)["out"] > before)
        agent.write(good.replace(self.path("out"), "/proc/not/there"))
        agent.reload()
        agent.wait_line("the old file runs on", 2)
        before = agent.row("all", "sink file")["out"]
        agent.wait_status(lambda status: agent.row("all", "sink file", status)["out"] > before)
        self.assertEqual(agent.stop(), 0, agent.errors())

    def test_it_ends_after_the_given_time(self):
        agent = self.run_agent(pipeline(f'a.sink.file {{ path = "{self.path("out")}" }}'), "--for", "500ms")
        self.assertEqual(agent.join(), 0, agent.errors())
        self.assertGreater(len(points(self.path("out"))), 0)

    def test_a_stop_within_the_first_window_is_reported_once(self):
        lua = pipeline(f'a.sink.file {{ path = "{self.path("out")}" }}')
        agent = self.run_agent(lua.replace("100ms", "1h")).running()
        self.assertEqual(agent.stop(), 0, agent.errors())
        self.assertEqual(agent.errors().count('pipeline "all": stopped before its first window of 1h ended'), 1, agent.errors())
        agent = self.run_agent(lua, "--for", "2s")
        self.assertEqual(agent.join(), 0, agent.errors())
        self.assertNotIn("first window", agent.errors())

    def test_an_agent_whose_sources_cannot_work_here_ends_with_status_1(self):
        agent = self.run_agent(pipeline(f'a.sink.file {{ path = "{self.path("out")}" }}', source='root = "/nonexistent"'))
        self.assertEqual(agent.join(), 1, agent.errors())

    def test_the_default_pipeline_needs_no_folder_to_be_there(self):
        state = self.path("made/by/itself")
        environment = dict(os.environ, STATE_DIRECTORY=state, RUNTIME_DIRECTORY=self.folder)
        ran = subprocess.run([BINARY, "run", "pipelines/host.lua", "--for", "1s"], env=environment, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertTrue(os.path.exists(state + "/atalaya.db"))
        self.assertTrue(os.path.exists(state + "/processes.jsonl"))

    def test_status_does_not_trust_a_folder_that_others_may_write_in(self):
        shared = self.path("shared")
        os.mkdir(shared)
        os.chmod(shared, 0o777)
        asked = subprocess.run([BINARY, "status", "--socket", shared + "/status.sock"], capture_output=True, text=True)
        self.assertEqual(asked.returncode, 1)
        self.assertIn("others may write in it", asked.stderr)

    def test_status_without_an_agent_reports_it(self):
        asked = subprocess.run([BINARY, "status", "--socket", self.path("nobody")], capture_output=True, text=True)
        self.assertEqual(asked.returncode, 1)
        self.assertIn("no agent answers at", asked.stderr)

    def test_a_second_agent_on_the_same_socket_runs_without_status(self):
        first = self.run_agent(pipeline(f'a.sink.file {{ path = "{self.path("one")}" }}')).running()
        second = self.run_agent(pipeline(f'a.sink.file {{ path = "{self.path("two")}" }}'))
        second.wait_line("another agent uses this socket")
        self.assertEqual(second.stop(), 0)
        self.assert_balanced(first.status())
        self.assertEqual(first.stop(), 0)


class Faults(AgentCase):
    def test_killed_at_any_moment_it_leaves_whole_lines_and_a_sound_store(self):
        out, store = self.path("out.jsonl"), self.path("store.db")
        lua = pipeline(f'a.sink.file {{ path = "{out}" }}, a.sink.sqlite {{ path = "{store}" }}').replace("100ms", "100ms")
        delivered = 0
        for round_number in range(5):
            agent = self.run_agent(lua).running()
            status = agent.wait_status(lambda status: agent.row("all", "sink sqlite", status)["out"] > 50 * round_number)
            delivered += agent.row("all", "sink sqlite", status)["out"]
            agent.kill()
        with open(out, "ab") as file:
            file.write(b'{"metric":"torn')
        agent = self.run_agent(lua).running()
        agent.wait_status(lambda status: agent.row("all", "sink file", status)["out"] > 0)
        self.assertEqual(agent.stop(), 0, agent.errors())
        points(out)  # every line parses: the torn one is gone
        with sqlite3.connect(store) as database:
            self.assertEqual(database.execute("pragma integrity_check").fetchone()[0], "ok")
            samples, = database.execute("select count(*) from (select distinct time, host, pid, process, tags from points)").fetchone()
        self.assertGreaterEqual(samples, delivered)

    def test_unwritable_outputs_are_errors_at_the_start_with_file_and_line(self):
        folder = self.path("folder")
        os.mkdir(folder)
        foreign = self.path("foreign.db")
        with open(foreign, "w") as file:
            file.write("this is no database, and it is longer than a header of one hundred bytes would be, to be sure of it " * 3)
        for sink in (f'a.sink.file {{ path = "{folder}" }}', 'a.sink.file { path = "/proc/nowhere/x" }',
                     f'a.sink.sqlite {{ path = "{foreign}" }}', f'a.sink.sqlite {{ path = "{folder}" }}'):
            with self.subTest(sink=sink):
                agent = self.run_agent(pipeline(sink))
                self.assertEqual(agent.join(), 1, agent.errors())
                self.assertRegex(agent.errors(), r"pipeline\.lua:\d+: sink \"(file|sqlite)\": ")
        with open(foreign) as file:
            self.assertTrue(file.read().startswith("this is no database"))

    def test_a_function_that_never_ends_costs_its_samples_and_nothing_else(self):
        lua = pipeline(f'a.sink.file {{ path = "{self.path("bad")}" }}', "function(s) while true do end end,") + f"""
        a.pipeline "good" {{
          every = "100ms",
          a.source.proc {{ host = false, cgroups = false }},
          a.sink.file {{ path = "{self.path("good")}" }},
        }}"""
        agent = self.run_agent(lua).running()
        status = agent.wait_status(lambda status: agent.row("good", "sink file", status)["out"] > 200
                                   and agent.row("all", "function", status)["dropped"] > 0)
        self.assert_balanced(status)
        self.assertGreater(agent.row("all", "function", status)["reasons"]["function failed"], 0)
        self.assertIn("correct the Lua function", agent.wait_line("samples dropped (function failed)"))
        self.assertEqual(agent.stop(), 0, agent.errors())
        self.assertIn("pipeline.lua:", agent.errors())

    @unittest.skipIf(os.geteuid() != 0, "mounting a small tmpfs needs root")
    def test_a_full_disk_loses_nothing_that_is_accepted_and_recovers(self):
        small = self.path("small")
        os.mkdir(small)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small], check=True)
        try:
            filler = os.path.join(small, "filler")
            with open(filler, "wb") as file:
                file.write(b"x" * 900_000)
            out = os.path.join(small, "out.jsonl")
            agent = self.run_agent(pipeline(f'a.sink.file {{ path = "{out}", queue = "1 MiB" }}')).running()
            status = agent.wait_status(lambda status: agent.row("all", "sink file", status)["errors"] > 0
                                       and agent.row("all", "proc", status)["gaps"] > 0)
            self.assert_balanced(status)
            self.assertEqual(agent.row("all", "sink file", status)["dropped"], 0)
            agent.wait_status(lambda _: is_whole(out))  # but for the moment of a try
            subprocess.run(["mount", "-o", "remount,size=200m", small], check=True)
            before = agent.row("all", "sink file")["out"]
            agent.wait_status(lambda status: agent.row("all", "sink file", status)["out"] > before)
            self.assertEqual(agent.stop(), 0, agent.errors())
            stamps = {(point["timestamp"], tuple(sorted(point["tags"].items())), point["metric"]) for point in points(out)}
            self.assertEqual(len(stamps), len(points(out)), "a point came twice")
        finally:
            subprocess.run(["umount", "-l", small], check=True)

    @unittest.skipIf(os.geteuid() != 0, "a read-only mount needs root")
    def test_a_read_only_database_is_an_error_at_the_start(self):
        store = self.path("store.db")
        agent = self.run_agent(pipeline(f'a.sink.sqlite {{ path = "{store}" }}')).running()
        agent.wait_status(lambda status: agent.row("all", "sink sqlite", status)["out"] > 0)
        agent.stop()
        frozen = self.path("frozen")
        os.mkdir(frozen)
        subprocess.run(["mount", "--bind", "-o", "ro", self.folder, frozen], check=True)
        try:
            subprocess.run(["mount", "-o", "remount,ro,bind", frozen], check=True)
            agent = self.run_agent(pipeline(f'a.sink.sqlite {{ path = "{frozen}/store.db" }}'))
            self.assertEqual(agent.join(), 1)
            self.assertRegex(agent.errors(), r"pipeline\.lua:\d+: sink \"sqlite\": .*frozen/store\.db")
        finally:
            subprocess.run(["umount", "-l", frozen], check=True)

    def test_stopped_for_a_while_it_continues_with_true_rates_and_a_gap(self):
        out = self.path("out.jsonl")
        agent = self.run_agent(pipeline(f'a.sink.file {{ path = "{out}", format = "samples" }}')).running()
        agent.wait_status(lambda status: agent.row("all", "sink file", status)["out"] > 100)
        before = agent.row("all", "proc")["gaps"]
        agent.process.send_signal(signal.SIGSTOP)
        # The agent's own clock has to pass several windows: use CPU time for them, as no event marks them.
        until = time.monotonic() + 1
        while time.monotonic() < until:
            pass
        agent.process.send_signal(signal.SIGCONT)
        status = agent.wait_status(lambda status: agent.row("all", "proc", status)["gaps"] >= before + 8)
        self.assert_balanced(status)
        agent.stop()
        with open(out) as file:
            samples = [json.loads(line) for line in file]
        self.assertTrue(any(sample["duration"] >= 900_000_000 for sample in samples))
        cores = os.cpu_count()
        for sample in samples:
            for name in ("proc.cpu.user", "proc.cpu.kernel"):
                value = sample["fields"].get(name, 0)
                self.assertGreaterEqual(value, 0)
                # One tick of 10 ms in a window of 100 ms is 10 %.
                self.assertLessEqual(value, 100 * cores + 20, sample)

    def test_few_descriptors_are_enough(self):
        out = self.path("out.jsonl")
        agent = self.run_agent(pipeline(f'a.sink.file {{ path = "{out}" }}'),
                               preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))).running()
        agent.wait_status(lambda status: agent.row("all", "sink file", status)["out"] > 200)
        self.assertEqual(agent.stop(), 0, agent.errors())


    def test_only_its_user_may_write_its_files_whatever_the_umask_is(self):
        for name in ("state", "run"):
            os.mkdir(self.path(name), 0o700)
        agent = self.run_agent(f"""
        local a = require "atalaya"
        a.pipeline "all" {{ every = "200ms", a.source.proc {{ processes = false }},
          a.translate.alerts {{ rules = {{ {{ name = "r", metric = "sys.mem.free", above = 0 }} }} }},
          a.sink.file {{ path = "{self.path("state/out.jsonl")}" }},
          a.sink.sqlite {{ path = "{self.path("state/atalaya.db")}" }},
          a.sink.file {{ path = "{self.path("state/spooled.jsonl")}", spool = {{ dir = "{self.path("state/spools/one")}", min_free = "0 B" }} }} }}
        a.pipeline "recorded" {{ a.from "all", a.filter.recorder {{}}, a.sink.file {{ path = "{self.path("state/recorded.jsonl")}" }} }}""",
                               preexec=lambda: os.umask(0),
                               environment={"STATE_DIRECTORY": self.path("state"), "RUNTIME_DIRECTORY": self.path("run")}).running()
        agent.wait_status(lambda status: all(row["out"] > 0 for row in status["ledger"] if row["type"] == "sink" and row["pipeline"] == "all"))
        others = [(oct(os.lstat(path).st_mode), path) for folder in ("state", "run") for above, folders, files in os.walk(self.path(folder))
                  for path in (os.path.join(above, name) for name in folders + files) if os.lstat(path).st_mode & 0o022]
        writable = [entry for entry in others if not entry[1].endswith("status.sock")]  # the group may query the status
        self.assertEqual(writable, [])
        self.assertEqual(agent.stop(), 0, agent.errors())

    def test_all_processes_at_a_limit_of_256_files_with_two_sources_and_counters(self):
        sleepers = subprocess.Popen(["sh", "-c", "for i in $(seq 300); do sleep 600 & done; echo done; wait"], stdout=subprocess.PIPE,
                                    text=True, start_new_session=True)
        self.addCleanup(sleepers.stdout.close)
        self.addCleanup(sleepers.wait)
        self.addCleanup(os.killpg, sleepers.pid, signal.SIGKILL)
        self.assertEqual(sleepers.stdout.readline(), "done\n")
        children = set(subprocess.run(["pgrep", "-P", str(sleepers.pid)], check=True, capture_output=True, text=True).stdout.split())
        self.assertEqual(len(children), 300)
        outs = [self.path(f"out{i}.jsonl") for i in range(2)]
        source = 'a.source.proc { backend = "procfs", host = false, cgroups = false }, a.source.counters { groups = { "software" }, processes = { "sleep" }, max_processes = 300 }'
        files = "\n".join(f'a.pipeline "p{i}" {{ every = "500ms", {source}, a.sink.file {{ path = "{out}", format = "samples" }} }}' for i, out in enumerate(outs))
        agent = self.run_agent('local a = require "atalaya"\n' + files,
                               preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))).running()
        for i in range(2):
            agent.wait_status(lambda status: agent.row(f"p{i}", "sink file", status)["out"] > 2000)
        self.assertEqual(agent.stop(), 0, agent.errors())
        for out in outs:
            with open(out) as file:
                samples = [json.loads(line) for line in file]
            windows = {}
            for sample in samples:
                if "proc.mem.resident" in sample["fields"]:
                    windows.setdefault(sample["time"], set()).add(sample["tags"].get("pid"))
            self.assertGreater(len(windows), 3)
            for pids in list(windows.values())[:-1]:
                self.assertEqual(children - pids, set())


class Commands(AgentCase):
    def test_half_an_answer_is_no_status(self):
        path = self.path("status.sock")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen()
            for answer in (b"", b'{"version":"0.1.0","led'):
                with self.subTest(answer):
                    asks = subprocess.Popen([BINARY, "status", "--socket", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                    client, _ = server.accept()
                    with client:
                        client.recv(100)
                        client.sendall(answer)
                    out, errors = asks.communicate()
                    self.assertEqual((asks.returncode, out), (1, ""), errors)
                    self.assertIn("the answer of the agent is incomplete", errors)

    def test_wrong_use_is_status_2_and_names_the_word(self):
        for words, text in ((["rnu"], '"rnu" is not a command; did you mean "run"?\n'), (["run"], "missing argument: FILE"), (["test", "x", "y"], 'unexpected argument "y"'),
                            (["run", "--fro", "1s", "x"], 'unknown option "--fro"; did you mean "--for"?\n'), (["run", "x", "--for"], "--for needs a value"),
                            (["run", "x", "--for", "5"], "--for"), (["run", "x", "--log-level", "all"], "--log-level"), (["try", "prco"], 'did you mean "proc"?'),
                            (["try", "stdout"], '"stdout" is a sink; only a source can be tried'),
                            (["try", "power", "model.idle=4"], 'write all members of a record in one word: model=idle=4,NAME=VALUE'),
                            (["try", "uprobe", "regions={ { name = 'x' }"], "regions: '}' expected"),
                            (["try", "uprobe", "regions={ { name = 'x' } }"], 'regions[1]: required parameter "binary" is missing'),
                            (["try", "uprobe", "regions={ print }"], 'regions[1]: expected a table, got a function'),
                            (["try", "proc", "hots=false"], 'did you mean "host"?'), (["status", "--format", "xml"], "table, json")):
            with self.subTest(words=words):
                asked = subprocess.run([BINARY, *words], capture_output=True, text=True, timeout=PATIENCE)
                self.assertEqual(asked.returncode, 2, asked.stderr)
                self.assertIn(text, asked.stderr)

    def check_width(self, text):
        self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])

    def test_help_has_groups_and_three_examples_and_fits_80_columns(self):
        overview = subprocess.run([BINARY, "--help"], capture_output=True, text=True, check=True).stdout
        self.check_width(overview)
        self.assertEqual(re.findall(r"^([A-Z][a-z ]+)$", overview, re.M), ["Look", "Find the reason", "Collect", "Share", "Manage", "Help"])
        self.assertRegex(overview, r"\nCollect\n  run         Run ")
        self.assertRegex(overview, r"\nManage\n(.+\n)*  spool       List, verify")
        names = re.findall(r"^  ([a-z]+)  ", overview, re.M)
        self.assertLessEqual({"run", "check", "test", "try", "plugins", "status", "doctor", "spool"}, set(names))
        for command in names:
            text = subprocess.run([BINARY, command, "--help"], capture_output=True, text=True, check=True).stdout
            self.check_width(text)
            self.assertEqual(len(re.findall("^  atalaya " + command, text, re.M)), 3, text)
            self.assertEqual(subprocess.run([BINARY, "help", command], capture_output=True, text=True, check=True).stdout, text)

    def test_options_that_commands_share_are_described_once(self):
        shared = subprocess.run([BINARY, "help", "options"], capture_output=True, text=True, check=True).stdout
        self.check_width(shared)
        for command in ("query", "report", "graph"):
            text = subprocess.run([BINARY, command, "--help"], capture_output=True, text=True, check=True).stdout
            for option in ("--store STORE", "--from TIME", "--to TIME", "--experiment NAME", "--workload NAME"):
                self.assertRegex(shared, rf"(?m)^  {option} ")
                self.assertRegex(text, rf"(?m)^  (.*, )?{option.split()[0]}(,|$)")
                self.assertNotRegex(text, rf"(?m)^  {option}  ")

    def test_the_manual_page_and_completion_agree(self):
        page = subprocess.run([BINARY, "help", "man"], capture_output=True, text=True, check=True).stdout.replace("\\-", "-")
        for words, offered in (("",), "doctor"), (("",), "run"), (("--", "doctor", "--"), "--drop-in"):
            lines = subprocess.run([BINARY, "complete", *words], capture_output=True, text=True, check=True).stdout.splitlines()
            word, summary = next(line for line in lines if line.startswith(offered + "\t")).split("\t")
            self.assertIn(word, page)
            self.assertIn(summary, page)
        self.assertEqual(subprocess.run([BINARY, "help", "html"], capture_output=True).returncode, 2)

    def test_doctor_names_every_component_and_its_missing_needs(self):
        asked = subprocess.run([BINARY, "doctor", "--format", "json"], capture_output=True, text=True)
        features = {feature["feature"]: feature for feature in json.loads(asked.stdout)}
        listed = json.loads(subprocess.run([BINARY, "plugins", "--format", "json"], capture_output=True, text=True, check=True).stdout)
        self.assertLessEqual({component["name"] for component in listed}, set(features))
        self.assertEqual(features["self"]["state"], "on")
        for feature in features.values():
            for need in feature["needs"]:
                self.assertEqual(need["remedy"] == "", need["met"] == "yes", need)
        drop_in = subprocess.run([BINARY, "doctor", "--drop-in", "proc-bpf"], capture_output=True, text=True, check=True).stdout
        self.assertIn("\nAmbientCapabilities=CAP_BPF\n", drop_in)
        unknown = subprocess.run([BINARY, "doctor", "--drop-in", "proc-bfp"], capture_output=True, text=True)
        self.assertEqual(unknown.returncode, 2)
        self.assertIn('did you mean "proc-bpf"?', unknown.stderr)

    def test_try_shows_a_source(self):
        shown = subprocess.run([BINARY, "try", "proc", "host=false", "cgroups=false", "--every", "100ms", "--windows", "2", "--format", "json"],
                               capture_output=True, text=True, check=True).stdout
        samples = [json.loads(line) for line in shown.splitlines()]
        mine = [sample for sample in samples if sample["tags"].get("pid") == str(os.getpid())]
        self.assertGreaterEqual(len(mine), 3)  # the baseline and two windows
        self.assertIn("proc.cpu.user", mine[-1]["fields"])

    def test_check_reports_errors_in_parameters_and_nothing_keeps_running_at_a_first_start(self):
        levels = 'rollup = { { after = "2d", every = "7s" }, { after = "3d", every = "1h" } }'
        bad = pipeline(f'a.sink.sqlite {{ {levels} }}, a.sink.sqlite {{ path = "{self.path("b.db")}", {levels} }}')
        with open(self.path("bad.lua"), "w") as file:
            file.write(bad)
        for command, lines in ("check", 2), ("run", 1):
            done = subprocess.run([BINARY, command, self.path("bad.lua")], capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(done.stdout, "")
            self.assertEqual(done.stderr.count('parameter "rollup[2].every": 1h is not twice, three times, ... the 7s'), lines, done.stderr)
            self.assertIn(f'{self.path("bad.lua")}:', done.stderr)
            self.assertNotIn("runs on", done.stderr)

    def test_shipped_pipelines_and_the_examples_of_the_documents_are_valid(self):
        files = sorted(glob.glob("pipelines/*.lua"))
        self.assertTrue(files)
        for document in ("README.md", "docs/how-to/names.md", "docs/reference/pipelines.md"):
            with open(document) as file:
                blocks = [block.split("```")[0] for block in file.read().split("```lua\n")[1:]]
            self.assertTrue(blocks)
            for number, block in enumerate(blocks):
                files.append(self.path(f"{os.path.basename(document)}-{number}.lua"))
                with open(files[-1], "w") as file:
                    file.write(block)
        for path in files:
            checked = subprocess.run([BINARY, "check", path], capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, checked.stderr)
        tested = subprocess.run([BINARY, "test", files[-1]], capture_output=True, text=True)
        self.assertEqual(tested.returncode, 0, tested.stdout + tested.stderr)

    def test_no_shipped_pipeline_hooks_the_path_of_data(self):
        """Hooks on each send and receive cost some per cent of small messages: only on request."""
        for path in sorted(glob.glob("pipelines/*.lua")):
            graph = subprocess.run([BINARY, "check", path], capture_output=True, text=True).stdout
            for hook in ("udp = true", 'attribution = "syscall"', 'mode = "events"'):
                self.assertNotIn(hook, graph, path)


if __name__ == "__main__":
    main()
