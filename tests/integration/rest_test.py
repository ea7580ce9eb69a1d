# SPDX-License-Identifier: Apache-2.0
"""Idle processes with one sample per minute: every command and interface has the memory of each second, as a table of seconds has it. And
what the agent holds is in the store when it stops or loads its file again."""

import json
import os
import random
import signal
import subprocess
import sys
import time

from harness import AgentCase, main, so_far
from isolation_test import children
from questions import DECLARATIONS, QueryCase, http

STEP, SECONDS, BATCH = 5, 1800, 60
SECOND = 10**9
MEMORY = "proc.mem.resident"
AGGREGATES = {"zimsum": sum, "mimmin": min, "mimmax": max}
FUNCTIONS = {"avg": lambda known: sum(known) / len(known), "min": min, "max": max, "first": lambda known: known[0],
             "last": lambda known: known[-1]}


class EveryInterface(QueryCase):
    def setUp(self):
        super(QueryCase, self).setUp()
        self.store, self.each = self.path("merged.db"), self.path("each.db")
        agent = self.run_agent(
            'local a = require "atalaya"\n'
            f'local sink = a.sink.sqlite {{ path = "{self.store}", retain = "0s" }}\n'
            'a.pipeline "hub" { a.source.receive { listen = "127.0.0.1:0", store_timeout = "50s" }, '
            f'a.sink.sqlite {{ path = "{self.each}", retain = "0s" }} }}\n'
            'a.pipeline "merged" { a.from "hub", a.filter.value { rest = "1m", ["proc.cpu.user"] = 0.1 }, sink }\n' + DECLARATIONS)
        self.hub = "http://" + agent.wait_line("listening on ").split("listening on ")[1].split()[0]
        self.seed = int(os.environ.get("ATALAYA_SEED", random.randrange(1 << 30)))
        self.chosen = random.Random(self.seed)
        self.begin = int(time.time()) // 3600 * 3600 - 3600
        self.seconds = {}  # (process, pid): {second: MiB}
        self.fill()
        self.serve_url = self.serve()

    def fill(self):
        chosen = self.chosen
        lives = {}
        for pid in range(1, 11):
            born = chosen.randrange(SECONDS // 2) // STEP
            lives[str(pid)] = [f"p{pid % 3}", born, chosen.randrange(born + 10, SECONDS // STEP + 1), chosen.randrange(1, 400) / 4]
        lives["99"] = ["other", 0, SECONDS // STEP, 7.0]  # always busy: each window is in the store, and no interval ends after it
        for first in range(0, SECONDS // STEP, BATCH // STEP):
            samples = []
            for window in range(first + 1, first + BATCH // STEP + 1):
                for pid, life in lives.items():
                    process, born, died, _ = life
                    if not born < window <= died or (pid != "99" and chosen.random() < 0.02):
                        continue
                    if chosen.random() < 0.05:
                        life[3] = chosen.randrange(1, 400) / 4
                    samples.append({"kind": "metrics", "time": (self.begin + window * STEP) * SECOND, "duration": STEP * SECOND,
                                    "tags": {"host": "h", "process": process, "pid": pid},
                                    "fields": {"proc.cpu.user": 50.0 if pid == "99" or chosen.random() < 0.05 else 0.0, MEMORY: life[3]}})
                    for second in range((window - 1) * STEP + 1, window * STEP + 1):
                        self.seconds.setdefault((process, pid), {})[second] = life[3]
            http(self.hub + "/api/jsonlines", "\n".join(map(json.dumps, samples)).encode())

    def known(self, process, pid, begin, end):
        seconds = self.seconds[process, pid]
        return [seconds[second] for second in range(begin + 1, end + 1) if second in seconds]

    def assert_near(self, got, wanted, message):
        message = f"seed {self.seed}: {message}"
        self.assertEqual(got.keys(), wanted.keys(), message)
        for key, value in wanted.items():
            self.assertAlmostEqual(got[key], value, delta=1e-9 * max(1, abs(value)), msg=(message, key))

    def stretch(self):
        begin = self.chosen.randrange(0, SECONDS - 300)
        return begin, self.chosen.randrange(begin + 120, SECONDS + 1)

    def expected(self, begin, end, every, function, aggregate):
        """{(process, pid or "", second): value}"""
        wanted = {}
        first = (self.begin + begin) // every * every - self.begin
        for at in range(first, end, every):
            low, high = max(at, begin), min(at + every, end)
            members = {}
            for process, pid in self.seconds:
                known = self.known(process, pid, low, high)
                integral = not function or (function == "avg" and aggregate == "zimsum")
                if known:
                    value = sum(known) / (high - low) if integral else FUNCTIONS[function](known)
                    members.setdefault((process, pid if aggregate == "none" else ""), []).append(value)
            for (process, pid), values in members.items():
                wanted[process, pid, at + every] = values[0] if aggregate == "none" else AGGREGATES[aggregate](values)
        return wanted

    def test_queries(self):
        for _ in range(25):
            begin, end = self.stretch()
            every, aggregate = self.chosen.choice((7, 60, 300, 999)), self.chosen.choice(("none", *AGGREGATES))
            for function in ("", *FUNCTIONS):
                wanted = self.expected(begin, end, every, function, aggregate)
                words = ["query", "--metric", MEMORY, "--from", str(self.begin + begin), "--to", str(self.begin + end), "--aggregate", aggregate,
                         "--every", f"{every}s" + (f"-{function}" if function else ""), "--group-by", "process", "--format", "json"]
                for store in (self.each, self.store):
                    got = {(answer["tags"]["process"], answer["tags"]["pid"] if aggregate == "none" else "", at // 1000 - self.begin): value
                           for answer in json.loads(self.atalaya(*words, "--store", store)) for at, value in answer["dps"]}
                    self.assert_near(got, wanted, (store, words))

    def test_reports_and_top(self):
        for _ in range(10):
            begin, end = self.stretch()
            wanted = {}
            for name in {process for process, _ in self.seconds}:
                levels = [sum(members) for second in range(begin, end)
                          if (members := [value for process, pid in self.seconds if process == name
                                          for value in self.known(process, pid, second, second + 1)])]
                if levels:
                    wanted |= {(name, "sum"): sum(levels) / 3600, (name, "avg"): sum(levels) / (end - begin), (name, "min"): min(levels),
                               (name, "max"): max(levels)}
            rows = json.loads(self.atalaya("report", "--by", "process", "--metric", MEMORY, "--from", str(self.begin + begin), "--to",
                                           str(self.begin + end), "--format", "json"))
            self.assert_near({(row["process"], column): row[column] for row in rows for column in ("sum", "avg", "min", "max")}, wanted,
                             (begin, end))
            at = end // STEP * STEP
            shown = json.loads(self.atalaya("top", "--at", str(self.begin + at), "--once", "--format", "json"))
            self.assertEqual((shown["time"], shown["window"]), ((self.begin + at) * 1000, STEP))
            self.assert_near({row["pid"]: row["memory"] for row in shown["processes"]},
                             {pid: known[0] * 2**20 for (process, pid) in self.seconds if (known := self.known(process, pid, at - STEP, at))},
                             ("top", at))

    def prometheus(self, path, **arguments):
        return self.get(self.serve_url, "/api/v1/" + path, **arguments)["data"]["result"]

    def test_prometheus(self):
        for _ in range(15):
            begin, end = self.stretch()
            length = end - begin
            for function, of in FUNCTIONS.items():
                if function == "first":
                    continue
                got = {series["metric"]["pid"]: float(series["value"][1]) for series in self.prometheus(
                    "query", query=f"{function}_over_time(proc_mem_resident[{length}s])", time=self.begin + end)}
                self.assert_near(got, {pid: of(known) for process, pid in self.seconds if (known := self.known(process, pid, begin, end))},
                                 (function, begin, end))
            now = {series["metric"]["pid"]: float(series["value"][1])
                   for series in self.prometheus("query", query="proc_mem_resident", time=self.begin + end)}
            for process, pid in self.seconds:
                if present := self.known(process, pid, end - 1, end):
                    self.assertEqual(now[pid], present[0], (self.seed, pid, end))
            step = 60
            got = {(series["metric"]["process"], int(at) - self.begin): float(value) for series in self.prometheus(
                "query_range", query="sum by (process) (proc_mem_resident)", start=self.begin + begin + step, end=self.begin + end, step=step)
                for at, value in series["values"]}
            wanted = {}
            for at in range(begin + step, end + 1, step):
                for process, pid in self.seconds:
                    if known := self.known(process, pid, at - step, at):
                        wanted[process, at] = wanted.get((process, at), 0) + sum(known) / step
            self.assert_near(got, wanted, ("query_range", begin, end))

    def test_the_page(self):
        for _ in range(10):
            begin, end = self.stretch()
            times = {"from": (self.begin + begin) * 1000, "to": (self.begin + end) * 1000}
            table = self.get(self.serve_url, "/api/page/processes", **times)
            column = [one["name"] for one in table["columns"]].index("memory")
            wanted = {pid: sum(known) / (end - begin) for process, pid in self.seconds if (known := self.known(process, pid, begin, end))}
            self.assert_near({row["pid"]: row["values"][column] for row in table["rows"]}, wanted, ("processes", begin, end))
            for function in ("", "-max"):
                series = self.get(self.serve_url, "/api/page/series", metric=MEMORY, every="60s" + function, group_by="process", **times)
                got = {(one["name"], "", at // 1000 - self.begin): value for one in series["series"]
                       for at, value in zip(series["times"], one["values"]) if value is not None}
                self.assert_near(got, self.expected(begin, end, 60, function.lstrip("-"), "zimsum"), ("series", function, begin, end))


SLEEPS = "import signal; signal.pause()"


class Stops(AgentCase):
    """Samples that wait for the end of five minutes."""

    def setUp(self):
        super().setUp()
        self.output = self.path("samples")
        self.child = subprocess.Popen([sys.executable, "-c", SLEEPS])
        self.addCleanup(self.child.wait)
        self.addCleanup(self.child.kill)

    def text(self, every, source="", first=""):
        return f"""
            local a = require "atalaya"
            {first}
            a.pipeline "idle" {{
              every = "{every}",
              a.source.proc {{ host = false, cgroups = false, {source} }},
              a.filter.value {{ rest = "5m", ["proc.cpu.user"] = 90, ["proc.cpu.kernel"] = 90 }},
              function(s) if s.tags.pid == "{self.child.pid}" then return s end end,
              a.sink.file {{ path = "{self.output}", format = "samples" }},
            }}"""

    def start(self, source="", first=""):
        """After some windows: the first one has samples without a length, which are not held."""
        agent = self.run_agent(self.text("200ms", source, first)).running()
        for _ in range(4):
            before = agent.row("idle", "value")["in"]
            agent.wait_status(lambda status: agent.row("idle", "value", status)["in"] > before)
        return agent

    def covered(self):
        """[(begin, end)] of the samples of the child with a length."""
        return sorted((sample["time"] - sample["duration"], sample["time"]) for sample in so_far(self.output) if sample["duration"] > 0)

    def assert_no_gap(self, spans, length):
        self.assertGreater(spans[-1][1] - spans[0][0], length)
        self.assertEqual([end for _, end in spans[:-1]], [begin for begin, _ in spans[1:]])

    def test_at_the_end(self):
        agent = self.start()
        before = self.covered()
        self.assertEqual(agent.stop(), 0, agent.errors())
        after = self.covered()
        self.assertGreater(len(after), len(before))
        self.assert_no_gap(after, 0)

    def test_on_a_reload(self):
        agent = self.start()
        before = len(self.covered())
        with open(agent.file, "w") as file:
            file.write(self.text("250ms"))
        agent.reload()
        agent.wait_line("reloaded")
        agent.wait_status(lambda status: len(self.covered()) > before)
        self.assertEqual(agent.stop(), 0, agent.errors())

    def test_of_the_source_too(self):
        """Processes that do not run have no sample per window at all: the source holds theirs."""
        agent = self.start('rest = "5m"')
        before = self.covered()
        self.assertEqual(agent.stop(), 0, agent.errors())
        after = self.covered()
        self.assertGreater(len(after), len(before))
        self.assert_no_gap(after, 0)

    def test_of_an_isolated_source_in_a_window(self):
        """It gets the last call after the window that it answers at the stop."""
        first = 'a.pipeline "hour" { every = "1h", a.source.self {}, a.sink.stdout {} }'  # it says that the stop has begun
        agent = self.start('rest = "5m", isolate = true, isolation = { time = "60s" }', first)
        before = self.covered()
        [process] = children(agent)
        os.kill(process, signal.SIGSTOP)
        gaps = agent.row("idle", "proc")["gaps"]
        agent.wait_status(lambda status: agent.row("idle", "proc", status)["gaps"] > gaps)
        agent.process.send_signal(signal.SIGTERM)
        agent.wait_line('"hour": stopped before its first window')
        os.kill(process, signal.SIGCONT)
        self.assertEqual(agent.join(), 0, agent.errors())
        after = self.covered()
        self.assertGreater(len(after), len(before))
        self.assert_no_gap(after[max(len(before) - 1, 0):], 0)


if __name__ == "__main__":
    main()
