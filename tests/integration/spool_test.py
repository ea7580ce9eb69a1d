# SPDX-License-Identifier: Apache-2.0
"""A sink with a spool in the real agent: killed at any moment, its sink in trouble, its disk damaged. A source of numbered samples
records its acknowledged samples, a sink its received ones; both survive the agent."""

import json
import os
import random
import signal
import subprocess
import time

from harness import BINARY, AgentCase, main

PLUGINS = os.environ.get("ATALAYA_TEST_PLUGINS", "build/release/tests/plugins")
ROUNDS = int(os.environ.get("ATALAYA_CHAOS_ROUNDS", "50"))
BATCH = 10

LUA = """
local a = require "atalaya"
a.pipeline "numbers" {{
  a.source.counter {{ isolate = false, acked = "{acked}", first = {first}, batch = {batch}, pause = "{pause}" }},
  a.sink.witness {{ isolate = false, got = "{got}", trouble = "{trouble}", {more} spool = {{ dir = "{dir}", min_free = "0 B", {spool} }} }},
}}
"""


class SpoolCase(AgentCase):
    def setUp(self):
        super().setUp()
        self.next = 0

    def lua(self, spool='sync = "0s"', more="", pause="1ms"):
        return LUA.format(acked=self.path("acked"), first=self.next, batch=BATCH, pause=pause, got=self.path("got"),
                          trouble=self.path("trouble"), more=more, dir=self.path("spool"), spool=spool)

    def start(self, **options):
        agent = self.run_agent(self.lua(**options), "--plugins", PLUGINS)
        agent.running()
        return agent

    def trouble(self, word):
        if word:
            with open(self.path("new"), "w") as file:
                file.write(word)
            os.rename(self.path("new"), self.path("trouble"))
        elif os.path.exists(self.path("trouble")):
            os.remove(self.path("trouble"))

    def lines(self, name):
        if not os.path.exists(self.path(name)):
            return []
        with open(self.path(name)) as file:
            return [[int(word) for word in line.split()] for line in file]

    def acked(self):
        return [line[0] for line in self.lines("acked")]

    def sink(self, agent, status=None):
        return agent.row("numbers", "sink witness", status)

    def spool(self, *arguments):
        return subprocess.run([BINARY, "spool", *arguments], capture_output=True, text=True)

    def wait_empty(self, agent):
        return agent.wait_status(lambda status: self.sink(agent, status)["queued"] == 0)

    def quiet(self, agent):
        """No more numbers: waiting batches are delivered."""
        agent.write(self.lua(pause="1h"))
        agent.reload()
        agent.wait_line("reloaded")


class Chaos(SpoolCase):
    def test_killed_at_random_moments_it_loses_nothing_acknowledged_and_repeats_at_most_a_batch(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}, {ROUNDS} rounds")
        dice = random.Random(seed)
        slowest = 0
        for number in range(ROUNDS):
            self.next = (number + 1) * 1_000_000
            # As long as the spool has room for another round of it: overflow belongs to another test.
            self.trouble(dice.choice(["", "", "retry", "hang"]) if self.held() < 2**20 else "")
            before = len(self.acked())
            begin = time.monotonic()
            agent = self.run_agent(self.lua(spool='sync = "%s", max = "8 MiB"' % dice.choice(["0s", "20ms"])), "--plugins", PLUGINS)
            agent.running()
            slowest = max(slowest, time.monotonic() - begin)
            self.assert_balanced(agent.status())
            if dice.random() < 0.8:
                agent.wait_status(lambda status: len(self.acked()) > before + dice.randrange(30))
            time.sleep(dice.random() * 0.02)  # the moment of death
            agent.kill()
            self.agents.remove(agent)
        print(f"the slowest restart took {slowest:.2f} s")
        if "ATALAYA_CHAOS_ROUNDS" in os.environ:  # the soak, on a machine that does nothing else
            self.assertLess(slowest, 1, "a restart took long")
        self.trouble("")
        self.next = (ROUNDS + 1) * 1_000_000
        agent = self.start(pause="1h")
        status = self.wait_empty(agent)
        self.assert_balanced(status)
        row = self.sink(agent, status)
        self.assertEqual(row["reasons"], {})
        self.assertEqual(agent.stop(), 0, agent.errors())
        self.check_numbers(ROUNDS)
        # The delivered count of the ledger is the arrived count, less duplicates.
        got = [first for first, *_ in self.lines("got")]
        self.assertLessEqual(row["out"], len(got) * BATCH)
        self.assertGreaterEqual(row["out"] + ROUNDS * BATCH, len(got) * BATCH)

    def held(self):
        """Bytes that wait in the spool."""
        folder = self.path("spool")
        return sum(entry.stat().st_size for entry in os.scandir(folder)) if os.path.isdir(folder) else 0

    def check_numbers(self, kills):
        got = self.lines("got")
        self.assertTrue(all(batch == list(range(batch[0], batch[0] + BATCH)) for batch in got), "a batch is not whole")
        firsts = [batch[0] for batch in got]
        lost = set(self.acked()) - set(firsts)
        self.assertEqual(lost, set(), "acknowledged and lost")
        twice = len(firsts) - len(set(firsts))
        self.assertLessEqual(twice, kills)
        self.assertEqual(firsts, sorted(firsts), "out of order")
        print(f"{len(self.acked())} batches acknowledged, {len(set(firsts))} delivered, {twice} twice")


