# SPDX-License-Identifier: Apache-2.0
"""An agent with a spool sends to a hub; both are real. Whatever happens between them, the hub's store ends as the agent's own."""

import ctypes
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import unittest

from harness import BINARY, PATIENCE, Agent, AgentCase, main, so_far
from http_servers import free_port

AGENT = """local a = require "atalaya"
a.pipeline "host" {{
  every = "100ms",
  a.source.proc {{ processes = false, cgroups = false }},
  a.sink.sqlite {{ path = "{store}" }},
  a.sink.http {{ url = "http://{hub}", format = "flat", compress = "zstd", timeout = "1s", retry_max = "200ms", {sink}
    spool = {{ dir = "spool", min_free = "0 B", sync = "100ms" }} }},
}}"""
HUB = """local a = require "atalaya"
a.pipeline "hub" {{ a.source.receive {{ listen = "{listen}", open = true }}, a.sink.sqlite {{ path = "{store}" }} }}"""
POINTS = "select metric, time, host, pid, process, tags, value from points order by 1, 2, 3, 4, 5, 6"


class TwoAgents(AgentCase):
    def setUp(self):
        super().setUp()
        self.stores = {}
        for name in ("far", "hub"):
            os.mkdir(self.path(name))
            self.stores[name] = self.path(name + "/store.db")

    def start(self, name, lua, **options):
        agent = Agent(self.path(name), lua, **options)
        self.agents.append(agent)
        return agent.running()

    def hub(self, listen=None, **options):
        listen = listen or f"127.0.0.1:{free_port()}"  # which nobody else gets while this hub is away
        hub = self.start("hub", HUB.format(listen=listen, store=self.stores["hub"]), **options)
        hub.address = hub.wait_line("listening on").split("listening on ")[1].split()[0]
        return hub

    def far(self, hub, sink="", **options):
        return self.start("far", AGENT.format(store=self.stores["far"], hub=hub.address, sink=sink), **options)

    def sent(self, agent, status=None):
        return agent.row("host", "sink http", status)

    def delivers(self, agent, samples):
        """Waits until the hub has this many more samples."""
        enough = self.sent(agent)["out"] + samples
        agent.wait_status(lambda status: self.sent(agent, status)["out"] >= enough)

    def stored(self, name, query=POINTS):
        with sqlite3.connect(self.stores[name]) as database:
            return database.execute(query).fetchall()

    def assert_complete(self, agent, hub):
        """The agent ends; then the hub has its points, value by value, and no others."""
        agent.drain()
        self.assertEqual(agent.stop(), 0, agent.errors())
        self.assert_balanced(hub.status())
        mine, theirs = self.stored("far"), self.stored("hub")
        self.assertGreater(len(mine), 100)
        self.assertEqual(len(mine), len(theirs))
        self.assertEqual(mine, theirs)


