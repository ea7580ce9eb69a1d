# SPDX-License-Identifier: Apache-2.0
"""The sink http against real servers and one with set faults: the stored values equal the emitted values, one by one."""

import glob
import json
import math
import os
import re
import shutil
import signal
import socketserver
import subprocess
import threading
import time
import unittest

from harness import PATIENCE, AgentCase, main, points
from http_servers import Chaos, InfluxDb, VictoriaMetrics, certificate, free_port


def unescaped(name):
    """Back from a legal OpenTSDB name."""
    raw = re.sub(r"_([0-9A-F]{2})", lambda found: chr(int(found[1], 16)), name)
    return raw.encode("latin-1").decode()


def key_of(point):
    """Without tags that have no value: no server takes them."""
    return point["metric"], frozenset(tag for tag in point["tags"].items() if tag[1]), point["timestamp"]


def opentsdb_key(point):
    return (unescaped(point["metric"]), frozenset((unescaped(k), unescaped(v)) for k, v in point["tags"].items()),
            point["timestamp"])


class HttpCase(AgentCase):
    def setUp(self):
        super().setUp()
        self.servers = []
        self.children = []

    def tearDown(self):
        super().tearDown()
        for server in self.servers:
            server.stop()
        for child in self.children:
            child.kill()
            child.wait()

    def serve(self, server):
        self.servers.append(server)
        return server

    def chaos(self, script=lambda *_: 204, **options):
        return self.serve(Chaos(script, **options))

    def collect(self, sink, source="processes = false", **options):
        """An agent that sends to the sink and writes the same to a file."""
        agent = self.start(sink, source, **options)
        return agent.running()

    def start(self, sink, source="processes = false", every="100ms", **options):
        return self.run_agent(self.pipeline(sink, source, every), **options)

    def pipeline(self, sink, source="processes = false", every="100ms"):
        return f"""
        local a = require "atalaya"
        a.pipeline "all" {{
          every = "{every}",
          a.source.proc {{ {source} }},
          a.sink.file {{ path = "{self.path("emitted")}" }},
          a.sink.http {{ retry_max = "200ms", {sink} }},
        }}"""

    def delivered(self, agent, at_least=0):
        """Waits until the sink has delivered this many more samples."""
        return agent.wait_status(lambda status: agent.row("all", "sink http", status)["out"] > at_least)

    def more(self, agent, windows=3):
        """Waits for some more windows that were delivered."""
        now = agent.row("all", "sink file")["out"]
        emitted = agent.wait_status(lambda status: agent.row("all", "sink file", status)["out"] > now + windows)
        self.delivered(agent, agent.row("all", "sink http", emitted)["out"])

    def finish(self, agent):
        """Ends the agent when all is delivered; returns the emitted points."""
        agent.drain()
        self.assert_balanced(agent.status())
        self.assertEqual(agent.stop(), 0, agent.errors())
        return points(self.path("emitted"))

    def assert_same(self, emitted, stored):
        wanted = {key_of(point): point["value"] for point in emitted}
        self.assertGreater(len(wanted), 100)
        self.assertEqual(len(wanted), len(emitted))
        for fault, keys in ("lost", set(wanted) - set(stored)), ("invented", set(stored) - set(wanted)):
            times = sorted({key[2] for key in wanted})
            self.assertEqual(len(keys), 0, f"{fault} of {len(wanted)} points and windows {times}: {sorted(keys, key=str)[:20]}")
        for key, value in wanted.items():
            self.assertTrue(math.isclose(stored[key], value, rel_tol=1e-14), (key, value, stored[key]))

    def assert_stored(self, emitted, stored):
        """The same, of a server that shows accepted points a little later."""
        wanted = {key_of(point) for point in emitted}
        until = time.monotonic() + PATIENCE
        while not wanted <= set(found := stored()) and time.monotonic() < until:
            time.sleep(0.1)
        self.assert_same(emitted, found)
        return found

    def odd_process(self):
        """A process whose name has characters that no protocol likes."""
        program = self.path("w (1),=é_AB#")
        shutil.copy("/bin/sleep", program)
        self.children.append(subprocess.Popen([program, "1000"]))
        return self.children[-1].pid


