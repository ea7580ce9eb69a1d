# SPDX-License-Identifier: Apache-2.0
"""The sink clickhouse and the engine that reads it, against real servers: one, and a cluster of two shards. ClickHouse must return the
results of SQLite, to the byte."""

import contextlib
import json
import os
import re
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error

from clickhouse_servers import CLUSTER, ClickHouse, ZooKeeper
from harness import BINARY, PATIENCE, AgentCase, main
from query_test import T0, WHEN, documents, http

DAY = 86400


def lines(records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def post(url, body):
    """As a sender does: points that are not acknowledged in time are sent again."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return http(url, body)
        except urllib.error.HTTPError as error:
            if error.code != 503 or time.monotonic() > until:
                raise


def odd_records(days=60):
    """Names and values that a statement has to be careful with, counts beyond 2^53, spans, several days."""
    values = ["it's", 'say "x"', "back\\slash", "new\nline", "tab\t", "\u00e9t\u00e9", "100%", "a_b",
              "'); DROP TABLE points; --", "{p0:String}", "\\N", "x"]
    for i, value in enumerate(values):
        for second in (10, 20):
            yield {"metric": "odd.value", "timestamp": (T0 + second) * 1000, "value": i + second / 8,
                   "tags": {"host": "odd", "name": value}}
    yield {"metric": "odd'metric", "timestamp": (T0 + 10) * 1000, "value": 1.5, "tags": {"host": "odd", "a'key": "v"}}
    for day in range(days):
        yield {"metric": "odd.days", "timestamp": (T0 - day * DAY) * 1000, "value": day, "tags": {"host": "odd"}}


def spans():
    yield {"span": "map", "start": (T0 + 5) * 1000, "end": (T0 + 9) * 1000, "tags": {"job": "j1"}, "fields": {"n": 1}}
    yield {"span": "reduce", "start": (T0 + 7) * 1000, "tags": {"job": "j1"}, "fields": {}}


class Relay:
    """Another address of a server, until it is closed."""

    def __init__(self, port):
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.ends = [self.listener]
        self.thread = threading.Thread(target=self.accept)

    def __enter__(self):
        self.thread.start()
        return self

    def accept(self):
        pairs = []
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                break
            server = socket.create_connection(("127.0.0.1", self.target))
            self.ends += [client, server]
            for ends in ((client, server), (server, client)):
                pairs.append(threading.Thread(target=self.copy, args=ends))
                pairs[-1].start()
        for pair in pairs:
            pair.join()

    @staticmethod
    def copy(source, target):
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                target.sendall(piece)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def close(self):
        for end in self.ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        for end in self.ends:
            end.close()

    def __exit__(self, *_):
        self.close()


class ServedCase(AgentCase):
    """One server for the class, a database for each test, and an agent that writes it."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="atalaya-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.temporary_of_class = folder.name
        cls.server = cls.make_server()
        cls.addClassCleanup(cls.server.stop)
        cls.databases = 0

    @classmethod
    def make_server(cls):
        server = ClickHouse(cls.temporary_of_class, password="pass'word")
        cls.password_file(cls.temporary_of_class, "default:pass'word")
        return server.start()

    @staticmethod
    def password_file(folder, text, name="basic"):
        path = os.path.join(folder, name)
        with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
        return path

    def setUp(self):
        super().setUp()
        type(self).databases += 1
        self.database = f"test_{self.databases}"
        self.make_database()
        self.url = f"{self.server.url}/{self.database}"
        self.basic = os.path.join(self.temporary_of_class, "basic")
        self.clickhouse = f"clickhouse:{self.url}?basic={self.basic}"
        self.sqlite = self.path("atalaya.db")

    def make_database(self):
        self.server.query("CREATE DATABASE " + self.database)

    def sink(self, **parameters):
        parameters = {"url": self.url, "basic": self.basic, **parameters}
        return "a.sink.clickhouse { %s }" % ", ".join(f"{key} = {json.dumps(value)}" for key, value in parameters.items())

    def hub(self, *sinks):
        """An agent that takes points by HTTP; a request is answered when all sinks have its points."""
        # However slow the machine is: a sender does not have to repeat a request, except where a test wants that.
        agent = self.run_agent('local a = require "atalaya"\na.pipeline "hub" { a.source.receive { listen = "127.0.0.1:0", '
                               'store_timeout = "%ds" }, %s }\n' % (PATIENCE - 10, ", ".join(sinks))).running()
        return agent, "http://" + agent.wait_line("listening on ").split("listening on ")[1].split()[0]

    def both(self, **parameters):
        """An agent that writes to both engines."""
        return self.hub('a.sink.sqlite { path = "%s", retain = "0s" }' % self.sqlite, self.sink(**parameters))

    def atalaya(self, *words, status=0, store=None, **options):
        env = dict(os.environ, ATALAYA_STORE=store or self.clickhouse, TZ="UTC")
        done = subprocess.run([BINARY, *words], capture_output=True, env=env, timeout=PATIENCE, **options)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        self.errors = done.stderr.decode()
        return done.stdout.decode()

    def assert_same(self, *words, **options):
        """Both engines return the same; returns it."""
        said = self.atalaya(*words, store=self.sqlite, **options)
        self.assertEqual(self.atalaya(*words, store=self.clickhouse, **options), said, words)
        return said

    def serve(self, store):
        server = subprocess.Popen([BINARY, "serve", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True,
                                  env=dict(os.environ, ATALAYA_STORE=store))

        def end():
            server.terminate()
            server.wait(PATIENCE)
            server.stderr.close()
        self.addCleanup(end)
        for line in server.stderr:
            if "serving on " in line:
                return "http://" + line.split("serving on ")[1].split()[0]
        raise AssertionError("serve ended")

    def rows(self, statement):
        return self.server.query(statement, self.database)


QUESTIONS = [
    ["query", "--metric", "proc.disk.writes.mb", "--group-by", "host,process,pid"],
    ["query", "--metric", "proc.disk.writes.mb", "--aggregate", "avg", "--every", "10s"],
    ["query", "--metric", "proc.disk.writes.mb", "--tag", "host=host1", "--tag", "process=P2", "--tag", "process=P3"],
    ["query", "--metric", "proc.disk.writes.mb", "--tag", "host=h*1", "--aggregate", "p95"],
    ["query", "--metric", "proc.disk.writes.mb", "--tag", "host=~^h.*2$", "--tag", "pid=!33", "--aggregate", "none"],
    ["query", "--metric", "proc.disk.writes.mb", "--tag", "process=!P2", "--tag", "process=!P3", "--aggregate", "none"],
    ["query", "--metric", "*", "--group-by", "host"],
    ["query", "--metric", "~^odd", "--aggregate", "none"],
    ["query", "--metric", "odd'metric", "--aggregate", "none"],
    ["query", "--metric", "odd.*", "--tag", "a'key=v", "--aggregate", "none"],
    ["query", "--metric", "odd.days", "--from", str(T0 - 70 * DAY), "--aggregate", "none"],
    ["query", "--metric", "odd.days", "--from", str(T0 - 7 * DAY), "--every", "1d"],
    ["query", "--metric", "proc.disk.writes.mb", "--rate", "--group-by", "process"],
    ["query", "--metric", "odd.days", "--from", str(T0 - 70 * DAY), "--every", "7d-count", "--aggregate", "none"],
    ["query", "--metric", "odd.value", "--every", "1m-sum-zero", "--group-by", "name"],
    ["query", "--metric", "proc.disk.writes.mb", "--every", "10s", "--rate"],
    ["report", "--by", "process", "--metric", "proc.disk.writes.mb"],
    ["report", "--by", "host", "--metric", "*"],
] + [["query", "--metric", "~^(odd.value|proc.disk)", "--every", every + "-" + function, "--aggregate", "none"]
     for every in ("7s", "10s", "0all") for function in ("sum", "avg", "min", "max", "count", "first", "last", "dev", "p50")
] + [["query", "--metric", "odd.value", "--tag", "name=" + pattern, "--aggregate", "none"] for pattern in (
    "it's", 'say "x"', "back\\\\slash", "new\nline", "tab\t", "\u00e9t\u00e9", "?t*", "??t??", "100%", "100*", "a_b", "a?b", "!x", "!*s*", "!?",
    "[a-z]*", "~^(new|tab)", "~^ba?", "~lash$", "'); DROP TABLE points; --", "{p0:String}", "\\\\N", "*", "!*")]


@unittest.skipUnless(ClickHouse.there, "needs clickhouse-server")
class OneServer(ServedCase):
    def test_both_engines_answer_the_same(self):
        _, hub = self.both(batch_rows=50)
        post(hub + "/api/put", json.dumps(list(documents())).encode())
        post(hub + "/api/jsonlines", lines(odd_records()))
        empty = 0
        for question in QUESTIONS:
            when = WHEN if "--from" not in question else WHEN[2:]
            out = self.assert_same(*question, "--format", "json", *when)
            empty += json.loads(out) == []
        self.assertLessEqual(empty, 8)
        self.assert_same("query", "--metric", "proc.disk.write.mb", *WHEN, status=2)
        self.assertIn('did you mean "proc.disk.writes.mb"?', self.errors)
        self.assertEqual(self.rows("SELECT count() FROM points FINAL WHERE metric LIKE 'odd%'"), [["85"]])

    def test_counts_are_exact_and_all_that_is_sent_twice_counts_once(self):
        agent, hub = self.both()
        counts = lines({"metric": "n", "timestamp": (T0 + second) * 1000, "value": 2 ** 60 + second,
                        "tags": {"host": "h"}} for second in (1, 2))
        for _ in range(3):
            http(hub + "/api/put", json.dumps(list(documents())).encode())
            http(hub + "/api/jsonlines", counts)
        again = [dict(document, value=100) for document in documents()]
        http(hub + "/api/put", json.dumps(again).encode())
        agent.stop()
        _, hub = self.both()  # an agent that remembers nothing
        http(hub + "/api/jsonlines", counts)
        for words in (["--metric", "n"], ["--metric", "proc.disk.writes.mb", "--aggregate", "count"],
                      ["--metric", "proc.disk.writes.mb", "--group-by", "host"]):
            self.assert_same("query", *words, "--format", "json", *WHEN)
        self.assertEqual(self.rows("SELECT count FROM points FINAL WHERE metric = 'n' ORDER BY time_ns"),
                         [[str(2 ** 60 + 1)], [str(2 ** 60 + 2)]])
        self.assertGreater(int(self.rows("SELECT count() FROM points")[0][0]), 38)

    def test_experiments_are_kept(self):
        _, hub = self.both()
        post(hub + "/api/put", json.dumps(list(documents())).encode())
        for store in (self.sqlite, self.clickhouse):
            self.atalaya("experiment", "start", "tera", "--notes", "it's a \\ note", "--user", "u", "--at", str(T0 + 5), store=store)
            self.atalaya("experiment", "start", "tera", "--workload", "w", "--at", str(T0 + 15), store=store)
            self.atalaya("experiment", "end", "tera", "--workload", "w", "--at", str(T0 + 25), store=store)
        self.assertIn('"w"', self.assert_same("experiment", "list", "--format", "json"))
        for store in (self.sqlite, self.clickhouse):
            self.atalaya("experiment", "end", "tera", "--at", str(T0 + 35), store=store)
        exported = self.assert_same("experiment", "show", "tera", "--format", "json")
        self.atalaya("experiment", "end", "tera", status=2)
        self.atalaya("experiment", "delete", "tera")
        self.assertEqual(json.loads(self.atalaya("experiment", "list", "--format", "json")), [])
        self.atalaya("experiment", "import", "-", input=exported.encode())
        self.assertEqual(self.atalaya("experiment", "show", "tera", "--format", "json"), exported)

    def test_an_experiment_makes_no_tables(self):
        """It would make them on one server, and a sink may want them on a cluster."""
        self.atalaya("experiment", "start", "early", "--at", str(T0), status=1)
        self.assertIn("is empty; run a pipeline with the sink \"clickhouse\" first", self.errors)
        self.assertEqual(self.rows("SHOW TABLES"), [])

    def test_a_correction_wins_over_a_clock_that_is_ahead(self):
        _, hub = self.both()
        post(hub + "/api/put", json.dumps(list(documents())).encode())
        self.atalaya("experiment", "start", "tera", "--at", str(T0))
        columns = [name for name, *_ in self.rows("DESCRIBE TABLE spans") if name != "version"]
        self.rows("INSERT INTO spans SELECT %s, version + 300000000000 AS version FROM spans" % ", ".join(f"`{name}`" for name in columns))
        self.atalaya("experiment", "end", "tera", "--at", str(T0 + 9))
        self.assertEqual(self.rows("SELECT duration_ns FROM spans FINAL"), [["9000000000"]])

    def test_a_profile_that_cuts_answers_short_is_overruled(self):
        _, hub = self.both()
        post(hub + "/api/jsonlines", lines(odd_records()))
        words = ["query", "--metric", "odd.days", "--from", str(T0 - 70 * DAY), "--to", str(T0 + 60), "--aggregate", "none"]
        breaker = self.password_file(self.folder, "breaker:look", "breaker")
        self.atalaya(*words, store=self.clickhouse.replace(self.basic, breaker), status=1)
        self.assertIn("Limit for", self.errors)

    def test_stacks_and_spans_over_the_api(self):
        _, hub = self.both()
        stacks = [{"timestamp": T0 + 20, "hostname": "h1", "stack": "java-7;a;b;a", "value": 3},
                  {"timestamp": T0 + 20, "hostname": "h1", "stack": "java-7;it's", "value": 2},
                  {"timestamp": T0 + 20, "hostname": "h2", "stack": "java-7;a;c", "value": 1}]
        for _ in range(2):
            http(hub + "/cpu", json.dumps(stacks).encode())
            http(hub + "/api/jsonlines", lines(spans()))
            http(hub + "/api/jsonlines", lines({"metric": "n", "timestamp": (T0 + second) * 1000, "value": second, "tags": {"host": "h"}}
                                               for second in range(40)))
        answers = []
        for store in (self.sqlite, self.clickhouse):
            base = self.serve(store)
            answers.append([http(base + path) for path in (
                f"/stacks/?start_time={T0}&end_time={T0 + 60}&hostname=h1", f"/flamegraph/?start_time={T0}&end_time={T0 + 60}&hostname=ALL",
                f"/api/query?start={T0 - 1}&end={T0 + 60}&m=sum:7s-last:n&m=none:10s-count:n",
                "/api/suggest?type=tagk", "/api/suggest?type=tagv&q=h", "/api/v1/labels")])
        self.assertEqual(*answers)
        self.assertEqual(json.loads(answers[1][0]), {"java-7;a;b;a": 3, "java-7;it's": 2})
        self.assertEqual(self.rows("SELECT name, duration_ns FROM spans FINAL ORDER BY start_ns"), [["map", "4000000000"], ["reduce", "-1"]])

    def test_refused_rows_are_dead_letters_and_the_rest_continues(self):
        _, hub = self.hub(self.sink())
        http(hub + "/api/put", json.dumps(list(documents())).encode())
        self.server.query(f"CREATE MATERIALIZED VIEW {self.database}.guard ENGINE = Memory AS "
                          f"SELECT throwIf(value = 666) AS bad FROM {self.database}.points")
        body = [{"metric": "m", "timestamp": T0 + i, "value": 666 if i in (3, 40) else i, "tags": {"host": "h"}} for i in range(50)]
        http(hub + "/api/put", json.dumps(body).encode())
        [agent] = self.agents
        status = agent.wait_status(lambda status: agent.row("hub", "clickhouse", status)["dead_letter"] == 2)
        self.assert_balanced(status)
        self.assertEqual(self.rows("SELECT count() FROM points FINAL WHERE metric = 'm' AND value != 666"), [["48"]])
        # A view is queried when its rows are in the table already, as the manual documents.
        self.assertEqual(self.rows("SELECT count() FROM points FINAL WHERE value = 666"), [["2"]])
        agent.stop()
        letters = []
        for folder, _, names in os.walk(self.folder):
            if "dead-letters.jsonl" in names:
                with open(os.path.join(folder, "dead-letters.jsonl")) as file:
                    letters += [json.loads(line) for line in file]
        self.assertEqual([letter["status"] for letter in letters], [395, 395])
        self.assertIn("throwIf", letters[0]["answer"])
        self.assertEqual({json.loads(letter["record"])["time"] for letter in letters}, {(T0 + 3) * 10 ** 9, (T0 + 40) * 10 ** 9})

    def test_a_time_that_the_tables_cannot_hold_is_a_dead_letter(self):
        agent, hub = self.hub(self.sink())
        times = (4102444799999, 4102444800000)  # the end of 2099
        http(hub + "/api/jsonlines", lines([{"metric": "m", "timestamp": at, "value": 1, "tags": {"host": "h"}} for at in times]))
        agent.wait_status(lambda status: agent.row("hub", "clickhouse", status)["dead_letter"] == 1)
        self.assertEqual(self.rows("SELECT day FROM points"), [["2099-12-31"]])

    def test_the_next_server_of_a_list_is_used(self):
        with Relay(self.server.port) as relay:
            first = f"{relay.url}/{self.database}"
            urls = f'{{ "{first}", "{self.url}" }}'
            agent, hub = self.hub(f'a.sink.clickhouse {{ url = {urls}, basic = "{self.basic}" }}')
            store = f"clickhouse:{relay.url},{self.url}?basic={self.basic}"
            words = ["query", "--metric", "m", "--format", "json", *WHEN]
            for second, cut in ((1, False), (2, True)):
                if cut:
                    relay.close()
                point = {"metric": "m", "timestamp": T0 + second, "value": second, "tags": {"host": "a"}}
                post(hub + "/api/put", json.dumps([point]).encode())
                points = json.loads(self.atalaya(*words, store=store))[0]["dps"]
                self.assertEqual(points, [[(T0 + at) * 1000, at] for at in range(1, second + 1)])
            agent.wait_line(f"uses clickhouse:{self.url} instead of clickhouse:{first}; ")
        self.atalaya(*words, store=f"clickhouse:{first}", status=1)
        self.assertIn(f"clickhouse:{first}: ", self.errors)

    def test_errors_are_named(self):
        absent = self.clickhouse.replace(self.database, "absent")
        wrong = self.password_file(self.folder, "default:wrong", "wrong")
        for store, said in ((absent, "Database absent doesn't exist; make it: CREATE DATABASE absent"),
                            (self.clickhouse.replace(self.basic, wrong), "Wrong password for user default; check the file with user:password"),
                            (self.clickhouse.replace(self.basic, self.path("missing")), self.path("missing")),
                            (self.clickhouse, "is empty; run a pipeline with the sink \"clickhouse\" first"),
                            ("clickhouse:http://127.0.0.1:1/x", "Connection refused"),
                            ("clickhouse:http://127.0.0.1:8123", "names no database"),
                            ("clickhouse:http://127.0.0.1:8123/a-b", "names no database"),
                            ("clickhouse:http://127.0.0.1:8123/a?user=x", 'takes no "user"'),
                            ("clickhouse:http://u:secret@127.0.0.1:8123/a", "put it in a file")):
            self.atalaya("query", "--metric", "x", store=store, status=1)
            self.assertIn(said, self.errors)
            self.assertNotIn("secret", self.errors)
        self.atalaya("sql", "SELECT 1", status=2)
        self.assertIn("embedded stores only", self.errors)

    def test_other_tables_are_left_alone(self):
        self.rows("CREATE TABLE points (x UInt8) ENGINE = TinyLog")
        agent, _ = self.hub(self.sink())
        threading.Thread(target=self.post_until_killed, args=(agent,)).start()
        line = agent.wait_line("points")
        self.assertIn('holds a table "points" that is not atalaya\'s: its column day is missing; use another database', line)
        agent.kill()
        self.assertEqual(self.rows("SHOW TABLES"), [["points"]])

    def post_until_killed(self, agent):
        url = "http://" + agent.wait_line("listening on ").split("listening on ")[1].split()[0]
        try:
            http(url + "/api/put", json.dumps(list(documents())).encode())
        except OSError:
            pass

    def test_a_newer_schema_is_left_alone(self):
        self.rows("CREATE VIEW atalaya_schema AS SELECT toUInt32(99) AS version")
        self.atalaya("query", "--metric", "x", status=1)
        self.assertIn("has the schema version 99, this program knows 2; install the newer atalaya", self.errors)

    def test_a_user_with_read_permission_can_read(self):
        _, hub = self.both()
        http(hub + "/api/put", json.dumps(list(documents())).encode())
        reader = self.password_file(self.folder, "reader:look", "reader")
        words = ["query", "--metric", "proc.disk.writes.mb", "--group-by", "host", "--format", "json", *WHEN]
        self.assertEqual(self.atalaya(*words, store=self.clickhouse.replace(self.basic, reader)), self.atalaya(*words, store=self.sqlite))
        self.atalaya("experiment", "start", "x", store=self.clickhouse.replace(self.basic, reader), status=1)
        self.assertIn("readonly", self.errors)

    def test_the_statements_of_the_manual_work(self):
        _, hub = self.hub(self.sink())
        now = int(time.time())
        points = [{"metric": "sys.cpu.usage", "timestamp": now, "value": 5 + core, "tags": {"host": "h", "core": str(core)}} for core in range(2)]
        http(hub + "/api/put", json.dumps(points).encode())
        with open("docs/how-to/clickhouse.md") as file:
            statements = re.findall(r"^```sql\n(.*?)^```$", file.read(), re.M | re.S)
        answers = [self.rows(statement) for statement in statements]
        self.assertEqual([row[1:] for row in answers[0]], [["h", "11"]])

    def test_tables_of_one_server_are_no_cluster(self):
        agent, hub = self.hub(self.sink())
        post(hub + "/api/put", json.dumps(list(documents())).encode())
        agent.stop()
        agent, _ = self.hub(self.sink(cluster=CLUSTER))
        threading.Thread(target=self.post_until_killed, args=(agent,)).start()
        line = agent.wait_line("of one server")
        self.assertIn('of one server, and the sink names the cluster "pair"; write `cluster` as the tables were made', line)
        agent.kill()

    def test_errors_in_the_pipeline_are_reported_before_it_runs(self):
        for parameters, said in (({"url": "ftp://x/y"}, "must begin with http:// or https://"),
                                 ({"url": self.server.url}, "names no database"),
                                 ({"cluster": "a'b"}, "invalid name of a cluster")):
            agent = self.run_agent('local a = require "atalaya"\na.pipeline "p" { a.source.receive { listen = "127.0.0.1:0" }, %s }\n'
                                   % self.sink(**parameters))
            self.assertNotEqual(agent.join(), 0)
            self.assertIn(said, agent.errors())


@unittest.skipUnless(ClickHouse.there, "needs clickhouse-server")
class Interrupted(AgentCase):
    """A server that goes and comes while the sink writes."""

    def setUp(self):
        super().setUp()
        self.server = ClickHouse(self.folder)
        self.addCleanup(lambda: self.server.stop() if hasattr(self.server, "process") else None)

    def hub(self):
        agent = self.run_agent('local a = require "atalaya"\na.pipeline "hub" { a.source.receive { listen = "127.0.0.1:0" }, '
                               'a.sink.clickhouse { url = "%s/atalaya", batch_rows = 40 } }\n' % self.server.url)
        return agent, "http://" + agent.wait_line("listening on ").split("listening on ")[1].split()[0]

    def test_a_server_that_starts_later_gets_everything(self):
        self.server.start()
        agent, hub = self.hub()
        poster = threading.Thread(target=post, args=(hub + "/api/put", json.dumps(list(documents())).encode()))
        poster.start()
        agent.wait_line("Database atalaya doesn't exist; make it: CREATE DATABASE atalaya")
        self.server.query("CREATE DATABASE atalaya")
        poster.join(PATIENCE)
        self.assertFalse(poster.is_alive())
        agent.stop()
        self.server.kill()
        agent, hub = self.hub()
        body = json.dumps([dict(one, metric="later") for one in documents()]).encode()
        poster = threading.Thread(target=post, args=(hub + "/api/put", body))
        poster.start()
        agent.wait_line("Connection refused")
        self.server.start()
        poster.join(PATIENCE)
        self.assertFalse(poster.is_alive())
        self.assertEqual(self.server.number("SELECT count() FROM points FINAL", "atalaya"), 72)

    def test_kill_of_the_server_while_the_sink_writes(self):
        self.server.start()
        self.server.query("CREATE DATABASE atalaya")
        _, hub = self.hub()
        acknowledged, done = [], threading.Event()

        def work():
            number = 0
            while not done.is_set():
                body = [{"metric": "m", "timestamp": T0 + number, "value": number + core, "tags": {"core": str(core)}}
                        for core in range(100)]
                post(hub + "/api/put", json.dumps(body).encode())
                acknowledged.append(number)
                number += 1

        poster = threading.Thread(target=work)
        poster.start()
        for _ in range(5):
            before = len(acknowledged)
            while len(acknowledged) < before + 5:
                self.assertTrue(poster.is_alive())
            self.server.kill()
            self.server.restart()
        done.set()
        poster.join(PATIENCE)
        self.assertFalse(poster.is_alive())
        self.assertEqual(self.server.number("SELECT count() FROM points FINAL", "atalaya"), 100 * len(acknowledged))
        out = subprocess.run([BINARY, "query", "--store", f"clickhouse:{self.server.url}/atalaya", "--metric", "m", "--from", str(T0 - 1),
                              "--to", str(T0 + len(acknowledged)), "--format", "json"], capture_output=True, timeout=PATIENCE, check=True).stdout
        [answer] = json.loads(out)
        self.assertEqual(answer["dps"], [[(T0 + n) * 1000, 100 * n + 4950] for n in acknowledged])


@unittest.skipUnless(ClickHouse.there and ZooKeeper.there, "needs clickhouse-server and zookeeper")
class Cluster(ServedCase):
    """Replicated and Distributed tables on two shards, each a process."""

    @classmethod
    def make_server(cls):
        cls.password_file(cls.temporary_of_class, "default:")
        supervisor = ZooKeeper(cls.temporary_of_class).start()
        cls.addClassCleanup(supervisor.stop)
        cls.shards = [ClickHouse(cls.temporary_of_class, name) for name in ("one", "two")]
        for number, shard in enumerate(cls.shards, 1):
            shard.start(cls.shards, supervisor, number)
            cls.addClassCleanup(shard.stop)
        return cls.shards[0]

    def make_database(self):
        for shard in self.shards:
            shard.query("CREATE DATABASE " + self.database)

    def test_a_shard_that_dies_loses_nothing_and_hides_nothing(self):
        agent, hub = self.hub(self.sink(cluster=CLUSTER))
        body = [{"metric": "m", "timestamp": T0 + second, "value": 1, "tags": {"core": str(core)}} for core in range(40) for second in (1, 2)]
        post(hub + "/api/put", json.dumps(body).encode())
        self.shards[1].kill()
        poster = threading.Thread(target=post, args=(hub + "/api/put", json.dumps([dict(point, value=2) for point in body]).encode()))
        poster.start()
        agent.wait_line("trying again")
        words = ["query", "--metric", "m", "--format", "json", *WHEN]
        self.atalaya(*words, status=1)  # half the points would be a wrong sum
        self.shards[1].restart()
        poster.join(2 * PATIENCE)
        self.assertFalse(poster.is_alive())
        self.assertEqual(json.loads(self.atalaya(*words))[0]["dps"], [[(T0 + second) * 1000, 80] for second in (1, 2)])

    def test_two_shards_answer_as_one_file(self):
        _, hub = self.both(cluster=CLUSTER)
        for _ in range(2):
            post(hub + "/api/put", json.dumps(list(documents())).encode())
            post(hub + "/api/jsonlines", lines(odd_records(days=4)))
            post(hub + "/api/jsonlines", lines(spans()))
        for question in QUESTIONS:
            self.assert_same(*question, "--format", "json", *(WHEN if "--from" not in question else WHEN[2:]))
        held = [shard.number("SELECT count() FROM points_local FINAL", self.database) for shard in self.shards]
        self.assertEqual(sum(held), 36 + 29)
        self.assertTrue(all(held), held)
        for shard in self.shards:  # each answers for all
            self.clickhouse = f"clickhouse:{shard.url}/{self.database}"
            self.assert_same("query", "--metric", "proc.disk.writes.mb", "--group-by", "host", "--format", "json", *WHEN)
        for store in (self.sqlite, self.clickhouse):
            self.atalaya("experiment", "start", "tera", "--at", str(T0), store=store)
            self.atalaya("experiment", "end", "tera", "--at", str(T0 + 9), store=store)
        self.assert_same("experiment", "list", "--format", "json")
        self.assertIn("Replicated", self.rows("SELECT engine FROM system.tables WHERE name = 'points_local' AND database = '%s'" % self.database)[0][0])


if __name__ == "__main__":
    main()