class Troubles(TwoAgents):
    def test_a_hub_that_is_killed_paused_and_restarted_ends_complete(self):
        seed = random.randrange(1 << 32)
        print("seed", seed)
        dice = random.Random(seed)
        hub = self.hub()
        agent = self.far(hub)
        for _ in range(6):
            self.delivers(agent, dice.randrange(1, 60))
            if dice.random() < 0.5:
                hub.process.send_signal(signal.SIGSTOP)
                self.waits(agent)
                hub.process.send_signal(signal.SIGCONT)
            else:
                hub.kill()
                self.agents.remove(hub)
                self.waits(agent)
                hub = self.hub(hub.address)
        self.delivers(agent, 60)
        self.assert_balanced(agent.status())
        self.assertEqual(self.sent(agent)["dropped"], 0)
        self.assert_complete(agent, hub)

    def waits(self, agent):
        """Until the agent has seen a failure and some windows wait in its spool."""
        errors = self.sent(agent)["errors"]
        agent.wait_status(lambda status: self.sent(agent, status)["errors"] > errors and self.sent(agent, status)["spooled"] > 0)

    def test_a_hub_that_restarts_behind_a_list_of_hubs_gets_every_point_once_or_the_other_does(self):
        first, second = self.hub(), None
        os.mkdir(self.path("second"))
        self.stores["second"] = self.path("second/store.db")
        second = self.start("second", HUB.format(listen="127.0.0.1:0", store=self.stores["second"]))
        other = second.wait_line("listening on").split("listening on ")[1].split()[0]
        lua = AGENT.format(store=self.stores["far"], hub=first.address, sink="")
        agent = self.start("far", lua.replace(f'"http://{first.address}"', f'{{ "http://{first.address}", "http://{other}" }}'))
        self.delivers(agent, 20)
        first.kill()
        self.agents.remove(first)
        self.delivers(agent, 20)
        agent.drain()
        self.assertEqual(agent.stop(), 0, agent.errors())
        self.assertEqual(sorted(set(self.stored("hub") + self.stored("second"))), sorted(self.stored("far")))
        self.assertGreater(len(self.stored("second")), 0)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class Spread(AgentCase):
    def test_a_window_is_sent_when_it_is_the_hosts_turn(self):
        share = crc32c(socket.gethostname().encode()) / 2**32
        turn = 0.5  # seconds
        spread = turn / max(share, 0.001)
        lua = """local a = require "atalaya"
        a.pipeline "load" {{ every = "200ms", a.source.proc {{ processes = false, cgroups = false }},
          a.sink.file {{ path = "{}", spread = "{}ms" }} }}""".format(self.path("out"), int(spread * 1000))
        agent = self.run_agent(lua).running()
        for windows in range(1, 4):
            agent.wait_status(lambda status: agent.row("load", "sink file", status)["out"] > 0 and len(self.times()) >= windows)
            self.assertGreater(time.time(), self.times()[windows - 1] + min(turn, share * spread) - 0.002)

    def times(self):
        """Of the windows that have arrived."""
        return sorted({point["timestamp"] / 1000 for point in so_far(self.path("out"))})


PROCESSES = """local a = require "atalaya"
local store = a.sink.sqlite {{ path = "{store}" }}
local hub = a.sink.http {{ url = "http://{hub}", format = "{format}" }}
a.pipeline "host" {{ every = "500ms", a.source.proc {{ processes = false, cgroups = false }}, store, hub }}
a.pipeline "processes" {{ every = "1s", a.source.proc {{ host = false, cgroups = false }}, a.translate.names {{}}, store, hub }}"""
QUESTIONS = [
    ["query", "--metric", "proc.*", "--every", "7s", "--group-by", "process"],
    ["query", "--metric", "proc.*", "--every", "2s", "--top", "5", "--group-by", "process,pid"],
    ["query", "--metric", "proc.cpu.*", "--every", "3s-max-null", "--aggregate", "max"],
    ["query", "--metric", "sys.*", "--every", "5s", "--group-by", "*"],
    ["query", "--metric", "sys.*", "--every", "1m"],
    ["query", "--metric", "sys.cpu.*", "--rate"],
    ["report", "--by", "process", "--top", "1000"],
    ["report", "--by", "pid", "--top", "1000"],
    ["report", "--by", "host"],
]
BURN = "import time\nwhile time.process_time() < {}: pass"