@unittest.skipUnless(VictoriaMetrics.program, "needs victoria-metrics")
class Victoria(HttpCase):
    def test_puts_survive_a_server_that_is_stopped_started_and_paused(self):
        server = self.serve(VictoriaMetrics(self.folder).start())
        pid = self.odd_process()
        agent = self.collect(f'url = "{server.put}", timeout = "1s", senders = 2, batch_points = 100', "host = false, cgroups = false")
        self.delivered(agent)
        server.stop()
        agent.wait_line("trying again")
        server.start()
        self.more(agent)
        server.signal(signal.SIGSTOP)
        errors = agent.row("all", "sink http")["errors"]
        agent.wait_status(lambda status: agent.row("all", "sink http", status)["errors"] > errors)
        server.signal(signal.SIGCONT)
        self.more(agent)
        emitted = self.finish(agent)
        stored = self.assert_stored(emitted, lambda: {
            (unescaped(metric), frozenset((unescaped(k), unescaped(v)) for k, v in tags), at): value
            for (metric, tags, at), value in server.points().items()})
        self.assertIn("w (1),=é_AB#", {dict(tags).get("process") for _, tags, _ in stored if dict(tags).get("pid") == str(pid)})

    def test_line_protocol(self):
        server = self.serve(VictoriaMetrics(self.folder).start())
        agent = self.collect(f'url = "{server.url}", format = "influx"')
        self.delivered(agent, 100)
        self.assert_stored(self.finish(agent), server.points)


@unittest.skipUnless(InfluxDb.program, "needs influxdb")
class Influx(HttpCase):
    def test_line_protocol(self):
        server = self.serve(InfluxDb(self.folder).start())
        server.query('create database "atalaya"')
        self.odd_process()
        agent = self.collect(f'url = "{server.url}/write?db=atalaya", format = "influx"', "host = false, cgroups = false")
        self.delivered(agent, 100)
        self.assert_stored(self.finish(agent), lambda: server.points("atalaya"))

    def test_puts(self):
        server = self.serve(InfluxDb(self.folder).start())
        server.query('create database "opentsdb"')
        agent = self.collect(f'url = "{server.put}", senders = 3', every="1s")
        self.delivered(agent, 100)
        emitted = self.finish(agent)
        # This listener takes milliseconds of a time for microseconds: windows of whole seconds are not concerned, the first one is.
        for point in emitted:
            point["timestamp"] -= point["timestamp"] % 1000
        self.assert_stored(emitted, lambda: server.points("opentsdb"))


