# SPDX-License-Identifier: Apache-2.0
"""The sink riemann against a peer that checks every byte: the received values equal the emitted values, one by one."""

import json
import os

from harness import AgentCase, main, points
from http_servers import certificate, free_port
from questions import http
from riemann_peer import OK, Peer, answer

T = 1_700_000_000
TRACE = "java.lang.System identityHashCode (System.java:-2)\napp.Main run (Main.java:12)"


def key_of(point):
    return point["metric"], frozenset(tag for tag in point["tags"].items() if tag[1]), point["timestamp"]


def event_key(event):
    tags = dict(event.get("attributes", {}), host=event["host"])
    assert event["time"] == event["time_micros"] // 1_000_000
    return event["service"], frozenset(tags.items()), event["time_micros"] // 1000


def value_of(event):
    values = [event[name] for name in ("metric_sint64", "metric_d", "metric_f") if name in event]
    assert len(values) == 1, event
    return values[0]


class RiemannCase(AgentCase):
    def setUp(self):
        super().setUp()
        self.peers = []

    def tearDown(self):
        super().tearDown()
        for peer in self.peers:
            peer.stop()
            self.assertEqual(peer.faults, [])

    def peer(self, *arguments, **options):
        self.peers.append(Peer(*arguments, **options))
        return self.peers[-1]

    def collect(self, peer, sink="", source="processes = false"):
        """An agent that sends to the peer and writes the same to a file."""
        return self.run_agent(self.pipeline(peer.port, sink, source)).running()

    def pipeline(self, port, sink="", source="processes = false"):
        return f"""
        local a = require "atalaya"
        a.pipeline "all" {{
          every = "100ms",
          a.source.proc {{ {source} }},
          a.sink.file {{ path = "{self.path("emitted")}" }},
          a.sink.riemann {{ server = "127.0.0.1:{port}", retry_max = "200ms", {sink} }},
        }}"""

    def delivered(self, agent, at_least=0):
        return agent.wait_status(lambda status: agent.row("all", "sink riemann", status)["out"] > at_least)

    def more(self, agent):
        """Waits for some more windows that were delivered."""
        now = agent.row("all", "sink file")["out"]
        emitted = agent.wait_status(lambda status: agent.row("all", "sink file", status)["out"] > now + 3)
        self.delivered(agent, agent.row("all", "sink riemann", emitted)["in"] - 1)

    def finish(self, agent):
        """Ends the agent when all is delivered; returns the emitted points."""
        agent.drain()
        self.assert_balanced(agent.status())
        self.assertEqual(agent.stop(), 0, agent.errors())
        return points(self.path("emitted"))

    def assert_same(self, emitted, taken, once=True):
        wanted = {key_of(point): point["value"] for point in emitted}
        self.assertGreater(len(wanted), 100)
        got = {event_key(event): value_of(event) for event in taken}
        self.assertEqual(got, wanted)
        if once:
            self.assertEqual(len(taken), len(wanted), "sent twice")


