# SPDX-License-Identifier: Apache-2.0
"""A hub: the real agent with the source receive. Acknowledged points are in its store."""

import gzip
import http.client
import json
import os
import re
import shutil
import socket
import sqlite3
import ssl
import subprocess
import threading
import time
import unittest
import warnings
import zlib

from harness import BINARY, PATIENCE, AgentCase, main, points

TIME = 1795219532


def point(metric, value, timestamp=TIME, **tags):
    return {"metric": metric, "timestamp": timestamp, "value": value, "tags": tags or {"host": "a"}}


class Client:
    """One keep-alive connection."""

    def __init__(self, port, host="127.0.0.1", context=None, headers=None, source=None):
        kind = http.client.HTTPSConnection if context else http.client.HTTPConnection
        options = {"context": context} if context else {}
        if source:
            options["source_address"] = (source, 0)
        self.connection = kind(host, port, timeout=PATIENCE, **options)
        self.headers = headers or {}

    def ask(self, path, body=None, method="POST", **headers):
        """-> status, headers, body as text."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request(method, path, body, {**self.headers, **names})
        response = self.connection.getresponse()
        return response.status, response.headers, response.read().decode()

    def put(self, documents, query=""):
        return self.ask("/api/put" + query, json.dumps(documents))

    def close(self):
        self.connection.close()


class Hub(AgentCase):
    def hub(self, options="", sink=None, folder=None, name="hub"):
        self.store = self.path("store.db")
        lua = f"""
        local a = require "atalaya"
        a.pipeline "hub" {{
          a.source.receive {{ listen = "127.0.0.1:0", store_timeout = "50s", {options} }},
          {sink or f'a.sink.sqlite {{ path = "{self.store}" }}'},
        }}"""
        agent = self.run_agent(lua).running()
        agent.port = self.port_of(agent.wait_line('source "receive": listening on'))
        return agent

    @staticmethod
    def port_of(line):
        return int(line.split(" on ")[1].split()[0].rsplit(":", 1)[1])

    def client(self, agent, **options):
        client = Client(agent.port, **options)
        self.addCleanup(client.close)
        return client

    def stored(self, query="select metric, time, host, value from points order by metric, time, host", store=None):
        with sqlite3.connect(store or self.store) as database:
            return database.execute(query).fetchall()


class Protocol(Hub):
    def test_points_with_204_are_in_the_store_exactly(self):
        agent = self.hub()
        client = self.client(agent)
        documents = [point("int", 9007199254740993), point("least", -9223372036854775808), point("text", "99.40"),
                     point("real", 0.1), point("ms", 5, TIME * 1000 + 123), point("fraction", "7", f"{TIME}.250")]
        self.assertEqual(client.put(documents)[::2], (204, ""))
        # No wait: the answer came after the commit.
        self.assertEqual(self.stored(), [
            ("fraction", TIME * 1000 + 250, "a", 7), ("int", TIME * 1000, "a", 9007199254740993),
            ("least", TIME * 1000, "a", -9223372036854775808), ("ms", TIME * 1000 + 123, "a", 5),
            ("real", TIME * 1000, "a", 0.1), ("text", TIME * 1000, "a", 99.4)])
        self.assert_balanced(agent.status())
        self.assertEqual(agent.stop(), 0, agent.errors())

    def test_the_host_of_a_point_is_its_senders(self):
        agent = self.hub()
        self.client(agent).put([point("m", 1, host="elsewhere"), point("n", 1, host="other")])
        self.assertEqual([row[2] for row in self.stored()], ["elsewhere", "other"])

    def test_answers_are_opentsdbs(self):
        client = self.client(self.hub())
        good, bad = point("m", 1), point("bad", "x")
        status, _, text = client.put([good, bad])
        self.assertEqual((status, json.loads(text)), (400, {"error": {
            "code": 400, "message": "One or more data points had errors",
            "details": 'Please see the TSD logs or append "details" to the put request'}}))
        self.assertEqual(client.put([good], "?summary")[::2], (200, '{"success":1,"failed":0}'))
        status, _, text = client.put([bad, point("", 1), good], "?details")
        self.assertEqual(status, 400)
        details = json.loads(text)
        self.assertEqual((details["success"], details["failed"]), (1, 2))
        self.assertEqual(details["errors"][0], {"datapoint": {"metric": "bad", "timestamp": TIME, "value": "x", "tags": {"host": "a"}},
                                             "error": "Unable to parse value to a number"})
        self.assertEqual(details["errors"][1]["error"], "Metric name was empty")
        self.assertEqual(json.loads(client.put([good], "?details&sync_timeout=5000")[2]),
                         {"success": 1, "failed": 0, "timeouts": 0, "errors": []})
        for body, message in (("x", "The JSON must start as an object or an array"), ("[{]", "Unable to parse the given JSON"),
                              ("", "Missing request content"), ("[]", "No datapoints found in content")):
            status, _, text = client.ask("/api/put", body)
            self.assertEqual((status, json.loads(text)["error"]["message"]), (400, message))
        self.assertEqual(client.ask("/api/put", method="GET")[0], 405)
        self.assertEqual(client.ask("/nothing", "{}")[0], 404)
        self.assertEqual(client.ask("/health", method="GET")[0], 200)
        self.assertEqual(self.stored("select distinct metric from points"), [("m",)])

    def test_a_broken_body_stores_nothing_and_the_connection_continues(self):
        client = self.client(self.hub())
        status, _, _ = client.ask("/api/put", json.dumps([point("torn", 1), point("torn2", 1)])[:-5])
        self.assertEqual(status, 400)
        self.assertEqual(client.put([point("whole", 1)])[0], 204)
        self.assertEqual([row[0] for row in self.stored()], ["whole"])

    def test_compressed_and_chunked_bodies(self):
        agent = self.hub('max_body = "64 KiB", max_decoded = "1 MiB"')
        client = self.client(agent)
        for name, encoded in (("gzip", gzip.compress), ("deflate", zlib.compress)):
            status, _, text = client.ask("/api/put", encoded(json.dumps([point(name, 1)]).encode()), Content_Encoding=name)
            self.assertEqual(status, 204, text)
        if shutil.which("zstd"):
            body = subprocess.run(["zstd", "-c"], input=json.dumps([point("zstd", 1)]).encode(), capture_output=True).stdout
            self.assertEqual(client.ask("/api/put", body, Content_Encoding="zstd")[0], 204)
            self.assertIn("zstd", {row[0] for row in self.stored()})
        chunks = (json.dumps([point("chunked", 1)]).encode()[i:i + 7] for i in range(0, 200, 7))
        self.assertEqual(client.ask("/api/put", chunks)[0], 204)
        self.assertLessEqual({"gzip", "deflate", "chunked"}, {row[0] for row in self.stored()})
        whole = gzip.compress(json.dumps([point("never", 1)]).encode())
        for body, encoding, expected in ((whole[:-4], "gzip", 400), (whole, "br", 415), (b"x" * 100_000, "identity", 413),
                                         (gzip.compress(b" " * 20_000_000), "gzip", 413)):
            self.assertEqual(client.ask("/api/put", body, Content_Encoding=encoding)[0], expected)
            self.assertEqual(client.put([point("after", 1)])[0], 204)  # the connection continues
        self.assertNotIn("never", {row[0] for row in self.stored()})

    def test_stacks_of_the_reference_and_own_lines(self):
        out = self.path("out")
        agent = self.hub(sink=f'a.sink.file {{ path = "{out}", format = "samples" }}')
        client = self.client(agent)
        stack = {"timestamp": 1495813324, "hostname": "hadoop0", "stack": "java-18714;start_thread;JavaThread::run", "value": 6}
        self.assertEqual(client.ask("/cpu", json.dumps([stack]))[0], 201)
        status, _, text = client.ask("/cpu?details", json.dumps([stack, {**stack, "value": 0}]))
        self.assertEqual(status, 422)
        self.assertEqual(json.loads(text)["_issues"], [{"document": 1, "error": "value: min value is 1"}])
        lines = '{"metric":"p","timestamp":1795219532001,"value":1,"tags":{"host":"z"}}\n{torn\n'
        status, _, text = client.ask("/api/jsonlines?details", lines)
        self.assertEqual((status, json.loads(text)["errors"]), (400, [{"line": 2, "error": "Unable to parse the given JSON"}]))
        first, _, last = points(out)
        self.assertEqual(first, {"kind": "stack", "time": 1495813324000000000, "duration": 0, "text": "start_thread;JavaThread::run",
                                 "tags": {"process": "java", "pid": "18714", "host": "hadoop0", "profile": "cpu"},
                                 "fields": {"profile.samples": 6}})
        self.assertEqual((last["time"], last["fields"]), (1795219532001000000, {"p": 1}))

    def test_a_point_of_each_request_and_time_is_one_sample(self):
        out = self.path("out")
        client = self.client(self.hub(sink=f'a.sink.file {{ path = "{out}", format = "samples" }}'))
        client.put([point("x", 1, pid="1"), point("x", 2, pid="2"), point("y", 3, pid="1"), point("x", 4, TIME + 1, pid="1")])
        self.assertEqual([sample["fields"] for sample in points(out)], [{"x": 1, "y": 3}, {"x": 2}, {"x": 4}])

    def test_a_real_agents_windows_reach_the_hub_value_by_value(self):
        agent = self.hub()
        environment = dict(os.environ, STATE_DIRECTORY=self.folder, RUNTIME_DIRECTORY=self.path("r"))
        lua = self.path("agent.lua")
        for form, path, key in (("jsonlines", "/api/jsonlines", "process"), ("bdwatchdog", "/api/put", "command")):
            lines, store = self.path(form), self.path(form + ".db")
            with open(lua, "w") as file:
                file.write(f"""local a = require "atalaya"
                a.pipeline "p" {{ every = "200ms", a.source.proc {{ processes = false, cgroups = false }},
                  a.sink.file {{ path = "{lines}", format = "{form}" }}, a.sink.sqlite {{ path = "{store}" }} }}""")
            subprocess.run([BINARY, "run", lua, "--for", "1s"], env=environment, check=True, capture_output=True)
            sent = points(lines)
            self.assertGreater(len(sent), 100)
            with open(lines, "rb") as file:
                body = file.read()
            if form == "bdwatchdog":
                body = b"[" + b",".join(body.splitlines()) + b"]"
            status, _, text = self.client(agent).ask(path + "?summary", gzip.compress(body), Content_Encoding="gzip")
            refused = json.loads(text)["failed"]
            if form == "jsonlines":
                self.assertEqual((status, refused), (200, 0), text)
                mine = "select metric, time, host, pid, process, tags, value from points order by 1, 2, 3, 4, 5, 6"
                self.assertEqual(self.stored(mine), self.stored(mine, store))
            else:
                self.assertLess(refused, len(sent))
        self.assert_balanced(agent.status())


class Guards(Hub):
    def test_tokens(self):
        path = self.path("tokens")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write("# fleet\nopen-sesame\n")
        agent = self.hub(f'tokens = "{path}"')
        stranger = self.client(agent)
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "open-sesame"}):
            status, answer, _ = stranger.ask("/api/put", json.dumps([point("m", 1)]), **headers)
            self.assertEqual(status, 401)
            self.assertIn("Bearer", answer["WWW-Authenticate"])
        self.assertEqual(self.client(agent, headers={"Authorization": "Bearer open-sesame"}).put([point("m", 1)])[0], 204)
        self.assertNotIn("open-sesame", agent.errors())
        with open(os.open(path + ".new", os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write("the-next-one\n")
        os.rename(path + ".new", path)
        until = time.monotonic() + PATIENCE
        while stranger.ask("/api/put", json.dumps([point("m", 1)]), Authorization="Bearer the-next-one")[0] != 204:
            self.assertLess(time.monotonic(), until)

    def test_a_file_of_tokens_for_all_to_read_is_an_error_at_the_start(self):
        path = self.path("tokens")
        with open(path, "w") as file:
            file.write("secret\n")
        os.chmod(path, 0o644)
        agent = self.run_agent(f"""local a = require "atalaya"
        a.pipeline "hub" {{ a.source.receive {{ listen = "127.0.0.1:0", tokens = "{path}" }}, a.sink.file {{ path = "{self.path("o")}" }} }}""")
        self.assertEqual(agent.join(), 1)
        self.assertRegex(agent.errors(), r'pipeline\.lua:2: .*source "receive": tokens: .*chmod 640')

    def test_a_port_in_use_is_an_error_at_the_start(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            agent = self.run_agent(f"""local a = require "atalaya"
            a.pipeline "hub" {{ a.source.receive {{ listen = "127.0.0.1:{taken.getsockname()[1]}" }},
              a.sink.file {{ path = "{self.path("o")}" }} }}""")
            self.assertEqual(agent.join(), 1)
        self.assertIn("another program uses this address", agent.errors())

    @unittest.skipUnless(shutil.which("openssl"), "openssl makes the certificate")
    def test_tls(self):
        certificate, key = self.path("cert.pem"), self.path("key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=hub", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                       check=True, capture_output=True)
        agent = self.hub(f'certificate = "{certificate}", key = "{key}"')
        context = ssl.create_default_context(cafile=certificate)
        client = self.client(agent, context=context)
        for number in range(20):
            self.assertEqual(client.put([point("tls", number, TIME + number)])[0], 204)
        self.assertEqual(len(self.stored()), 20)
        old = ssl.create_default_context(cafile=certificate)
        old.set_ciphers("DEFAULT:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it is old, that is the point
            old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
        with self.assertRaises(OSError):
            self.client(agent, context=old).put([point("old", 1)])
        plain = self.client(agent)
        with self.assertRaises((OSError, http.client.HTTPException)):
            plain.put([point("plain", 1)])

    def make_certificate(self, certificate, key):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=hub", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                       check=True, capture_output=True)

    @unittest.skipUnless(shutil.which("openssl"), "openssl makes the certificate")
    def test_a_reload_reads_the_certificate_again(self):
        certificate, key = self.path("cert.pem"), self.path("key.pem")
        self.make_certificate(certificate, key)
        agent = self.hub(f'certificate = "{certificate}", key = "{key}"')
        first = ssl.create_default_context(cafile=certificate)
        self.assertEqual(self.client(agent, context=first).put([point("tls", 1)])[0], 204)
        self.make_certificate(self.path("new.pem"), self.path("new.key"))
        second = ssl.create_default_context(cafile=self.path("new.pem"))
        # A certificate whose key is another one stops nothing.
        os.replace(self.path("new.pem"), certificate)
        agent.reload()
        agent.wait_line("must be PEM files that match")
        self.assertEqual(self.client(agent, context=first).put([point("tls", 2)])[0], 204)
        os.replace(self.path("new.key"), key)
        agent.reload()
        agent.wait_line("reloaded")
        agent.port = self.port_of(agent.wait_line('source "receive": listening on', 2))
        self.assertEqual(self.client(agent, context=second).put([point("tls", 3)])[0], 204)
        with self.assertRaises(ssl.SSLError):
            self.client(agent, context=first).put([point("tls", 4)])

    @unittest.skipUnless(shutil.which("openssl"), "openssl makes the certificate")
    def test_serve_reads_a_changed_certificate(self):
        certificate, key = self.path("cert.pem"), self.path("key.pem")
        self.make_certificate(certificate, key)
        self.hub().stop()
        server = subprocess.Popen([BINARY, "serve", "--listen", "127.0.0.1:0", "--store", self.store, "--certificate", certificate, "--key", key],
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)

        def line_with(text):
            for line in server.stderr:
                if text in line:
                    return line
            raise AssertionError("serve ended before: " + text)

        def status(context, port):
            connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=PATIENCE)
            self.addCleanup(connection.close)
            connection.request("GET", "/api/v1/labels")
            return connection.getresponse().status
        port = self.port_of(line_with("serving on "))
        first = ssl.create_default_context(cafile=certificate)
        self.assertEqual(status(first, port), 200)
        self.make_certificate(self.path("new.pem"), self.path("new.key"))
        second = ssl.create_default_context(cafile=self.path("new.pem"))
        os.replace(self.path("new.pem"), certificate)
        line_with("the previous certificate is still served")
        self.assertEqual(status(first, port), 200)
        os.replace(self.path("new.key"), key)
        self.assertEqual(self.port_of(line_with("serving on ")), port)
        self.assertEqual(status(second, port), 200)

    def test_slow_clients_are_cut_and_cost_the_others_nothing(self):
        agent = self.hub('request_timeout = "1s", threads = 1')
        head = b"POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n"
        slow = []
        for beginning in (b"", b"POST /api", head, head + b"\r\n[{"):
            sender = socket.create_connection(("127.0.0.1", agent.port))
            sender.sendall(beginning)
            slow.append(sender)
        client = self.client(agent)
        pending = dict(enumerate(slow))
        until = time.monotonic() + PATIENCE
        while pending:
            self.assertLess(time.monotonic(), until, "a slow client was never cut")
            self.assertEqual(client.put([point("m", 1)])[0], 204)
            for number, sender in list(pending.items()):
                sender.settimeout(0.05)
                try:
                    if number > 0:
                        sender.send(b"x")  # a byte now and then: never idle
                    if sender.recv(100) == b"":
                        del pending[number]
                except TimeoutError:
                    pass
                except OSError:
                    del pending[number]
        for sender in slow:
            sender.close()

    def test_a_header_that_is_too_large_is_refused(self):
        agent = self.hub('max_header = "4 KiB"')
        try:
            self.assertEqual(self.client(agent).ask("/api/put", "[]", X_Long="x" * 8000)[0], 431)
        except OSError:
            pass  # the server hung up while the rest of the header was on its way
        self.assertEqual(self.client(agent).put([point("m", 1)])[0], 204)

    def test_connections_beyond_the_limit_wait_until_one_is_free(self):
        agent = self.hub("max_connections = 4, threads = 1")
        clients = [self.client(agent, source=f"127.0.0.{2 + number // 2}") for number in range(4)]
        for client in clients:
            self.assertEqual(client.put([point("m", 1)])[0], 204)
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(self.client(agent).put([point("fifth", 1)])[0]))
        waiting.start()
        for number in range(50):
            self.assertEqual(clients[number % 4].put([point("m", number)])[0], 204)
        self.assertEqual(answers, [])
        clients[0].close()
        waiting.join(PATIENCE)
        self.assertEqual(answers, [204])


class BackPressure(Hub):
    def locked(self):
        """Holds the store's lock, so that the sink cannot commit."""
        database = sqlite3.connect(self.store, isolation_level=None, timeout=PATIENCE, check_same_thread=False)
        database.execute("begin immediate")
        return database

    def test_no_204_while_the_store_cannot_commit(self):
        agent = self.hub()
        self.client(agent).put([point("first", 1)])
        lock = self.locked()
        answers = []
        sender = threading.Thread(target=lambda: answers.append(self.client(agent).put([point("second", 1)])[0]))
        sender.start()
        agent.wait_status(lambda status: agent.row("hub", "sink sqlite", status)["queued"] > 0)
        self.assertEqual(answers, [])
        lock.execute("rollback")
        lock.close()
        sender.join(PATIENCE)
        self.assertEqual(answers, [204])
        self.assertIn("second", {row[0] for row in self.stored()})

    def test_a_request_that_waits_too_long_gets_retry_after(self):
        agent = self.hub('store_timeout = "300ms"')
        client = self.client(agent)
        client.put([point("first", 1)])
        lock = self.locked()
        status, headers, text = client.put([point("late", 1)])
        self.assertEqual(status, 503)
        self.assertGreater(int(headers["Retry-After"]), 0)
        until = time.monotonic() + PATIENCE
        while (answer := client.put([point("late", 1)], "?details&sync_timeout=50"))[0] == 503:
            self.assertLess(time.monotonic(), until)  # a busy host may take longer than both to begin with it
        status, _, text = answer
        self.assertEqual((status, json.loads(text)["timeouts"]), (400, 1))
        lock.execute("rollback")
        lock.close()
        while client.put([point("late", 1)])[0] != 204:
            pass
        self.assertEqual(len([row for row in self.stored() if row[0] == "late"]), 1)

    def test_full_queues_are_429_and_nothing_that_got_204_is_lost(self):
        agent = self.hub('max_waiting = "64 KiB"')
        self.client(agent).put([point("first", 1)])
        lock = self.locked()
        filler = [point("fill", number, TIME + number) for number in range(150)]  # about 14 KB
        # Two batches under way and the waiting ones hold at most three times max_waiting.
        count = 30
        seen, stored, guard = set(), [], threading.Lock()

        def send(number):
            client = self.client(agent)
            while True:
                documents = [{**one, "tags": {"host": f"h{number}"}} for one in filler]
                status, headers, _ = client.put(documents)
                with guard:
                    seen.add(status)
                if status == 204:
                    stored.append(number)
                    return
                self.assertEqual(status, 429)
                self.assertEqual(headers["Retry-After"], "1")
                released.wait(1)

        released = threading.Event()
        senders = [threading.Thread(target=send, args=(number,)) for number in range(count)]
        for sender in senders:
            sender.start()
        until = time.monotonic() + PATIENCE
        while 429 not in seen and time.monotonic() < until:
            released.wait(0.01)
        self.assertIn(429, seen)
        lock.execute("rollback")
        lock.close()
        released.set()
        for sender in senders:
            sender.join(PATIENCE)
        self.assertEqual(sorted(stored), list(range(count)))
        counted = self.stored("select host, count(*) from points where metric = 'fill' group by host")
        self.assertEqual(dict(counted), {f"h{number}": 150 for number in range(count)})
        self.assert_balanced(agent.status())