class Delivery(SpoolCase):
    def test_a_stuck_sink_does_not_stop_acknowledgements(self):
        self.trouble("hang")
        agent = self.start()
        agent.wait_status(lambda status: len(self.acked()) >= 50)
        self.assertEqual(self.lines("got"), [])
        status = agent.status()
        self.assert_balanced(status)
        self.assertGreaterEqual(self.sink(agent, status)["spooled"], 500)
        self.trouble("")
        agent.wait_status(lambda status: len(self.lines("got")) >= 50)
        self.assertEqual(agent.stop(), 0)

    def test_undelivered_batches_stay_and_come_first_after_the_restart(self):
        self.trouble("retry")
        agent = self.start()
        agent.wait_status(lambda status: len(self.acked()) >= 20)
        begin = time.monotonic()
        agent.process.send_signal(signal.SIGTERM)
        agent.wait_line("atalaya: stopped")
        self.assertLess(time.monotonic() - begin, 5, "a sink that fails shall not hold up the end")
        self.assertEqual(agent.join(), 0, agent.errors())
        left = self.acked()
        self.trouble("")
        self.next = 1_000_000
        agent = self.start()
        status = agent.wait_status(lambda status: len(self.lines("got")) > len(left))
        self.assert_balanced(status)
        self.assertEqual(agent.stop(), 0)
        firsts = [batch[0] for batch in self.lines("got")]
        self.assertEqual(firsts[:len(left)], left)
        self.assertEqual(firsts, sorted(set(firsts)))

    def test_the_counters_continue_after_a_restart(self):
        self.trouble("permanent")
        agent = self.start()
        agent.wait_status(lambda status: self.sink(agent, status)["dropped"] >= 50)
        self.assertEqual(agent.stop(), 0)
        self.trouble("")
        self.next = 1_000_000
        agent = self.start(pause="1h")
        row = self.sink(agent, self.wait_empty(agent))
        self.assertGreaterEqual(row["reasons"]["refused"], 50)
        self.assertEqual(row["in"], row["out"] + row["dropped"])
        agent.stop()

    def test_a_reload_continues_with_the_same_spool_and_the_same_counters(self):
        self.trouble("retry")
        agent = self.start()
        agent.wait_status(lambda status: len(self.acked()) >= 20)
        self.next = 1_000_000
        agent.write(self.lua(spool='sync = "0s", max = "32 MiB"'))
        agent.reload()
        agent.wait_line("reloaded")
        before = self.sink(agent)
        self.assertGreaterEqual(before["queued"], 200)
        self.assert_balanced(agent.status())
        self.trouble("")
        agent.wait_status(lambda status: self.sink(agent, status)["out"] >= before["queued"])
        self.assert_balanced(agent.status())
        self.assertEqual(agent.stop(), 0)
        self.check(agent)

    def check(self, agent):
        firsts = [batch[0] for batch in self.lines("got")]
        self.assertEqual(firsts, sorted(set(firsts)))
        self.assertEqual(set(self.acked()) - set(firsts), set())

    def test_a_sink_that_hangs_for_ever_leaves_its_spool_to_the_next(self):
        self.trouble("hang")
        agent = self.start()
        agent.wait_status(lambda status: len(self.acked()) >= 5)
        self.assertEqual(agent.stop(), 1)  # it says that something hung
        self.trouble("")
        self.next = 1_000_000
        agent = self.start(pause="1h")
        self.assert_balanced(self.wait_empty(agent))
        agent.stop()
        self.assertEqual(set(self.acked()) - {batch[0] for batch in self.lines("got")}, set())

    def test_two_agents_on_one_spool_are_refused(self):
        first = self.start()
        second = self.run_agent(self.lua(), "--plugins", PLUGINS)
        self.assertEqual(second.join(), 1)
        self.assertIn("another sink or agent has it", second.errors())
        first.kill()