class Events(RiemannCase):
    def test_every_value_arrives_once_on_one_connection(self):
        peer = self.peer()
        agent = self.collect(peer, 'tags = { "prod", "é" }, batch_events = 7')
        peer.wait(lambda peer: any("ttl" in event for event in peer.taken))  # of a window: the first readings are of an instant
        self.delivered(agent, 50)
        self.assert_same(self.finish(agent), peer.taken)
        self.assertEqual(peer.connections, 1)
        self.assertTrue(all(len(events) <= 7 for events in peer.messages))
        self.assertTrue(all(event["tags"] == ["prod", "é"] and "state" not in event for event in peer.taken))
        for length in [event["ttl"] / 0.2 for event in peer.taken if "ttl" in event]:
            self.assertGreaterEqual(length, 0.5)
            self.assertAlmostEqual(length * 100, round(length * 100), places=1)  # late windows end at a multiple of 1 % of the interval

    def test_processes_are_separate_hosts_on_request(self):
        peer = self.peer()
        agent = self.collect(peer, 'host = "pid@host", ttl = "1m", service_tags = { "process" }', "host = false, cgroups = false")
        self.delivered(agent, 50)
        self.finish(agent)
        mine = [event for event in peer.taken if event["attributes"].get("pid") == str(agent.process.pid)]
        self.assertTrue(mine)
        for event in mine:
            self.assertRegex(event["host"], rf"^{agent.process.pid}@.")
            self.assertEqual(event["ttl"], 60)
            self.assertTrue(event["service"].startswith("proc.") and event["service"].endswith(" " + event["attributes"]["process"]))

    def hub(self, sink):
        agent = self.run_agent(f"""
        local a = require "atalaya"
        a.pipeline "hub" {{ a.source.receive {{ listen = "127.0.0.1:0" }}, a.sink.riemann {{ {sink} }} }}""")
        return agent, "http://" + agent.wait_line("listening on ").split("listening on ")[1].split()[0]

    def test_profiles_as_riemann_jvm_profiler_sent_them(self):
        peer = self.peer()
        agent, hub = self.hub(f'server = "127.0.0.1:{peer.port}", prefix = "shop", host = "pid@host"')
        tags = {"host": "h1", "pid": "7", "process": "java"}
        samples = [
            {"kind": "metrics", "time": T * 10**9, "duration": 5 * 10**9, "tags": tags,
             "fields": {"jvm.profile.rate": 42.5, "jvm.gc.young.count": 3}},
            {"kind": "metrics", "time": T * 10**9, "duration": 5 * 10**9, "text": TRACE,
             "tags": dict(tags, function="java.lang.System identityHashCode"), "fields": {"jvm.function.self": 0.25}},
            {"kind": "stack", "time": T * 10**9, "duration": 5 * 10**9, "text": "a;b", "tags": tags, "fields": {"profile.samples": 1}},
        ]
        http(hub + "/api/jsonlines", "".join(json.dumps(sample) + "\n" for sample in samples).encode())
        agent.wait_status(lambda status: agent.row("hub", "sink riemann", status)["out"] == 2)
        status = agent.status()
        self.assert_balanced(status)
        self.assertEqual(agent.row("hub", "sink riemann", status)["reasons"], {"riemann has no form for stacks": 1})
        common = {"time": T, "time_micros": T * 10**6, "host": "7@h1", "ttl": 10.0}
        self.assertEqual(peer.taken, [
            dict(common, service="shop profiler rate", state="ok", metric_d=42.5, tags=["jvm", "profile"],
                 attributes={"pid": "7", "process": "java"}),
            dict(common, service="jvm.gc.young.count", metric_sint64=3, attributes={"pid": "7", "process": "java"}),
            dict(common, service="shop profiler fn java.lang.System identityHashCode", state="ok", metric_d=0.25, description=TRACE,
                 tags=["jvm", "profile"],
                 attributes={"pid": "7", "process": "java", "function": "java.lang.System identityHashCode", "file": "System.java",
                             "line": "-2"})])

    def test_large_numbers_and_odd_texts(self):
        peer = self.peer()
        agent, hub = self.hub(f'server = "127.0.0.1:{peer.port}"')
        sample = {"kind": "metrics", "time": T * 10**9, "duration": 0, "tags": {"host": "h1", "process": "w → \x01\n", "state": "S"},
                  "fields": {"a.b": -(2**63), "a.c": 2**63 - 1, "a.d": -0.1, "a.e": 1e300}}
        http(hub + "/api/jsonlines", json.dumps(sample).encode() + b"\n")
        agent.wait_status(lambda status: agent.row("hub", "sink riemann", status)["out"] == 1)
        self.assertEqual({event["service"]: value_of(event) for event in peer.taken}, sample["fields"])
        self.assertTrue(all(event["attributes"] == {"process": "w → \x01\n", "tag.state": "S"} and "ttl" not in event for event in peer.taken))