class Answers(TwoAgents):
    """The same question has the same answer on the agent's store and on the hub's."""

    def measured(self, format):
        """Processes with random lives; then both agents have ended, and the hub has every point."""
        seed = random.randrange(1 << 32)
        print("seed", seed)
        dice = random.Random(seed)
        hub = self.hub()
        agent = self.start("far", PROCESSES.format(store=self.stores["far"], hub=hub.address, format=format))
        for _ in range(5):
            burners = [subprocess.Popen([sys.executable, "-c", BURN.format(dice.uniform(0.01, 0.8))]) for _ in range(2)]
            for burner in burners:
                burner.wait()
        self.delivers(agent, 100)
        agent.drain()
        self.assertEqual(agent.stop(), 0, agent.errors())
        self.assertEqual(self.stored("far"), self.stored("hub"))
        self.assertEqual(hub.stop(), 0, hub.errors())

    def answer(self, name, question):
        times = [time for time, in self.stored("far", "select distinct time from points order by 1")]
        first, last = int(times[1]), int(times[-1]) + 1
        done = subprocess.run([BINARY, *question, "--format", "json", "--from", str(first), "--to", str(last)],
                              capture_output=True, env=dict(os.environ, ATALAYA_STORE=self.stores[name]), timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return json.loads(done.stdout)

    def test_every_answer_of_the_hub_is_the_agents(self):
        self.measured("flat")
        for question in QUESTIONS:
            with self.subTest(question=question):
                mine = self.answer("far", question)
                self.assertGreater(len(mine), 0)
                self.assertEqual(mine, self.answer("hub", question))

    def test_points_of_a_foreign_sender_hold_for_the_step_of_their_series_and_have_no_unit(self):
        self.measured("jsonlines")
        question = ["report", "--by", "host", "--metric", "sys.cpu.*"]
        mine, theirs = self.answer("far", question), self.answer("hub", question)
        self.assertEqual([row["metric"] for row in mine], [row["metric"] for row in theirs])
        for here, there in zip(mine, theirs):
            self.assertAlmostEqual(here["avg"], there["avg"], delta=0.1 * here["avg"] + 0.1, msg=here["metric"])
            self.assertEqual(there["sumUnit"], "value-seconds")


def can_have_namespaces():
    return os.geteuid() == 0 and shutil.which("ip") is not None


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True)


def inside(namespace):
    """For preexec: the process to be starts in the network namespace. The status socket is a file and works from outside."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter():
        descriptor = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
        libc.setns(descriptor, 0)
        os.close(descriptor)
    return enter


@unittest.skipUnless(can_have_namespaces(), "network namespaces need root and ip")
class TwoHosts(TwoAgents):
    def setUp(self):
        super().setUp()
        self.near_net, self.far_net = f"atalaya-n{os.getpid()}", f"atalaya-f{os.getpid()}"
        self.addCleanup(lambda: [ip("netns", "del", name, check=False) for name in (self.near_net, self.far_net)])
        try:
            for name in (self.near_net, self.far_net):
                ip("netns", "del", name, check=False)  # left by a killed test that had our number
                ip("netns", "add", name)
                ip("-n", name, "link", "set", "lo", "up")
            ip("link", "add", "atv0", "netns", self.near_net, "type", "veth", "peer", "name", "atv1", "netns", self.far_net)
            for name, link, address in ((self.near_net, "atv0", "10.77.0.1/24"), (self.far_net, "atv1", "10.77.0.2/24")):
                ip("-n", name, "addr", "add", address, "dev", link)
                ip("-n", name, "link", "set", link, "up")
        except subprocess.CalledProcessError as error:
            self.skipTest("no network namespaces here: " + error.stderr.decode())

    def test_the_link_is_cut_for_a_while_and_the_hub_is_complete_afterwards(self):
        hub = self.hub("10.77.0.1:4242", preexec=inside(self.near_net))
        agent = self.far(hub, preexec=inside(self.far_net))
        self.delivers(agent, 100)
        ip("-n", self.near_net, "link", "set", "atv0", "down")
        before = self.sent(agent)["out"]
        agent.wait_status(lambda status: self.sent(agent, status)["spooled"] > 300)
        self.assertLessEqual(self.sent(agent)["out"], before + 100)  # points in transit
        ip("-n", self.near_net, "link", "set", "atv0", "up")
        self.delivers(agent, 300)
        agent.wait_status(lambda status: self.sent(agent, status)["spooled"] < 100)
        self.assert_complete(agent, hub)


if __name__ == "__main__":
    main()
