# SPDX-License-Identifier: Apache-2.0
"""The sink kafka against librdkafka's mock cluster: the stored values equal the emitted values, one by one."""

import json
import os
import random
import signal
import subprocess
import time

from harness import AgentCase, main, points

MOCK = os.environ.get("ATALAYA_KAFKA_MOCK", "build/release/tests/integration/kafka_mock")
PLUGINS = os.environ.get("ATALAYA_TEST_PLUGINS", "build/release/tests/plugins")
ROUNDS = int(os.environ.get("ATALAYA_KAFKA_ROUNDS", "5"))
PRODUCE, INIT_PRODUCER_ID = 0, 22
TOO_LARGE, POLICY_VIOLATION, NOT_LEADER, TIMED_OUT, NOT_ENOUGH_REPLICAS, NOT_ALLOWED = 10, 44, 6, 7, 19, 31


class Cluster:
    """The mock cluster, a separate program."""

    def __init__(self, partitions=4):
        self.process = subprocess.Popen([MOCK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.servers = self.process.stdout.readline().strip().split(",")
        self.command("topic", "atalaya", partitions)

    def command(self, *words):
        """Gives an order; the lines of its answer."""
        print(*words, file=self.process.stdin, flush=True)
        lines = []
        while (line := self.process.stdout.readline().strip()) != "ok":
            assert line, "the mock cluster is gone"
            lines.append(line)
        return lines

    def errors(self, *codes, api=PRODUCE):
        self.command("errors", api, *codes)

    def messages(self):
        """Of the topic, in order: partition, time, key and value."""
        result = []
        for line in self.command("read", "atalaya"):
            partition, _, when, key, value = line.split()
            result.append((int(partition), int(when), text(key), text(value)))
        return result

    def stop(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def text(word):
    return "" if word == "-" else bytes.fromhex(word).decode()


def key_of(point):
    return point["metric"], frozenset(point["tags"].items()), point["timestamp"]


class KafkaCase(AgentCase):
    def setUp(self):
        super().setUp()
        self.clusters = []

    def tearDown(self):
        super().tearDown()
        for cluster in self.clusters:
            cluster.stop()

    def cluster(self, **options):
        self.clusters.append(Cluster(**options))
        return self.clusters[-1]

    def sink(self, cluster, more=""):
        brokers = ", ".join(f'"{server}"' for server in cluster.servers)
        return f'a.sink.kafka {{ brokers = {{ {brokers} }}, retry_max = "200ms", {more} }}'

    def collect(self, cluster, sink="", source="processes = false", wait=True):
        """An agent that sends to the cluster and writes the same to a file."""
        agent = self.run_agent(self.pipeline(cluster, sink, source))
        return agent.running() if wait else agent

    def pipeline(self, cluster, sink="", source="processes = false"):
        return f"""
        local a = require "atalaya"
        a.pipeline "all" {{
          every = "100ms",
          a.source.proc {{ {source} }},
          a.sink.file {{ path = "{self.path("emitted")}" }},
          {self.sink(cluster, sink)},
        }}"""

    def delivered(self, agent, at_least=0):
        return agent.wait_status(lambda status: agent.row("all", "sink kafka", status)["out"] > at_least)

    def more(self, agent, windows=3):
        """Waits for some more windows that were delivered."""
        now = agent.row("all", "sink file")["out"]
        emitted = agent.wait_status(lambda status: agent.row("all", "sink file", status)["out"] > now + windows)
        self.delivered(agent, agent.row("all", "sink kafka", emitted)["in"] - 1)

    def finish(self, agent):
        """Ends the agent when all is delivered; returns the emitted points."""
        agent.drain()
        self.assert_balanced(agent.status())
        self.assertEqual(agent.stop(), 0, agent.errors())
        return points(self.path("emitted"))

    def assert_same(self, emitted, stored):
        """Every point once, with its value."""
        wanted = {key_of(point): point["value"] for point in emitted}
        self.assertGreater(len(wanted), 100)
        got = {}
        for point in stored:
            self.assertNotIn(key_of(point), got, "stored twice")
            got[key_of(point)] = point["value"]
        self.assertEqual(got.keys() ^ wanted.keys(), set())
        self.assertEqual(got, wanted)

    def stored(self, cluster):
        return [json.loads(line) for _, _, _, value in cluster.messages() for line in value.splitlines()]


class Formats(KafkaCase):
    def test_a_message_holds_the_points_of_a_sample_and_its_time(self):
        cluster = self.cluster()
        agent = self.collect(cluster)
        self.delivered(agent, 50)
        emitted = self.finish(agent)
        messages = cluster.messages()
        self.assert_same(emitted, [json.loads(line) for *_, value in messages for line in value.splitlines()])
        places = {}
        for partition, when, key, value in messages:
            sample = [json.loads(line) for line in value.splitlines()]
            self.assertEqual({point["timestamp"] for point in sample}, {when})
            self.assertEqual(len({str(point["tags"]) for point in sample}), 1)
            self.assertEqual(key.split("/")[0], sample[0]["tags"]["host"])
            places.setdefault(key, (partition, str(sample[0]["tags"])))
            self.assertEqual(places[key], (partition, str(sample[0]["tags"])), "a key is a series, and stays in its partition")
        self.assertGreater(len({partition for partition, _ in places.values()}), 1)
        last = {}
        for partition, when, key, _ in messages:
            self.assertLessEqual(last.get(key, 0), when, "out of order")
            last[key] = when

    def test_a_point_a_message(self):
        cluster = self.cluster()
        agent = self.collect(cluster, 'message = "point", key = "host", compress = "lz4"')
        self.delivered(agent, 50)
        emitted = self.finish(agent)
        messages = cluster.messages()
        self.assert_same(emitted, [json.loads(value) for *_, value in messages])
        self.assertEqual(len({partition for partition, *_ in messages}), 1)

    def test_opentsdb_is_an_array_and_the_keyless_go_anywhere(self):
        cluster = self.cluster()
        agent = self.collect(cluster, 'format = "opentsdb", key = "none", compress = "gzip"')
        self.delivered(agent, 50)
        emitted = self.finish(agent)
        messages = cluster.messages()
        self.assertEqual({key for _, _, key, _ in messages}, {""})
        stored = [point for *_, value in messages for point in json.loads(value)]
        self.assertEqual(len(stored), len(emitted))
        self.assertEqual(sorted(point["value"] for point in stored), sorted(point["value"] for point in emitted))

    def test_influx_and_samples(self):
        for kind in "influx", "samples":
            cluster = self.cluster()
            agent = self.collect(cluster, f'format = "{kind}", compress = "none"')
            self.delivered(agent, 20)
            emitted = self.finish(agent)
            os.remove(self.path("emitted"))
            values = [value for *_, value in cluster.messages()]
            if kind == "influx":
                count = sum(line.rsplit(" ", 2)[1].count("=") for value in values for line in value.splitlines())
            else:
                count = sum(len(json.loads(value)["fields"]) for value in values)
            self.assertEqual(count, len(emitted))


class Trouble(KafkaCase):
    def test_brokers_that_go_and_come_back_get_everything_once(self):
        cluster = self.cluster()
        agent = self.collect(cluster)
        self.delivered(agent)
        for _ in range(2):
            cluster.command("down")
            errors = agent.row("all", "sink kafka")["errors"]
            agent.wait_status(lambda status: agent.row("all", "sink kafka", status)["errors"] > errors + 1)
            cluster.command("up")
            self.more(agent)
        emitted = self.finish(agent)
        self.assert_same(emitted, self.stored(cluster))
        self.assertEqual(len([line for line in agent.errors().splitlines() if "sink kafka" in line and "trying again" in line]), 1,
                         agent.errors())
        self.assertNotIn("librdkafka", agent.errors())

    def test_an_agent_that_gets_no_thread_ends_as_usual(self):
        cluster = self.cluster()
        agent = self.run_ordinary_agent(self.pipeline(cluster)).running()
        self.delivered(agent, 50)
        agent.allow_threads(False)
        self.assertEqual(agent.stop(), 0, agent.errors())  # a reload would want threads
        self.assert_same(points(self.path("emitted")), self.stored(cluster))

    def test_an_agent_that_starts_before_the_brokers_waits_for_them(self):
        cluster = self.cluster()
        cluster.command("down")
        agent = self.collect(cluster)
        agent.wait_line("Connection refused")
        cluster.command("up")
        self.more(agent)
        self.assert_same(self.finish(agent), self.stored(cluster))

    def test_an_agent_stops_in_time_with_any_broker_fault(self):
        for trouble in "down", "pause", "slow":
            cluster = self.cluster()
            agent = self.collect(cluster)
            self.delivered(agent)
            if trouble == "down":
                cluster.command("down")
            elif trouble == "pause":
                cluster.process.send_signal(signal.SIGSTOP)
            else:
                cluster.command("rtt", 20000)
            agent.wait_line("trying again")
            begin = time.monotonic()
            agent.process.send_signal(signal.SIGTERM)
            agent.wait_line("atalaya: stopped")
            self.assertLess(time.monotonic() - begin, 8)
            self.assertEqual(agent.join(), 0, agent.errors())
            self.assertNotIn("hangs", agent.errors())  # which it says of work that its deadline, and a second, did not end
            os.remove(self.path("emitted"))

    def test_a_pause_loses_nothing(self):
        cluster = self.cluster()
        agent = self.collect(cluster)
        self.delivered(agent)
        cluster.process.send_signal(signal.SIGSTOP)
        agent.wait_line("trying again")
        cluster.process.send_signal(signal.SIGCONT)
        self.more(agent)
        self.assert_same(self.finish(agent), self.stored(cluster))

    def test_errors_that_pass_are_no_loss(self):
        cluster = self.cluster()
        agent = self.collect(cluster)
        self.delivered(agent)
        cluster.errors(NOT_LEADER, TIMED_OUT, 0, NOT_ENOUGH_REPLICAS, NOT_LEADER, NOT_ENOUGH_REPLICAS)
        self.more(agent, 20)
        self.assert_same(self.finish(agent), self.stored(cluster))
        self.assertEqual(agent.row("all", "sink kafka", self.last)["dropped"], 0)

    def finish(self, agent):
        self.last = agent.status()
        return super().finish(agent)

    def test_a_producer_that_cannot_continue_is_replaced(self):
        cluster = self.cluster()
        cluster.errors(NOT_ALLOWED, api=INIT_PRODUCER_ID)
        agent = self.collect(cluster)
        self.more(agent)  # without a separate number it delivers nothing
        self.assert_same(self.finish(agent), self.stored(cluster))


class Poison(KafkaCase):
    def letters(self):
        for folder, _, files in os.walk(self.folder):
            if "dead-letters.jsonl" in files:
                return points(os.path.join(folder, "dead-letters.jsonl"))
        return []

    def assert_divided(self, agent, cluster):
        """Everything is stored, or a dead letter that the ledger counts."""
        status = agent.status()
        emitted = self.finish(agent)
        letters = self.letters()
        self.assertGreater(len(letters), 0)
        dead = [json.loads(line) for letter in letters for line in letter["record"].splitlines()]
        self.assert_same(emitted, self.stored(cluster) + dead)
        self.assertGreater(agent.row("all", "sink kafka", status)["dead_letter"], 0)
        return letters

    def test_a_message_that_is_too_large_is_a_dead_letter_and_the_rest_is_delivered(self):
        cluster = self.cluster()
        agent = self.collect(cluster, 'batch_size = "1000 B"')
        agent.wait_status(lambda status: agent.row("all", "sink kafka", status)["dead_letter"] > 0)
        self.more(agent)
        for letter in self.assert_divided(agent, cluster):
            self.assertEqual((letter["status"], letter["answer"]), (TOO_LARGE, "Broker: Message size too large"))
            self.assertGreater(len(letter["record"]), 800)
            self.assertIn("kafka://", letter["url"])

    def test_of_a_refused_request_only_the_invalid_messages_are_dead(self):
        cluster = self.cluster(partitions=1)
        cluster.errors(POLICY_VIOLATION, 0, 0, POLICY_VIOLATION, 0, POLICY_VIOLATION)
        agent = self.collect(cluster)
        self.more(agent)
        letters = self.assert_divided(agent, cluster)
        self.assertEqual([letter["status"] for letter in letters], [POLICY_VIOLATION] * 2)

    def test_requests_that_are_too_large_become_smaller(self):
        cluster = self.cluster(partitions=1)
        cluster.errors(TOO_LARGE)
        agent = self.collect(cluster)
        agent.wait_line("further requests have at most 500000 bytes")
        self.more(agent)
        self.assert_same(self.finish(agent), self.stored(cluster))
        self.assertEqual(self.letters(), [])


class Spool(KafkaCase):
    def start(self, cluster, number):
        return self.run_agent(f"""
        local a = require "atalaya"
        a.pipeline "numbers" {{
          a.source.counter {{ acked = "{self.path("acked")}", first = {number * 1_000_000}, batch = 10,
                              pause = "{"1h" if number == ROUNDS else "1ms"}" }},
          {self.sink(cluster, 'format = "samples", spool = { dir = "' + self.path("spool") + '", sync = "0s", min_free = "0 B" }')},
        }}""", "--plugins", PLUGINS).running()

    def acked(self):
        if not os.path.exists(self.path("acked")):
            return []
        with open(self.path("acked")) as file:
            return [int(line) for line in file]

    def test_killed_with_a_spool_nothing_acknowledged_is_lost_and_a_batch_at_most_comes_twice(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        dice = random.Random(seed)
        cluster = self.cluster()
        for number in range(ROUNDS):
            cluster.command(dice.choice(["up", "down"]))
            before = len(self.acked())
            agent = self.start(cluster, number)
            agent.wait_status(lambda status: len(self.acked()) > before + dice.randrange(50))
            self.assert_balanced(agent.status())
            agent.kill()
        cluster.command("up")
        agent = self.start(cluster, ROUNDS)
        status = agent.wait_status(lambda status: agent.row("numbers", "sink kafka", status)["queued"] == 0
                                   and agent.row("numbers", "sink kafka", status)["out"] > 0)
        self.assert_balanced(status)
        self.assertEqual(agent.stop(), 0, agent.errors())
        got = [json.loads(value)["fields"]["test.number"] for *_, value in cluster.messages()]
        acked = {first + i for first in self.acked() for i in range(10)}
        self.assertEqual(acked - set(got), set(), "acknowledged and lost")
        twice = len(got) - len(set(got))
        self.assertLessEqual(twice, 10 * ROUNDS)
        print(f"{len(acked)} acknowledged, {len(set(got))} stored, {twice} twice")


if __name__ == "__main__":
    main()
