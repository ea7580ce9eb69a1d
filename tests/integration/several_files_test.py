# SPDX-License-Identifier: Apache-2.0
"""Several pipeline files in one run: one agent, each value once, messages that name the right file."""

import collections
import itertools
import os
import re
import subprocess
import sys

from harness import BINARY, PATIENCE, Agent, AgentCase, main, so_far

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def shipped(name, every=None, sink=None):
    """A shipped pipeline file, with shorter windows and another sink."""
    with open(os.path.join(TOP, "pipelines", name + ".lua")) as file:
        text = file.read()
    for old, new in (every or {}).items():
        text = text.replace(f'every = "{old}"', f'every = "{new}"')
    return text.replace("a.sink.sqlite {}", sink) if sink else text


class SeveralFiles(AgentCase):
    EVERY = {"5s": "200ms", "20s": "400ms", "30s": "400ms", "60s": "1s"}

    def file(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def run_files(self, *texts):
        """An agent on several files, of which the first is the harness' own."""
        others = [self.file(f"other{number}.lua", text) for number, text in enumerate(texts[1:])]
        return self.run_agent(texts[0], *others)

    def check(self, *paths):
        return subprocess.run([BINARY, "check", "--quiet", *paths], capture_output=True, text=True, timeout=PATIENCE,
                              env=dict(os.environ, STATE_DIRECTORY=self.folder))

    def shipped(self, *names):
        return [os.path.join(TOP, "pipelines", name + ".lua") for name in names]

    def test_shipped_files_with_one_store(self):
        agent = self.run_files(*(shipped(name, self.EVERY) for name in ("host", "profile", "jvm"))).running()
        names = {"host", "processes", "self", "profile", "jvm"}
        agent.wait_status(lambda status: agent.row("host", "sink sqlite", status)["out"] > 0
                          and agent.row("processes", "sink sqlite", status)["out"] > 0)
        status = agent.status()
        self.assert_balanced(status)
        self.assertEqual({row["pipeline"] for row in status["ledger"]}, names)
        sinks = {row["component"] for row in status["ledger"] if row["type"] == "sink"}
        self.assertEqual(sinks, {"sink sqlite", "sink file"})  # one store, not "sink sqlite 2"
        sources = collections.Counter(row["pipeline"] for row in status["ledger"] if row["type"] == "source")
        self.assertEqual(set(sources.values()), {1})
        for path in (agent.file, self.path("other0.lua"), self.path("other1.lua")):
            self.assertIn(path, status["file"])
        self.assertEqual(agent.stop(), 0, agent.errors())

    def test_each_value_of_the_host_is_collected_once_per_window(self):
        out = self.path("values.jsonl")
        sink = f'a.sink.file {{ path = "{out}" }}'
        agent = self.run_files(*(shipped(name, self.EVERY, sink) for name in ("host", "profile", "hardware", "alerts"))).running()
        agent.wait_status(lambda status: min(agent.row(name, "sink file", status)["out"] for name in ("host", "processes")) > 200)
        self.assertEqual(agent.stop(), 0, agent.errors())
        # A start time identifies a process: source jvm reports it as well, of a JVM that another test runs.
        values = collections.Counter(
            (point["metric"], point["timestamp"], tuple(sorted(point["tags"].items()))) for point in so_far(out)
            if point.get("metric", "").startswith(("sys.", "proc.")) and point["metric"] != "proc.start.time")
        self.assertIn("sys.mem.total", {metric for metric, _, _ in values})
        self.assertIn("proc.mem.resident", {metric for metric, _, _ in values})
        self.assertEqual([key for key, count in values.items() if count > 1], [])

    def test_shipped_files_report_the_same_usage_alone_and_together(self):
        """A file that read the processes itself, with other tags, would store their CPU time again, as other series."""
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        self.addCleanup(busy.wait)
        self.addCleanup(busy.kill)
        single = ("host", "traffic", "power", "containers", "phases", "slow-job")
        together = [("host", name) for name in single[1:]] + [("host", "profile", "traffic"), single]
        for names in [(name,) for name in single] + together:
            out = self.path("-".join(names) + ".jsonl")
            sink = f'a.sink.file {{ path = "{out}", format = "samples" }}'
            agent = self.run_files(*(shipped(name, self.EVERY, sink) for name in names)).running()

            def samples():
                return [sample for sample in so_far(out)
                        if sample["tags"].get("pid") == str(busy.pid) and "proc.cpu.user" in sample["fields"]]

            agent.wait_status(lambda _: len({sample["time"] for sample in samples()}) >= 10)
            self.assertEqual(agent.stop(), 0, agent.errors())
            found = samples()
            self.assertEqual(set(collections.Counter(sample["time"] for sample in found).values()), {1}, names)
            host = collections.Counter(sample["time"] for sample in so_far(out) if "sys.mem.total" in sample["fields"])
            self.assertEqual(set(host.values()), {1}, names)

    def test_one_run_collects_what_separate_runs_do(self):
        """Two files read one log by a pipeline that they share, and another log each by a pipeline of their own."""
        lines = 300
        for name in ("shared", "a", "b"):
            self.file(name + ".log", "".join(f"{name}{number % 7} = {number}\n" for number in range(lines)))

        def text(name, folder):
            return f"""
                local a = require "atalaya"
                local out = a.sink.file {{ path = "{folder}/{name}.jsonl" }}
                a.pipeline "shared" {{ a.source.btrace {{ path = "{self.path('shared.log')}", poll = "20ms" }}, out }}
                a.pipeline "{name}" {{ a.source.btrace {{ path = "{self.path(name + '.log')}", poll = "20ms" }}, out }}"""

        def collected(folder, *names):
            os.mkdir(folder)
            others = [self.file(f"{folder}/{name}.lua", text(name, folder)) for name in names[1:]]
            agent = Agent(folder, text(names[0], folder), *others)
            self.agents.append(agent)
            agent.running()
            for name in names:
                agent.wait_status(lambda _: len(self.numbers(f"{folder}/{name}.jsonl")) >= 2 * lines)
            self.assertEqual(agent.stop(), 0, agent.errors())
            return {name: sorted((point["metric"], point["value"]) for point in self.numbers(f"{folder}/{name}.jsonl")) for name in names}

        apart = {**collected(self.path("only-a"), "a"), **collected(self.path("only-b"), "b")}
        together = collected(self.path("both"), "a", "b")
        self.assertEqual(len(apart["a"]), 2 * lines)
        self.assertEqual(together, apart)

    @staticmethod
    def numbers(path):
        """The values of the logs, without those about the source."""
        return [point for point in so_far(path) if re.fullmatch(r"btrace\.(shared|a|b)\d", point["metric"])]

    def test_the_common_pipelines_are_equal_in_all_files_and_in_that_of_the_service(self):
        names = ("host", "alerts", "profile", "hardware", "network", "traffic")
        service = os.path.join(TOP, "packaging", "atalaya.lua")
        for paths in (self.shipped(*names), [service, *self.shipped(*names)], [service, *self.shipped("aggressive")]):
            done = self.check(*paths)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("stored twice", done.stderr)
        # No file writes them again.
        for path in sorted(os.listdir(os.path.join(TOP, "pipelines"))):
            with open(os.path.join(TOP, "pipelines", path)) as file:
                text = file.read()
            self.assertFalse('tags = { "container", "unit", "job" }' in text, path)
            self.assertEqual(text.count("a.source.self {}"), 0, path)

    def test_a_mistake_in_a_common_pipeline_has_the_line_of_the_file(self):
        head = 'local a = require "atalaya"\nlocal common = require "atalaya.common"\n'
        for line, error in (('common.processes { every = "5 parsecs", a.sink.stdout {} }', r'3: pipeline "processes": .*every'),
                            ('common.host { evry = "5s", a.sink.stdout {} }', r'3: pipeline "host": .*"evry"'),
                            ('common.self { every = "30s" }', r'3: pipeline "self": '),
                            ('common.host "5s"', r'3: common\.host takes a table, such as \{ every = "5s", a\.sink\.sqlite \{\} \}')):
            path = self.file("wrong.lua", head + line)
            done = self.check(path)
            self.assertEqual(done.returncode, 2, line)
            self.assertRegex(done.stderr, "(?m)^" + re.escape(path) + ":" + error)

    def test_an_error_in_the_second_file_names_that_file(self):
        good = self.file("good.lua", shipped("host"))
        bad = self.file("bad.lua", shipped("network").replace("a.source.net", "a.source.nte"))
        done = self.check(good, bad)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, rf'^{bad}:\d+: pipeline "network": source "nte" is not known; did you mean "net"')
        self.assertNotIn(good, done.stderr)
        done = subprocess.run([BINARY, "run", good, bad], capture_output=True, text=True, timeout=PATIENCE,
                              env=dict(os.environ, STATE_DIRECTORY=self.folder))
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{bad}:", done.stderr)

    def test_pipelines_of_one_name_that_differ(self):
        host, = self.shipped("host")
        other = self.file("other.lua", 'local a = require "atalaya"\na.pipeline "host" { every = "5s", a.source.proc {}, a.sink.stdout {} }\n')
        done = self.check(host, other)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, rf'{other}:\d+: pipeline "host": {host}:\d+ has another pipeline of this name: source "proc" has other')

    def test_shipped_files_that_belong_together(self):
        """Nothing is collected twice by the combinations that the documentation names."""
        together = ("host", "profile", "traffic", "job", "histories", "jvm-profile")
        sets = [names for count in range(2, len(together) + 1) for names in itertools.combinations(together, count)]
        more = ("power", "containers", "phases", "slow-job")
        sets += itertools.combinations(("host", "profile", *more), 2)
        for names in (*sets, ("host", "network", "traffic"), ("host", "alerts", "traffic"), ("host", "slow-job")):
            done = self.check(*self.shipped(*names))
            self.assertEqual((done.returncode, done.stderr), (0, ""), names)
        service = os.path.join(TOP, "packaging", "atalaya.lua")
        for first in (*self.shipped("host"), service):
            done = self.check(first, *self.shipped("profile", "jvm", "network", "hardware", "btrace", "regions", "alerts"))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        again = self.file("again.lua", 'local a = require "atalaya"\na.pipeline "again" { every = "5s", a.source.proc {}, a.sink.sqlite {} }\n')
        done = self.check(*self.shipped("host"), again)
        self.assertIn("values that both collect are stored twice", done.stderr)

    def test_a_reload_reads_all_files(self):
        def text(name, every="100ms"):
            return f"""
                local a = require "atalaya"
                a.pipeline "{name}" {{ every = "{every}", a.source.self {{}}, a.sink.file {{ path = "{self.path(name)}.jsonl" }} }}"""

        agent = self.run_files(text("first"), text("second")).running()
        agent.wait_status(lambda status: min(agent.row(name, "sink file", status)["out"] for name in ("first", "second")) > 0)
        self.file("other0.lua", text("second").replace("self {}", "slef {}"))
        agent.reload()
        line = agent.wait_line('source "slef" is not known')
        self.assertIn(self.path("other0.lua") + ":3: ", line)
        agent.wait_line("the old files run on")
        before = agent.row("second", "sink file")["out"]
        agent.wait_status(lambda status: agent.row("second", "sink file", status)["out"] > before)
        self.file("other0.lua", text("third"))
        agent.reload()
        agent.wait_line("reloaded " + agent.file + " " + self.path("other0.lua"))
        agent.wait_status(lambda status: agent.row("third", "sink file", status)["out"] > 0)
        first = agent.row("first", "sink file")
        self.assertGreater(first["out"], before)  # untouched: its counters continue
        self.assertEqual(agent.stop(), 0, agent.errors())


if __name__ == "__main__":
    main()
