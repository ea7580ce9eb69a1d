# SPDX-License-Identifier: Apache-2.0
"""Reloads, one after the other, of an agent under load: pipelines that did not change do not notice, whatever the others do. 50 of them;
1,000 with ATALAYA_FULL or as `./dev soak reloads [ROUNDS]`."""

import json
import os

from harness import AgentCase, main

PLUGINS = os.environ.get("ATALAYA_TEST_PLUGINS", "build/release/tests/plugins")
ROUNDS = int(os.environ.get("ATALAYA_RELOADS", "1000" if os.environ.get("ATALAYA_FULL") else "50"))
COUNTERS = ("steady", "apart", "kept")  # of numbers, each of which has to arrive once
FIRST = 1_000_000  # of the changing pipeline: numbers a round


def lua(folder, number):
    """The file of one round. Parts that are the same in each round must continue as if nothing happened."""
    goes = f"""
a.pipeline "goes" {{ every = "100ms", a.source.faulty {{}}, a.sink.faulty {{ got = "{folder}/goes" }} }}""" if number % 2 else ""
    taker = f"""
a.pipeline "taker" {{ a.from "steady", a.filter.top {{ by = "test.number", k = {number % 7 + 1} }}, a.sink.witness {{ got = "{folder}/taker" }} }}
""" if number % 3 else ""
    return f"""
local a = require "atalaya"
local both = a.sink.file {{ path = "{folder}/both", format = "samples" }}
a.pipeline "steady" {{
  a.source.counter {{ isolate = false, acked = "{folder}/acked.steady", batch = 20 }},
  a.sink.witness {{ isolate = false, got = "{folder}/steady" }} }}
a.pipeline "apart" {{
  a.source.counter {{ isolate = true, acked = "{folder}/acked.apart", batch = 20 }},
  a.sink.witness {{ isolate = true, got = "{folder}/apart" }} }}
a.pipeline "kept" {{
  a.source.counter {{ isolate = false, acked = "{folder}/acked.kept", batch = 20 }},
  a.sink.witness {{ isolate = false, got = "{folder}/kept", spool = {{ dir = "{folder}/spool.kept", min_free = "0 B" }} }} }}
a.pipeline "windows" {{ every = "200ms", a.source.proc {{ processes = false, host = true }}, both }}
a.pipeline "changing" {{
  a.source.counter {{ isolate = false, acked = "{folder}/acked.changing", first = {number * FIRST}, batch = 20 }},
  function(s) s.tags.round = "{number}" return s end,
  a.sink.witness {{ isolate = false, got = "{folder}/changing", spool = {{ dir = "{folder}/spool.changing", min_free = "0 B", sync = "0s" }} }} }}
a.pipeline "changing_too" {{ every = "{100 + number % 5 * 100}ms", a.source.self {{}}, both }}
{goes}{taker}"""


class Reload(AgentCase):
    def numbers(self, name):
        with open(self.path(name)) as file:
            return [int(number) for line in file for number in line.split()]

    def test_unchanged_pipelines_are_not_affected(self):
        agent = self.run_agent(lua(self.folder, 0), "--plugins", PLUGINS).running()
        good = bad = 0
        before = agent.wait_status(lambda status: all(agent.row(name, "sink", status)["out"] > 0 for name in (*COUNTERS, "windows")))
        for number in range(1, ROUNDS + 1):
            if number % 10 == 0:
                agent.write(lua(self.folder, number) + "a.pipeline {")
                agent.reload()
                bad += 1
                agent.wait_line("the old file runs on", bad)
            agent.write(lua(self.folder, number))
            agent.reload()
            good += 1
            agent.wait_line("reloaded", good)
            status = agent.status()
            self.assert_balanced(status)
            for name in (*COUNTERS, "windows"):
                for part in ("source", "sink"):
                    was, now = agent.row(name, part, before), agent.row(name, part, status)
                    self.assertGreaterEqual(now["out"], was["out"], f"{name} restarted in round {number}")
                    self.assertEqual((now["dropped"], now["errors"], now["restarts"]), (0, 0, 0), now)
            before = status
        agent.wait_status(lambda status: agent.row("changing", "sink", status)["out"] > 0)
        gaps = agent.row("windows", "source")["gaps"]
        self.assertEqual(agent.stop(), 0, agent.errors())
        print(f"{good} good and {bad} bad reloads, {sum(len(self.numbers(name)) for name in COUNTERS)} numbers, {gaps} windows missed")
        self.check_numbers()
        self.check_windows()
        self.check_changing()

    def check_numbers(self):
        for name in COUNTERS:
            numbers = self.numbers(name)
            self.assertEqual(numbers, list(range(len(numbers))), f"{name}: lost or doubled")

    def check_windows(self):
        """The time of one window begins where the last one ended; missed windows are in the next one."""
        with open(self.path("both")) as file:
            samples = [sample for sample in map(json.loads, file) if "sys.cpu.user" in sample["fields"] and sample["tags"].get("core") == "0"]
        self.assertGreater(len(samples), 2)
        for last, sample in zip(samples, samples[1:]):
            self.assertEqual(sample["time"] - sample["duration"], last["time"])

    def check_changing(self):
        """A pipeline that restarts each time loses nothing that was acknowledged."""
        got = self.numbers("changing")
        self.assertEqual(set(self.numbers("acked.changing")) - set(got), set())
        self.assertGreater(len({number // FIRST for number in got}), ROUNDS // 2)


if __name__ == "__main__":
    main()