class Trouble(RiemannCase):
    def test_a_server_that_starts_late_and_stops(self):
        port = free_port()
        agent = self.run_agent(self.pipeline(port)).running()
        self.assertIn("refused", agent.wait_line("trying again"))
        peer = self.peer(port=port)
        self.delivered(agent)
        errors = agent.row("all", "sink riemann")["errors"]
        peer.stop()
        agent.wait_status(lambda status: agent.row("all", "sink riemann", status)["errors"] > errors)
        taken = peer.taken
        peer = self.peer(port=port)
        self.more(agent)
        self.assert_same(self.finish(agent), taken + peer.taken, once=False)

    def test_a_connection_that_is_cut_while_it_is_idle_costs_nothing(self):
        peer = self.peer()
        agent, hub = Events.hub(self, f'server = "127.0.0.1:{peer.port}"')
        for i in range(5):
            http(hub + "/api/put", json.dumps([{"metric": "a.b", "timestamp": T + i, "value": i, "tags": {"host": "h"}}]).encode())
            agent.wait_status(lambda status: agent.row("hub", "sink riemann", status)["out"] == i + 1)
            connections = peer.connections
            peer.cut()
            peer.wait(lambda peer: not peer.open)
            self.assertEqual(connections, i + 1)
        self.assertEqual([value_of(event) for event in peer.taken], [0, 1, 2, 3, 4])
        self.assertEqual(len(peer.messages), 5)
        self.assertNotIn("trying again", agent.errors())

    def test_a_connection_that_is_cut_before_the_answer(self):
        peer = self.peer(lambda peer, _: None if len(peer.messages) % 3 == 0 else OK)
        agent = self.collect(peer)
        agent.wait_line("without an answer")
        self.delivered(agent, 50)
        peer.behave()
        self.assert_same(self.finish(agent), peer.taken)

    def test_slow_answers_end_at_the_deadline(self):
        for word in "slow", "drip":
            peer = self.peer(lambda peer, _: word if len(peer.messages) == 2 else OK)
            agent = self.collect(peer, 'deadline = "300ms"')
            self.assertIn("no answer within the deadline", agent.wait_line("trying again"))
            self.delivered(agent, 30)
            # On a busy host others are answered too late as well, and sent again.
            self.assert_same(self.finish(agent), peer.taken, once=False)
            os.remove(self.path("emitted"))

    def test_other_servers(self):
        for said in b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00\x00\x00\x05hello", b"\xff\xff\xff\xff":
            peer = self.peer(lambda *_: said)
            agent = self.collect(peer)
            self.assertIn("not a Riemann server", agent.wait_line("trying again"))
            peer.behave()
            self.delivered(agent, 30)
            self.assert_same(self.finish(agent), peer.taken)
            os.remove(self.path("emitted"))

    def test_an_error_that_passes_loses_nothing(self):
        peer = self.peer(lambda peer, _: answer(False, "overloaded") if len(peer.messages) < 3 else OK)
        agent = self.collect(peer)
        self.assertIn("answered with an error: overloaded", agent.wait_line("trying again"))
        self.delivered(agent, 50)
        self.assert_same(self.finish(agent), peer.taken)

    def test_events_that_are_refused_become_dead_letters_and_the_others_arrive(self):
        def script(peer, events):
            return answer(False, "no idle") if any(event["service"] == "sys.cpu.idle" for event in events) else OK
        peer = self.peer(script)
        agent = self.collect(peer, source="processes = false, cgroups = false")
        agent.wait_status(lambda status: agent.row("all", "sink riemann", status)["dead_letter"] > 3)
        agent.drain()
        row = agent.row("all", "sink riemann")
        self.assert_balanced(agent.status())
        self.assertEqual(agent.stop(), 0)
        emitted = points(self.path("emitted"))
        wanted = {key_of(point) for point in emitted if point["metric"] != "sys.cpu.idle"}
        self.assertEqual({event_key(event) for event in peer.taken}, wanted)
        dead = []
        for folder, _, names in os.walk(self.folder):
            dead += [letter for name in names if name == "dead-letters.jsonl" for letter in points(os.path.join(folder, name))]
        records = [json.loads(letter["record"]) for letter in dead]
        self.assertEqual({record["service"] for record in records}, {"sys.cpu.idle"})
        self.assertEqual(len(records), sum(point["metric"] == "sys.cpu.idle" for point in emitted))
        self.assertEqual(len(records), row["dead_letter"])
        self.assertEqual({(letter["url"], letter["answer"]) for letter in dead}, {(f"riemann at 127.0.0.1:{peer.port}", "no idle")})
        self.assertNotIn("status", dead[0])
        self.assertRegex(agent.errors(), r"refused \d+ events, the last with no idle; they are in dead-letters.jsonl")

    def test_a_spool_keeps_batches_for_a_dead_server(self):
        port = free_port()
        agent = self.run_agent(self.pipeline(port, 'spool = { dir = "spool", sync = "0s" }')).running()
        agent.wait_status(lambda status: agent.row("all", "sink riemann", status)["queued"] > 30)
        agent.kill()
        peer = self.peer(port=port)
        agent = self.run_agent(self.pipeline(port, 'spool = { dir = "spool", sync = "0s" }')).running()
        self.delivered(agent, 30)
        agent.drain()
        status = agent.status()
        self.assert_balanced(status)
        self.assertEqual(agent.stop(), 0)
        keys = {event_key(event) for event in peer.taken}
        self.assertEqual(len(keys), len(peer.taken), "sent twice")
        self.assertGreater(len({time for _, _, time in keys}), 1)