class Misbehaving(HttpCase):
    def assert_taken(self, agent, server, key=opentsdb_key):
        """All that was emitted was taken, each series in order of time."""
        emitted = self.finish(agent)
        self.assert_same(emitted, {key(point): point["value"] for point in server.taken})
        last = {}
        for point in server.taken:
            series = key(point)[:2]
            self.assertLessEqual(last.get(series, 0), point["timestamp"])
            last[series] = point["timestamp"]

    def test_no_fault_of_the_server_loses_points(self):
        words = [500, "garbage", "half", "drip", "close", (429, {"Retry-After": "1"}, b"slow down"), 401, 404, 503, 302]
        said = []

        def script(server, request):
            if len(server.requests) % 2 == 0 and words:
                said.append(words.pop(0))
                return said[-1]
            return 204

        server = self.chaos(script)
        agent = self.collect(f'url = "{server.url}", timeout = "500ms", deadline = "1s", senders = 2')
        server.wait(lambda _: len(said) == 10)
        self.more(agent)
        self.assert_taken(agent, server)

    def test_an_agent_that_gets_no_thread_keeps_its_points(self):
        server = self.chaos()
        agent = self.run_ordinary_agent(self.pipeline(f'url = "{server.url}", senders = 3')).running()
        self.delivered(agent, 50)
        agent.allow_threads(False)
        agent.wait_line("cannot send the batch now: Resource temporarily unavailable")
        agent.allow_threads(True)
        self.more(agent)
        self.assert_taken(agent, server)

    def test_acknowledged_points_are_not_sent_again(self):
        broken = threading.Event()

        def script(server, request):
            if broken.is_set() or len(server.taken) < 30:
                return 204
            return 500

        server = self.chaos(script)
        agent = self.collect(f'url = "{server.url}", batch_points = 10')
        server.wait(lambda _: len(server.requests) > 6)
        broken.set()
        self.more(agent)
        self.assert_taken(agent, server)
        keys = [opentsdb_key(point) for point in server.taken]
        self.assertEqual(len(keys), len(set(keys)))

    def poison(self, point):
        return point["metric"] == "sys.mem.free"

    def assert_poison_found(self, agent, server, words):
        self.more(agent)
        emitted = self.finish(agent)
        letters = []
        for path in glob.glob(self.path("*/dead-letters.jsonl")):
            letters += points(path)
        dead = [json.loads(letter["record"]) for letter in letters]
        self.assertTrue(all(letter["status"] == 400 and letter["answer"] == words for letter in letters))
        self.assertEqual({opentsdb_key(point) for point in dead}, {key_of(point) for point in emitted if self.poison(point)})
        self.assert_same([point for point in emitted if not self.poison(point)],
                         {opentsdb_key(point): point["value"] for point in server.taken})

    def test_one_poison_is_found_by_halving(self):
        def script(server, request):
            return (400, {}, b"no free memory, please") if any(map(self.poison, request.points)) else 204

        server = self.chaos(script)
        agent = self.collect(f'url = "{server.url}"')
        self.delivered(agent, 20)
        self.assertGreater(agent.row("all", "sink http")["dead_letter"], 0)
        self.assert_poison_found(agent, server, "no free memory, please")

    def test_opentsdb_names_its_poison(self):
        def script(server, request):
            bad = [point for point in request.points if self.poison(point)]
            if not bad:
                return 204
            if "details" not in request.path:
                return 400, {}, b'{"error":{"code":400,"message":"One or more data points had errors"}}'
            server.taken += [point for point in request.points if not self.poison(point)]
            errors = [{"datapoint": dict(point, value=str(point["value"])), "error": "Unknown metric"} for point in bad]
            text = json.dumps({"success": len(request.points) - len(bad), "failed": len(bad), "errors": errors})
            return 400, {"Content-Type": "application/json"}, text.encode()

        server = self.chaos(script)
        agent = self.collect(f'url = "{server.url}"')
        self.delivered(agent, 20)
        self.assert_poison_found(agent, server, "Unknown metric")
        self.assertTrue(all("details" in request[1] or len(request[3]) > 10 for request in server.requests), "it was halved")

    def test_a_server_that_refuses_everything_gets_it_later(self):
        reported = threading.Event()
        def script(server, request):  # comes back with a whole batch: else a batch refused before would be the cause
            if reported.is_set() and len(request.points) == len(server.requests[0][3]):
                server.behave()
                return 204
            return 400, {}, b"database is required"
        server = self.chaos(script)
        agent = self.collect(f'url = "{server.url}"')
        agent.wait_line("refuses every point: database is required")
        reported.set()
        self.more(agent)
        self.assert_taken(agent, server)

    def test_fail_over_health_and_back(self):
        second = self.chaos()
        healthy = threading.Event()
        first = self.chaos(lambda server, request: (204 if healthy.is_set() else 500))
        agent = self.collect(f'url = {{ "{first.url}", "{second.url}" }}, health = "/health"')
        second.wait(lambda server: len(server.requests) > 2)
        first.wait(lambda server: any(request[0] == "GET" for request in server.requests))
        self.assertEqual(sum(request[0] == "POST" for request in first.requests), 1)
        healthy.set()
        first.wait(lambda server: len(server.taken) > 100)
        emitted = self.finish(agent)
        self.assert_same(emitted, {opentsdb_key(point): point["value"] for point in first.taken + second.taken})

    def test_weights_spread_series_and_a_series_stays(self):
        servers = [self.chaos(), self.chaos(), self.chaos()]
        urls = ", ".join(f'"{server.url}"' for server in servers)
        agent = self.collect(f"url = {{ {urls} }}, weights = {{ 1, 1, 0 }}, senders = 2", "host = false, cgroups = false")
        self.delivered(agent, 100)
        emitted = self.finish(agent)
        series = [{opentsdb_key(point)[:2] for point in server.taken} for server in servers]
        self.assertTrue(series[0] and series[1])
        self.assertEqual(series[2], set())
        self.assertEqual(series[0] & series[1], set())
        self.assert_same(emitted, {opentsdb_key(point): point["value"] for server in servers for point in server.taken})

    def test_jsonlines_by_zstd(self):
        server = self.chaos()
        agent = self.collect(f'url = "{server.url}", format = "jsonlines", compress = "zstd"')
        self.delivered(agent, 50)
        self.assert_taken(agent, server, key_of)
        self.assertEqual({request[1] for request in server.requests}, {"/api/jsonlines"})

    def test_a_name_that_is_gone(self):
        server = self.chaos()
        agent = self.collect(f'url = {{ "http://nowhere.invalid:4242", "{server.url}" }}')
        self.delivered(agent, 50)
        self.assert_taken(agent, server)

    def test_a_stop_reports_its_losses(self):
        agent = self.collect('url = "http://nowhere.invalid:4242", queue = "1 MiB"')
        agent.wait_status(lambda status: sum(row.get("queued", 0) for row in status["ledger"]) >= 50)
        agent.stop()
        self.assertRegex(agent.errors(), r"sink http: \d+ samples could not be delivered before the stop and are lost; a spool keeps")


