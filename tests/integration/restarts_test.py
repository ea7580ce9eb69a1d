# SPDX-License-Identifier: Apache-2.0
"""Restarts of either side, for each protocol of others: what was acknowledged is at the other end, value by value, and nothing else is."""

import contextlib
import http.client
import json
import re
import sqlite3
import subprocess
import threading
import time
import unittest
import urllib.parse

import peers
from harness import PATIENCE, AgentCase, main
from http_servers import InfluxDb, VictoriaMetrics, free_port
from otlp_test import Collector, attributes, data_points
from remote_write_test import Prometheus
from stack_sinks_test import Listener, ProfilesDecoder, has_protobuf

ROUNDS = 4
MORE = 30  # acknowledged points between two restarts
STEP = 100  # ms between points: in the last hour, for Prometheus


def has(module):
    return subprocess.run(["/usr/bin/python3", "-c", f"import {module}"], capture_output=True).returncode == 0


class Numbers(threading.Thread):
    """Sends one numbered sample after the other, each until it is acknowledged; `acked` is the number of them."""

    def __init__(self, port, kind):
        super().__init__()
        self.port, self.kind, self.acked, self.ended = port, kind, 0, False
        self.begin = int(time.time() * 1000) - 1_800_000
        self.changed = threading.Condition()

    def time(self, number):
        return self.begin + number * STEP

    def sample(self, number):
        at, tags = self.time(number) * 10**6, {"host": f"h{number % 3}", "process": "p", "pid": "7"}
        if self.kind == "stack":
            return {"kind": "stack", "time": at, "duration": 10**8, "text": f"main;n{number}", "tags": {**tags, "profile": "cpu"},
                    "fields": {"profile.samples": number + 1}}
        if self.kind == "span":
            return {"kind": "span", "time": at, "duration": 10**8, "text": f"n{number}", "tags": {"host": tags["host"], "job": "j"},
                    "fields": {"span.bytes": number}}
        return {"kind": "metrics", "time": at, "tags": {"host": tags["host"]}, "fields": {"restart.number": number}}

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        while not self.ended:
            try:
                connection.request("POST", "/api/jsonlines", json.dumps(self.sample(self.acked)))
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                connection.close()
                time.sleep(0.02)  # the agent restarts
                continue
            if answer.status == 204:
                with self.changed:
                    self.acked += 1
                    self.changed.notify_all()
        connection.close()

    def wait_more(self, count):
        with self.changed:
            enough = self.acked + count
            assert self.changed.wait_for(lambda: self.acked >= enough, PATIENCE), f"only {self.acked} of {enough} points are acknowledged"

    def finish(self):
        """{(host, ms): number} of all that was acknowledged."""
        self.ended = True
        self.join(PATIENCE)
        return {(f"h{number % 3}", self.time(number)): number for number in range(self.acked)}