class Fairness(Hub):
    """Two senders by address, one of them abusive."""

    def senders(self, options=""):
        self.agent = self.hub(options)
        return self.client(self.agent, source="127.0.0.2"), self.client(self.agent, source="127.0.0.3")

    def assert_refused(self, abuser, honest, quota, body, most):
        """Sends bodies until the quota is used: then the abuser waits for its next hour, and the honest sender has no error."""
        accepted = 0
        for number in range(most):
            status, headers, text = abuser.put(body(number))
            if status == 429:
                break
            self.assertEqual(status, 204)
            accepted += 1
            self.assertEqual(honest.put([point("honest", number, TIME + number)])[0], 204)
        self.assertEqual(status, 429, f"{accepted} bodies accepted")
        self.assertGreater(int(headers["Retry-After"]), 3000)
        self.assertIn(quota, text)
        for number in range(100):
            self.assertEqual(honest.put([point("after", number, TIME + number)])[0], 204)
        self.assertEqual(abuser.put([point("m", 1)])[0], 429)
        self.assertEqual(len(self.stored("select * from points where metric = 'after'")), 100)
        self.agent.wait_line(f"sender 127.0.0.2: quota {quota}")
        self.assertEqual(self.agent.errors().count("sender 127.0.0.2"), 1)
        self.assertNotIn("127.0.0.3", self.agent.errors())
        self.assert_balanced(self.agent.status())
        return accepted

    def test_quota_of_cpu_time(self):
        abuser, honest = self.senders('hourly_cpu = "200ms", strict = false')
        tags = {f"tag{number}": "x" * 10 for number in range(1024)}
        self.assert_refused(abuser, honest, "hourly_cpu", lambda number: [point("many", 1, TIME + number, **tags)] * 100, 2000)

    def test_quota_of_bytes(self):
        abuser, honest = self.senders('hourly_bytes = "1 MiB"')
        accepted = self.assert_refused(abuser, honest, "hourly_bytes", lambda number: [point("m", 1, TIME + number)] * 1000, 100)
        self.assertEqual(accepted, -(-2**20 // len(json.dumps([point("m", 1, TIME)] * 1000))))

    def test_quota_of_series(self):
        abuser, honest = self.senders("hourly_series = 5000")
        accepted = self.assert_refused(abuser, honest, "hourly_series", lambda number: [
            point("m", 1, TIME, host=f"h{number}-{each}") for each in range(500)], 30)
        self.assertLess(abs(accepted - 10), 3)  # the number is an estimate within some per cent

    def test_names_of_one_sender_are_half_of_the_table(self):
        abuser, honest = self.senders("max_names = 1000")
        refused = sum(abuser.put([point(f"name{number}", 1)])[0] == 400 for number in range(600))
        self.assertGreater(refused, 90)
        for number in range(100):
            self.assertEqual(honest.put([point(f"honest{number}", 1)])[0], 204)
        self.agent.wait_line("sender 127.0.0.2 has used half of max_names")

    def test_requests_of_each_sender_are_metrics_in_the_store_and_for_prometheus(self):
        """Sums of the windows are the answers that the senders got; a quota that is used shows as throttled requests."""
        sink = f'a.sink.sqlite {{ path = "{self.path("store.db")}" }}, a.sink.prometheus {{ listen = "127.0.0.1:0" }}'
        self.agent = self.hub('hourly_bytes = "64 KiB", metrics_every = "1s"', sink=sink)
        scraped = int(self.agent.wait_line('sink "prometheus": listening on').rsplit(":", 1)[1].split()[0])
        abuser, honest = (self.client(self.agent, source=address) for address in ("127.0.0.2", "127.0.0.3"))
        answers = {"127.0.0.2": [], "127.0.0.3": []}
        body = json.dumps([point("m", 1, TIME + number) for number in range(300)])
        while 429 not in answers["127.0.0.2"] or len(answers["127.0.0.2"]) < 12:
            answers["127.0.0.2"].append(abuser.ask("/api/put", body)[0])
        for number in range(5):
            answers["127.0.0.3"].append(honest.put([point("honest", number, TIME + number, pid=f"{each}") for each in range(7)])[0])
        answers["127.0.0.3"].append(honest.ask("/api/put", "[{")[0])
        honest.ask("/health", method="GET")
        honest.ask("/nothing")
        expected = {("receive.requests.refused", "unidentified"): 1, ("receive.bytes", "127.0.0.2"): 0,
                    ("receive.samples", "127.0.0.3"): 35, ("receive.series.new", "127.0.0.3"): 7}
        for sender, statuses in answers.items():
            accepted = sum(status < 300 for status in statuses)
            expected["receive.requests.accepted", sender] = accepted
            expected["receive.requests.refused", sender] = len(statuses) - accepted
            expected["receive.requests.throttled", sender] = statuses.count(429)
        expected["receive.bytes", "127.0.0.2"] = len(body) * expected["receive.requests.accepted", "127.0.0.2"]
        query = """select metric, json_extract(tags, '$.sender'), sum(value) from points
                   where metric like 'receive.%' and metric <> 'receive.names' group by 1, 2"""
        until, sums = time.monotonic() + PATIENCE, {}
        while not expected.items() <= sums.items():
            self.assertLess(time.monotonic(), until, f"{sums} is not {expected}")
            sums = {(metric, sender): value for metric, sender, value in self.stored(query)}
        client = http.client.HTTPConnection("127.0.0.1", scraped, timeout=PATIENCE)
        until = time.monotonic() + PATIENCE
        while True:  # a scrape has the senders of the last window
            abuser.ask("/api/put", body)
            client.request("GET", "/metrics")
            page = client.getresponse().read().decode()
            if re.search("receive_requests_throttled.*127.0.0.2", page) and "receive_names" in page:
                break
            self.assertLess(time.monotonic(), until, page)
        client.close()
        self.assert_balanced(self.agent.status())

    def test_connections_of_one_sender_leave_half_for_the_others(self):
        agent = self.hub("max_connections = 8, threads = 1")
        abuser = [self.client(agent, source="127.0.0.2") for _ in range(4)]
        for client in abuser:
            self.assertEqual(client.put([point("m", 1)])[0], 204)
        with self.assertRaises((OSError, http.client.HTTPException)):
            self.client(agent, source="127.0.0.2").put([point("m", 1)])
        for number in range(4):
            self.assertEqual(self.client(agent, source="127.0.0.3").put([point("honest", number, TIME + number)])[0], 204)
        abuser[0].close()
        until = time.monotonic() + PATIENCE
        while True:  # the server notices the end of a connection on its own time
            try:
                self.assertEqual(self.client(agent, source="127.0.0.2").put([point("m", 2)])[0], 204)
                break
            except (OSError, http.client.HTTPException):
                self.assertLess(time.monotonic(), until)

    def test_bodies_of_one_sender_leave_room_for_the_others(self):
        abuser, honest = self.senders('max_waiting = "256 KiB"')
        honest.put([point("first", 1)])
        lock = BackPressure.locked(self)
        filler = json.dumps([point("fill", number, TIME + number) for number in range(300)])  # about 28 KB
        answers, guard, refused = [], threading.Lock(), threading.Event()

        def flood():
            while not refused.is_set():
                client = self.client(self.agent, source="127.0.0.2")
                status = client.ask("/api/put", filler)[0]
                with guard:
                    answers.append(status)
                if status == 429:
                    refused.set()

        floods = [threading.Thread(target=flood) for _ in range(40)]
        for thread in floods:
            thread.start()
        self.assertTrue(refused.wait(PATIENCE))
        waiting = [self.client(self.agent, source="127.0.0.3") for _ in range(20)]
        for number, client in enumerate(waiting):
            client.connection.request("POST", "/api/put", json.dumps([point("honest", number, TIME + number)]))
        lock.execute("rollback")
        lock.close()
        self.assertEqual([client.connection.getresponse().status for client in waiting], [204] * 20)
        for thread in floods:
            thread.join(PATIENCE)
        self.assertIn(429, answers)
        self.assertEqual(len(self.stored("select * from points where metric = 'honest'")), 20)
        self.assert_balanced(self.agent.status())


class Fleet(Hub):
    def test_many_senders_at_once_are_counted_exactly(self):
        agent = self.hub()
        wrong = []

        def send(number):
            client = self.client(agent)
            for window in range(30):
                documents = [point(f"m{metric}", window * 100 + metric, TIME + window, host=f"h{number}") for metric in range(20)]
                if number % 3 == 0 and window % 5 == 0:  # some of them send nonsense between
                    client.ask("/api/put", "[{" * window)
                status = client.put(documents)[0]
                if status != 204:
                    wrong.append(status)

        senders = [threading.Thread(target=send, args=(number,)) for number in range(16)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join(PATIENCE)
        self.assertEqual(wrong, [])
        rows = self.stored("select host, count(*), sum(value) from points group by host")
        total = sum(window * 100 + metric for window in range(30) for metric in range(20))
        self.assertEqual(sorted(rows), sorted((f"h{number}", 600, total) for number in range(16)))
        self.assert_balanced(agent.status())
        self.assertEqual(agent.stop(), 0, agent.errors())

    def test_killed_in_the_middle_it_has_all_that_got_204(self):
        confirmed, guard = set(), threading.Lock()
        for round_number in range(5):
            agent = self.hub()
            enough = threading.Event()

            def send(number):
                client = Client(agent.port)
                try:
                    for window in range(10_000):
                        stamp = TIME + window
                        if client.put([point("m", window, stamp, host=f"r{round_number}h{number}")])[0] == 204:
                            with guard:
                                confirmed.add((f"r{round_number}h{number}", stamp * 1000, window))
                        if window == 20 * (round_number + 1):
                            enough.set()
                except (OSError, http.client.HTTPException):
                    pass
                finally:
                    client.close()

            senders = [threading.Thread(target=send, args=(number,)) for number in range(4)]
            for sender in senders:
                sender.start()
            self.assertTrue(enough.wait(PATIENCE))
            agent.kill()
            for sender in senders:
                sender.join(PATIENCE)
        self.assertGreater(len(confirmed), 100)
        kept = set(self.stored("select host, time, value from points"))
        self.assertEqual(confirmed - kept, set())
        self.assertLessEqual(len(kept - confirmed), 4 * 5)  # stored, but killed before the answer: harmless when sent again

    def test_stopped_in_order_it_acknowledges_stored_points(self):
        agent = self.hub()
        results, started = [], threading.Barrier(9)

        def send(number):
            client = Client(agent.port)
            started.wait()
            sent = 0
            try:
                for window in range(10_000):
                    status = client.put([point("m", window, TIME + window, host=f"h{number}")])[0]
                    if status != 204:
                        break
                    sent += 1
                    if sent == 20:
                        ready.release()
            except (OSError, http.client.HTTPException):
                pass
            results.append((f"h{number}", sent))
            client.close()

        ready = threading.Semaphore(0)
        senders = [threading.Thread(target=send, args=(number,)) for number in range(8)]
        for sender in senders:
            sender.start()
        started.wait()
        for _ in senders:
            self.assertTrue(ready.acquire(timeout=PATIENCE))
        self.assertEqual(agent.stop(), 0, agent.errors())
        for sender in senders:
            sender.join(PATIENCE)
        kept = dict(self.stored("select host, count(*) from points group by host"))
        for host, sent in results:
            self.assertGreaterEqual(kept[host], sent)

    def test_a_reload_with_other_options_keeps_the_port_and_loses_nothing(self):
        agent = self.hub()
        client = self.client(agent)
        self.assertEqual(client.put([point("before", 1)])[0], 204)
        with open(agent.file) as file:
            lua = file.read()
        agent.write(lua.replace("127.0.0.1:0", f"127.0.0.1:{agent.port}").replace("a.source.receive {", "a.source.receive { threads = 1,"))
        agent.reload()
        agent.wait_line("reloaded")
        self.assertEqual(self.client(agent).put([point("after", 1)])[0], 204)
        self.assertEqual([row[0] for row in self.stored()], ["after", "before"])


if __name__ == "__main__":
    main()