class Tool(SpoolCase):
    def filled(self):
        self.trouble("retry")
        agent = self.start()
        agent.wait_status(lambda status: len(self.acked()) >= 20)
        agent.stop()
        self.trouble("")
        return self.sink_total()

    def sink_total(self):
        listed = json.loads(self.spool("ls", self.path("spool"), "--format", "json").stdout)
        return listed["pipelines"][0]["queued"]

    def test_ls_and_verify_show_the_content_also_while_an_agent_runs(self):
        self.trouble("retry")
        agent = self.start()
        agent.wait_status(lambda status: len(self.acked()) >= 20)
        listed = self.spool("ls", self.path("spool"))
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn("numbers", listed.stdout)
        self.assertEqual(self.spool("verify", self.path("spool")).returncode, 0)
        agent.stop()

    def test_export_writes_queued_batches_as_json_lines(self):
        queued = self.filled()
        exported = self.spool("export", self.path("spool"))
        self.assertEqual(exported.returncode, 0, exported.stderr)
        numbers = [json.loads(line)["fields"]["test.number"] for line in exported.stdout.splitlines()]
        self.assertEqual(numbers, list(range(queued)))

    def test_verify_finds_damage_and_its_position(self):
        self.filled()
        segment = sorted(name for name in os.listdir(self.path("spool")) if name.endswith(".seg"))[0]
        with open(os.path.join(self.path("spool"), segment), "r+b") as file:
            file.seek(1000)
            byte = file.read(1)
            file.seek(1000)
            file.write(bytes([byte[0] ^ 1]))
        verified = self.spool("verify", self.path("spool"))
        self.assertEqual(verified.returncode, 1)
        self.assertIn(segment, verified.stdout)
        self.assertIn("damaged", verified.stdout)
        self.next = 1_000_000
        agent = self.start(pause="1h")
        status = self.wait_empty(agent)
        self.assert_balanced(status)
        self.assertEqual(self.sink(agent, status)["reasons"], {"spool damaged": BATCH})
        agent.stop()

    def test_replay_sends_a_spool_through_a_sink_of_a_file(self):
        queued = self.filled()
        with open(self.path("other.lua"), "w") as file:
            file.write(self.lua().replace(self.path("spool"), self.path("unused")))
        replayed = self.spool("replay", self.path("spool"), self.path("other.lua"), "--sink", "witness", "--plugins", PLUGINS)
        self.assertEqual(replayed.returncode, 0, replayed.stderr)
        self.assertEqual(sum(len(batch) for batch in self.lines("got")), queued)
        self.assertEqual(self.sink_total(), 0)
        again = self.spool("replay", self.path("nothing"), self.path("other.lua"), "--plugins", PLUGINS)
        self.assertEqual(again.returncode, 1)
        self.assertFalse(os.path.exists(self.path("nothing")))

    def test_replay_does_not_touch_the_spool_of_an_agent(self):
        agent = self.start()
        with open(self.path("other.lua"), "w") as file:
            file.write(self.lua().replace(self.path("spool"), self.path("unused")))
        refused = self.spool("replay", self.path("spool"), self.path("other.lua"), "--plugins", PLUGINS)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("another sink or agent has it", refused.stderr)
        agent.stop()


if __name__ == "__main__":
    main()