class Out(AgentCase):
    """From `receive`, which acknowledges when the spool of the sink holds a point, to a peer."""

    def start(self, sink):
        return self.run_agent(f"""
        local a = require "atalaya"
        a.pipeline "all" {{
          a.source.receive {{ listen = "127.0.0.1:{self.port}" }},
          {sink % f'retry_max = "200ms", batch_points = 50, spool = {{ dir = "{self.path("spool")}", min_free = "0 B", sync = "10ms" }}'},
        }}""").running()

    def restarts(self, sink, stop_peer, start_peer, kind="metrics"):
        """-> the acknowledged samples. Agent and peer are killed in turns, while samples arrive."""
        self.port = free_port()
        agent = self.start(sink)
        numbers = Numbers(self.port, kind)
        self.addCleanup(numbers.finish)
        numbers.start()
        for number in range(ROUNDS):
            numbers.wait_more(MORE)
            if number % 2 == 0:
                agent.kill()
                self.agents.remove(agent)
                agent = self.start(sink)
            else:
                stop_peer()
                agent.wait_line("trying again")
                numbers.wait_more(MORE)
                start_peer()
        numbers.wait_more(MORE)
        wanted = numbers.finish()
        status = agent.wait_status(lambda status: all(row["queued"] == 0 for row in status["ledger"]))
        self.assert_balanced(status)
        self.assertEqual(agent.stop(), 0, agent.errors())
        return wanted

    def assert_same(self, wanted, stored):
        """The peer may show accepted points a little later."""
        until = time.monotonic() + PATIENCE
        while (found := stored()).keys() != wanted.keys() and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual((sorted(wanted.keys() - found.keys())[:5], sorted(found.keys() - wanted.keys())[:5]), ([], []), "lost, invented")
        self.assertEqual(found, wanted)

    def check(self, server, sink, stop, stored):
        self.addCleanup(server.stop)
        wanted = self.restarts(sink, stop, server.start)
        self.assert_same(wanted, lambda: {(dict(tags)["host"], at): value for (metric, tags, at), value in stored().items()
                                          if metric.replace("_", ".") == "restart.number"})

    @staticmethod
    def killed(server):
        def kill():
            server.process.kill()
            server.process.wait(PATIENCE)
        return kill

    @unittest.skipUnless(Prometheus.program, "needs the package prometheus")
    def test_remote_write_to_prometheus(self):
        server = Prometheus(self.folder).start()
        self.check(server, f'a.sink.http {{ url = "{server.url}", format = "remote_write", %s }}', self.killed(server), lambda: {
            key: value for key, value in server.points().items() if value == value})  # without markers of an end

    # VictoriaMetrics writes to its disk once a second: killed, it loses what it acknowledged.
    @unittest.skipUnless(VictoriaMetrics.program, "needs victoria-metrics")
    def test_remote_write_to_victoria_metrics(self):
        server = VictoriaMetrics(self.folder).start()
        self.check(server, f'a.sink.http {{ url = "{server.url}", format = "remote_write", %s }}', server.stop, lambda: {
            key: value for key, value in server.points().items() if value is not None})

    @unittest.skipUnless(VictoriaMetrics.program, "needs victoria-metrics")
    def test_opentsdb_to_victoria_metrics(self):
        server = VictoriaMetrics(self.folder).start()
        self.check(server, f'a.sink.http {{ url = "{server.put}", %s }}', server.stop, server.points)

    @unittest.skipUnless(InfluxDb.program, "needs influxdb")
    def test_line_protocol_to_influxdb(self):
        server = InfluxDb(self.folder).start()
        server.query('create database "atalaya"')
        self.check(server, f'a.sink.http {{ url = "{server.url}/write?db=atalaya", format = "influx", %s }}', self.killed(server),
                   lambda: server.points("atalaya"))

    def collected(self, kind, collector, sink, stored):
        """Through several collectors, one after the other."""
        port = free_port()
        collectors = [collector(port=port)]
        self.addCleanup(lambda: [one.stop() for one in collectors])
        wanted = self.restarts(sink.replace("URL", f"http://127.0.0.1:{port}"), lambda: collectors[-1].stop(),
                               lambda: collectors.append(collector(port=port)), kind)
        self.assert_same(wanted, lambda: stored([request for one in collectors for request in requests_of(one)]))

    # What was sent, but not yet taken out of the spool when the agent was killed, arrives again: the same points, spans and stacks.
    @unittest.skipUnless(peers.NODE, "needs node and npm")
    def test_otlp_metrics_to_the_decoder_of_opentelemetry(self):
        self.collected("metrics", Collector, 'a.sink.otlp { url = "URL", %s }', lambda requests: {
            (dict(tags)["host.name"], at // 10**6): value for (name, tags, at), (_, value, *_) in data_points(requests, again=True).items()
            if name == "restart.number"})

    @unittest.skipUnless(peers.NODE, "needs node and npm")
    def test_otlp_traces_to_the_decoder_of_opentelemetry(self):
        def spans(requests):
            found, ids = {}, {}
            for resource in (resource for request in requests for resource in request["resourceSpans"]):
                host = attributes(resource["resource"]["attributes"])["host.name"]
                for span in resource["scopeSpans"][0]["spans"]:
                    key = host, int(span["startTimeUnixNano"]) // 10**6
                    self.assertEqual(ids.setdefault(key, span["spanId"]), span["spanId"], "a span that is sent again is the same one")
                    found[key] = int(span["name"].removeprefix("n"))
            return found
        self.collected("span", Collector, 'a.sink.otlp { url = "URL", signal = "traces", %s }', spans)

    def test_stacks_to_a_server_in_the_place_of_pyroscope(self):
        def stacks(requests):
            found = {}
            for target, _, body in requests:
                words = dict(urllib.parse.parse_qsl(target.split("?")[1]))
                for line in body.decode().splitlines():
                    text, value = line.rsplit(" ", 1)
                    number = int(text.removeprefix("main;n"))
                    self.assertEqual(int(value), number + 1)
                    found[re.search(r"host=(\w+)", words["name"])[1], int(words["until"]) // 10**6] = number
            return found
        self.collected("stack", Listener, 'a.sink.http { url = "URL", format = "pyroscope", %s }', stacks)

    @unittest.skipUnless(has_protobuf(), "needs protobuf-compiler and python3-protobuf")
    def test_otlp_profiles_to_the_decoder_of_protobuf(self):
        decoder = ProfilesDecoder(self.folder)

        def stacks(requests):
            found = {}
            for host, *_, time_ns, duration_ns, text, value in decoder.stacks(requests):
                number = int(text.removeprefix("main;n"))
                self.assertEqual(value, number + 1)
                found[host, (time_ns + duration_ns) // 10**6] = number
            return found
        self.collected("stack", Listener, 'a.sink.otlp { url = "URL", signal = "profiles", experimental = true, %s }', stacks)


def requests_of(collector):
    return collector.take() if isinstance(collector, Collector) else collector.requests


INFLUX_SENDER = """
import sys, time
from influxdb import InfluxDBClient
port, number = int(sys.argv[1]), int(sys.argv[2])
client = InfluxDBClient(host="127.0.0.1", port=port, retries=1, timeout=20)
while True:
    try:
        client.write_points([{"measurement": "restart", "tags": {"host": "h%d" % (number % 3)}, "time": 10**18 + number * 10**6,
                              "fields": {"number": number}}], time_precision="n")
    except Exception:
        time.sleep(0.02)  # the agent restarts
        continue
    print(number, flush=True)
    number += 1
"""


class In(AgentCase):
    """From a sender of others, which prints each number that was acknowledged, to the store of an agent."""

    def start(self, option):
        return self.run_agent(f"""
        local a = require "atalaya"
        a.pipeline "hub" {{
          a.source.receive {{ listen = "127.0.0.1:{self.port}", {option} }},
          a.sink.sqlite {{ path = "{self.path("store.db")}" }},
        }}""").running()

    def sender(self, words, first):
        return subprocess.Popen([*words, str(self.port), str(first)], stdout=subprocess.PIPE, text=True)

    def restarts(self, option, words):
        """Agent and sender are killed in turns; then the store has what was acknowledged."""
        self.port = free_port()
        agent, acked, kills = self.start(option), [], 0
        sender = self.sender(words, 0)
        for number in range(ROUNDS):
            acked += [int(next(sender.stdout)) for _ in range(MORE)]
            if number % 2 == 0:
                agent.kill()
                self.agents.remove(agent)
                agent = self.start(option)
            else:
                sender.kill()
                acked += [int(line) for line in sender.stdout.read().split()]
                sender.stdout.close()
                sender.wait(PATIENCE)
                kills += 1
                sender = self.sender(words, acked[-1] + 2)  # the one in flight may be stored or not
        acked += [int(next(sender.stdout)) for _ in range(MORE)]
        sender.kill()
        acked += [int(line) for line in sender.stdout.read().split()]
        sender.stdout.close()
        sender.wait(PATIENCE)
        self.assertEqual(agent.stop(), 0, agent.errors())
        with contextlib.closing(sqlite3.connect(self.path("store.db"))) as database:
            stored = sorted(database.execute("select value, host from points where metric = 'restart.number'").fetchall())
        wanted = sorted((number, f"h{number % 3}") for number in acked)
        self.assertGreater(len(wanted), ROUNDS * MORE)
        self.assertEqual([number for number in wanted if number not in stored], [], "acknowledged and lost")
        self.assertEqual(len(stored), len(set(stored)), "a point twice")
        self.assertLessEqual(len(stored) - len(wanted), kills + 1)  # in flight when the sender was killed

    @unittest.skipUnless(has("influxdb"), "needs python3-influxdb")
    def test_line_protocol_from_the_client_of_influxdb(self):
        self.restarts("influx = true", ["/usr/bin/python3", "-c", INFLUX_SENDER])

    @unittest.skipUnless(peers.NODE, "needs node and npm")
    def test_otlp_from_the_exporter_of_opentelemetry(self):
        self.restarts("otlp = true", ["node", peers.program("otlp_numbers.js"), peers.modules()])


if __name__ == "__main__":
    main()