class Trust(RiemannCase):
    def test_certificates_of_both_sides(self):
        authority = certificate(self.folder, "authority")
        peer = self.peer(certificate=certificate(self.folder, "server", authority), authorities=authority[0])
        client = certificate(self.folder, "client", authority)
        agent = self.collect(peer, f'tls = {{ ca = "{authority[0]}", certificate = "{client[0]}", key = "{client[1]}" }}')
        self.delivered(agent, 50)
        self.assert_same(self.finish(agent), peer.taken)
        self.assertEqual(peer.connections, 1)

    def test_a_message_larger_than_a_record_of_tls(self):
        authority = certificate(self.folder, "authority")
        peer = self.peer(certificate=certificate(self.folder, "server", authority))
        agent = self.collect(peer, f'tls = {{ ca = "{authority[0]}" }}', "")
        peer.wait(lambda peer: any(len(events) > 500 for events in peer.messages))
        self.delivered(agent, 500)
        self.assert_same(self.finish(agent), peer.taken)

    def test_a_wrong_certificate_gets_nothing(self):
        authority, stranger = certificate(self.folder, "authority"), certificate(self.folder, "stranger")
        wrong_name = self.peer(certificate=certificate(self.folder, "other", authority, "DNS:other.example"))
        unknown = self.peer(certificate=certificate(self.folder, "server", stranger))
        for peer in wrong_name, unknown:
            agent = self.collect(peer, f'tls = {{ ca = "{authority[0]}" }}')
            self.assertRegex(agent.wait_line("trying again").lower(), "certificate")
            agent.kill()
            self.assertEqual(peer.messages, [])


class Wrong(RiemannCase):
    def test_invalid_settings(self):
        for sink, said in (('server = "tcp://riemann"', 'write server = "riemann:5555"'),
                           ('tls = { certificate = "c.pem" }', "tls.certificate and tls.key need each other"),
                           ('host = "pid"', "pid@host"), ('ttl = "0s"', "ttl")):
            with self.subTest(sink):
                agent = self.run_agent('local a = require "atalaya"\na.pipeline "all" { every = "1s", a.source.proc {}, a.sink.riemann { %s } }' % sink)
                self.assertNotEqual(agent.join(), 0)
                self.assertIn(said, agent.errors())


if __name__ == "__main__":
    main()