class Trust(HttpCase):
    def certificate(self, name, issuer=None, names="IP:127.0.0.1"):
        return certificate(self.folder, name, issuer, names)

    def test_certificates_of_both_sides(self):
        authority = self.certificate("authority")
        server = self.chaos(certificate=self.certificate("server", authority), authorities=authority[0])
        client = self.certificate("client", authority)
        agent = self.collect(f'url = "{server.url}", tls = {{ ca = "{authority[0]}", certificate = "{client[0]}", key = "{client[1]}" }}')
        self.delivered(agent, 50)
        emitted = self.finish(agent)
        self.assert_same(emitted, {opentsdb_key(point): point["value"] for point in server.taken})

    def test_a_wrong_certificate_gets_nothing(self):
        authority, stranger = self.certificate("authority"), self.certificate("stranger")
        wrong_name = self.chaos(certificate=self.certificate("other", authority, "DNS:other.example"))
        unknown = self.chaos(certificate=self.certificate("server", stranger))
        for server in wrong_name, unknown:
            agent = self.collect(f'url = "{server.url}", tls = {{ ca = "{authority[0]}" }}')
            line = agent.wait_line("trying again")
            self.assertRegex(line.lower(), "certificate")
            agent.kill()
            self.assertEqual(server.requests, [])

    def test_tokens_come_from_a_file_and_stay_out_of_the_log(self):
        token = self.path("token")
        with open(os.open(token, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write("s3cret\n")
        wanted = ["Bearer s3cret"]
        server = self.chaos(lambda server, request: 204 if request.headers["Authorization"] in wanted else (401, {}, b"who are you?"))
        agent = self.collect(f'url = "{server.url}", bearer = "{token}"')
        self.delivered(agent)
        wanted[0] = "Bearer newer"  # the token changes, first there, then here
        agent.wait_line("answered 401: who are you?")
        with open(token, "w") as file:
            file.write("newer")
        self.more(agent)
        emitted = self.finish(agent)
        self.assert_same(emitted, {opentsdb_key(point): point["value"] for point in server.taken})
        self.assertNotIn("s3cret", agent.errors())

    def test_a_token_that_everyone_can_read_is_refused(self):
        token = self.path("token")
        with open(os.open(token, os.O_WRONLY | os.O_CREAT, 0o644), "w") as file:
            file.write("user:s3cret")
        os.chmod(token, 0o644)
        agent = self.start(f'url = "http://127.0.0.1:{free_port()}", basic = "{token}"')
        self.assertNotEqual(agent.join(), 0)
        self.assertIn("chmod 600", agent.errors())
        self.assertNotIn("s3cret", agent.errors())

    def test_a_proxy_tunnels_to_the_server(self):
        seen = []

        class Proxy(socketserver.StreamRequestHandler):
            def handle(self):
                seen.append(self.rfile.readline().decode())
                while self.rfile.readline() not in (b"\r\n", b""):
                    pass
                import socket
                host, port = seen[-1].split()[1].split(":")
                with socket.create_connection((host, int(port))) as server:
                    self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
                    back = threading.Thread(target=self.pump, args=(server, self.connection))
                    back.start()
                    self.pump(self.connection, server)
                    back.join()

            @staticmethod
            def pump(source, target):
                import socket
                try:
                    while piece := source.recv(65536):
                        target.sendall(piece)
                    target.shutdown(socket.SHUT_WR)
                except OSError:
                    pass

        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Proxy) as proxy:
            proxy.daemon_threads = True
            thread = threading.Thread(target=proxy.serve_forever)
            thread.start()
            try:
                authority = self.certificate("authority")
                server = self.chaos(certificate=self.certificate("server", authority))
                agent = self.collect(f'url = "{server.url}", tls = {{ ca = "{authority[0]}" }}, '
                                     f'proxy = "http://127.0.0.1:{proxy.server_address[1]}"')
                self.delivered(agent, 50)
                emitted = self.finish(agent)
                self.assert_same(emitted, {opentsdb_key(point): point["value"] for point in server.taken})
                self.assertEqual(seen[0].split()[:2], ["CONNECT", server.url[len("https://"):]])
            finally:
                proxy.shutdown()
                thread.join()


if __name__ == "__main__":
    main()
