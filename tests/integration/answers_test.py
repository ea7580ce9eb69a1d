# SPDX-License-Identifier: Apache-2.0
"""The results of all query interfaces are the same, and right: against a naive computation on random series, against influxdb and
victoria-metrics on the same points, for a log of Grafana's requests, for many readers next to a writer; and invalid queries and broken
stores end with a message."""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from http.client import IncompleteRead

import naive
from harness import BINARY, PATIENCE, main
from http_servers import InfluxDb, VictoriaMetrics, get
from questions import T0, WHEN, QueryCase, http

METRICS = ("app.busy", "app.total")


def random_series(chosen, begin, seconds):
    """Series of two metrics with their own steps, silences and resets, as (metric, tags, {second: value})."""
    series = []
    for number in range(8):
        tags = {"host": f"h{number % 2}", "process": f"p{number % 3}", "pid": str(number)}
        for metric in METRICS:
            points, at, total = {}, begin + chosen.randrange(seconds // 4), 0
            while at <= begin + seconds:
                total = 0 if chosen.random() < 0.02 else total + chosen.randrange(100)
                points[at] = total if metric == "app.total" else chosen.randrange(8000) / 8
                at += chosen.choice((1, 1, 5, 5, 5, 7, 30, 120))
            series.append((metric, tags, points))
    return series


def documents(series):
    return [{"metric": metric, "timestamp": at, "value": value, "tags": tags}
            for metric, tags, points in series for at, value in points.items()]


class Budget(QueryCase):
    def test_a_request_has_one_time_for_all_its_parts(self):
        """Each of the series takes less than the timeout, all together take many times as long."""
        self.put([{"metric": "proc.disk.writes.mb", "timestamp": T0 + at, "value": at, "tags": {"host": f"h{number}"}}
                  for number in range(400) for at in range(100, 1100, 100)])
        with sqlite3.connect(self.store) as database:
            database.execute("UPDATE windows SET duration_ns = 100000000000 WHERE time_ns > ?", ((T0 + 60) * 1_000_000_000,))
        database.close()
        base = self.serve("--timeout", "1s")
        begin = time.monotonic()
        # An answer whose first part is sent in time ends without its last chunk.
        with self.assertRaises((urllib.error.HTTPError, IncompleteRead)) as refused:
            http(base + f"/api/query?start={T0}&end={T0 + 1500}&m=none:1ms-avg:proc.disk.writes.mb")
        if isinstance(refused.exception, urllib.error.HTTPError):
            self.assertIn("the query took longer than 1s", refused.exception.read().decode())
        self.assertLess(time.monotonic() - begin, 10)
        self.assertEqual(self.get(base, "/api/query", start=T0, end=T0 + 1500, m="sum:10s-avg:proc.disk.writes.mb{host=h1}")[0]["metric"], "proc.disk.writes.mb")


class Random(QueryCase):
    """Three hours to now: some are packed by now, some are not."""

    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("ATALAYA_SEED", random.randrange(1 << 30)))
        self.chosen = random.Random(self.seed)
        self.last = int(time.time()) // 3600 * 3600
        self.begin = self.last - 3 * 3600
        self.series = random_series(self.chosen, self.begin, 3 * 3600)
        points = documents(self.series)
        self.chosen.shuffle(points)
        for at in range(0, len(points), 2000):
            self.put(points[at:at + 2000])

    def assert_same(self, got, wanted, message):
        message = f"seed {self.seed}: {message}"
        self.assertEqual(got.keys(), wanted.keys(), message)
        for key, points in wanted.items():
            self.assertEqual(got[key].keys(), points.keys(), (message, key))
            for at, value in points.items():
                self.assertAlmostEqual(got[key][at], value, delta=1e-9 * max(1, abs(value)), msg=(message, key, at))

    def question(self):
        chosen = self.chosen
        begin = chosen.randrange(self.begin - 100, self.last - 400)
        question = {"metric": chosen.choice(METRICS), "begin": begin, "end": chosen.randrange(begin + 300, self.last + 100),
                    "function": chosen.choice((*naive.FUNCTIONS, "p50", "p95")),
                    "group_by": chosen.choice(((), ("host",), ("process",), ("host", "process"))),
                    "tags": chosen.choice(({}, {}, {"host": "h1"}, {"process": "p2"}))}
        if question["metric"] == "app.total":
            question["rated"] = chosen.random() < 0.7
        if chosen.random() < 0.8:
            question["every"] = chosen.choice((10, 60, 300, 3600))
            question["inner"] = chosen.choice((*(set(naive.FUNCTIONS) - {"zimsum", "mimmin", "mimmax"}), "p50", "p95"))
        return question

    def by_command(self, question):
        words = ["query", "--metric", question["metric"], "--from", str(question["begin"] - 1), "--to", str(question["end"]),
                 "--aggregate", question["function"], "--format", "json"]
        words += ["--group-by", ",".join(question["group_by"])] if question["group_by"] else []
        words += [word for key, value in question["tags"].items() for word in ("--tag", f"{key}={value}")]
        words += ["--every", f"{question['every']}s-{question['inner']}"] if "every" in question else []
        words += ["--rate"] if question.get("rated") else []
        return {tuple(answer["tags"].get(key, "") for key in question["group_by"]): {at // 1000: value for at, value in answer["dps"]}
                for answer in json.loads(self.atalaya(*words))}

    def by_http(self, base, question):
        filters = [{"type": "wildcard", "tagk": key, "filter": "*", "groupBy": True} for key in question["group_by"]]
        filters += [{"type": "literal_or", "tagk": key, "filter": value} for key, value in question["tags"].items()]
        one = {"metric": question["metric"], "aggregator": question["function"], "filters": filters}
        if "every" in question:
            one["downsample"] = f"{question['every']}s-{question['inner']}"
        if question.get("rated"):
            one.update(rate=True, rateOptions={"counter": True})
        body = {"start": question["begin"], "end": question["end"], "queries": [one]}
        return {tuple(answer["tags"].get(key, "") for key in question["group_by"]): {int(at): value for at, value in answer["dps"].items()}
                for answer in json.loads(http(base + "/api/query", json.dumps(body).encode()))}

    def test_as_the_naive_way(self):
        base = self.serve()
        answered = 0
        for _ in range(40):
            question = self.question()
            words = dict(question)
            wanted = naive.answer(self.series, words.pop("metric"), words.pop("tags"), words.pop("begin"), words.pop("end"),
                                  words.pop("function"), **words)
            self.assert_same(self.by_command(question), wanted, question)
            self.assert_same(self.by_http(base, question), naive.answer(self.series, **question, by_end=False), question)
            answered += bool(wanted)
        self.assertGreater(answered, 25)

    def test_as_sql_adds_them_up(self):
        for metric in METRICS:
            rows = json.loads(self.atalaya("sql", "--format", "json", "select host, time, sum(value) as sum, count(*) as n from points "
                                           f"where metric = '{metric}' group by 1, 2"))
            by_sql = {function: {} for function in ("sum", "n")}
            for row in rows:
                for column, hosts in by_sql.items():
                    hosts.setdefault((row["host"],), {})[row["time"] // 1000] = row[column]
            question = {"metric": metric, "begin": self.begin, "end": self.last, "group_by": ("host",), "tags": {}}
            self.assert_same(self.by_command({**question, "function": "zimsum"}), by_sql["sum"], metric)
            every = {**question, "function": "zimsum", "every": 1, "inner": "count"}
            self.assert_same(self.by_command(every), by_sql["n"], metric)

    @unittest.skipUnless(shutil.which("sqlite3"), "needs sqlite3")
    def test_as_a_plain_session_of_sqlite(self):
        extension = os.path.join(os.path.dirname(BINARY), "plugins/sqlite/atalaya_sqlite.so")
        done = subprocess.run(["sqlite3", "-readonly", "-json", "-cmd", f".load {extension}", self.store,
                               "select host, time, sum(value) as sum from points where metric = 'app.busy' group by 1, 2"],
                              capture_output=True, timeout=PATIENCE)
        if b"ASan runtime" in done.stderr:
            self.skipTest("sqlite3 does not load libraries built with a sanitizer")
        self.assertEqual(done.stderr, b"")
        by_sql = {}
        for row in json.loads(done.stdout):
            by_sql.setdefault((row["host"],), {})[row["time"] // 1000] = row["sum"]
        question = {"metric": "app.busy", "begin": self.begin, "end": self.last, "function": "zimsum", "group_by": ("host",), "tags": {}}
        self.assert_same(self.by_command(question), by_sql, "sqlite3")

    @unittest.skipUnless(VictoriaMetrics.program, "needs victoria-metrics")
    def test_as_victoria_metrics(self):
        server = VictoriaMetrics(self.folder).start()
        self.addCleanup(server.stop)
        points = documents(self.series)
        for at in range(0, len(points), 2000):
            http(server.put + "/api/put", json.dumps(points[at:at + 2000]).encode())
        get(server.url + "/internal/force_flush")
        # A window of theirs is ours: (time - 60 s, time].
        for inner, function in (("sum", "zimsum"), ("max", "mimmax"), ("min", "mimmin"), ("count", "zimsum")):
            outer = {"zimsum": "sum", "mimmax": "max", "mimmin": "min"}[function]
            ask = {"query": f'{outer}({inner}_over_time({{__name__="app.busy"}}[60s])) by (host)', "start": self.begin + 60,
                   "end": self.last, "step": 60, "nocache": 1}
            theirs = {(one["metric"]["host"],): {int(at): float(value) for at, value in one["values"]}
                      for one in self.get(server.url, "/api/v1/query_range", **ask)["data"]["result"]}
            question = {"metric": "app.busy", "begin": self.begin + 1, "end": self.last, "function": function, "group_by": ("host",),
                        "tags": {}, "every": 60, "inner": inner}
            self.assert_same(self.by_command(question), theirs, question)

    @unittest.skipUnless(InfluxDb.program, "needs influxdb")
    def test_as_influxdb(self):
        server = InfluxDb(self.folder).start()
        self.addCleanup(server.stop)
        server.query("create database random")
        for metric, tags, points in self.series:
            name = ",".join([metric, *(f"{key}={value}" for key, value in tags.items())])
            lines = "\n".join(f"{name} value={float(value)} {at}" for at, value in points.items())
            http(server.url + "/write?db=random&precision=s", lines.encode())
        base = self.serve()
        # An interval there is OpenTSDB's: [time, time + 60 s). Both intervals are one step, so only functions that two steps do not change are compared.
        where = f"time >= {self.begin}s and time < {self.last}s"
        for inner, function in (("sum", "zimsum"), ("max", "mimmax"), ("min", "mimmin"), ("count", "zimsum")):
            for keys in (("host",), ("process",), ("host", "process")):
                found = server.query(f'select {inner}(value) from "app.busy" where {where} group by time(60s), {", ".join(keys)} fill(none)',
                                     "random")
                theirs = {tuple(one["tags"][key] for key in keys): {at // 10**9: value for at, value in one["values"]} for one in found}
                question = {"metric": "app.busy", "begin": self.begin, "end": self.last - 1, "function": function, "group_by": keys,
                            "tags": {}, "every": 60, "inner": inner}
                self.assert_same(self.by_http(base, question), theirs, question)
        # Of series alone also functions that depend on the number of steps; but for stddev, which divides by n - 1 there.
        for inner in ("mean", "first", "last", "median"):
            found = server.query(f'select {inner}(value) from "app.busy" where {where} group by time(300s), pid fill(none)', "random")
            theirs = {(one["tags"]["pid"],): {at // 10**9: value for at, value in one["values"]} for one in found}
            question = {"metric": "app.busy", "begin": self.begin, "end": self.last - 1, "function": "zimsum", "group_by": ("pid",), "tags": {},
                        "every": 300, "inner": {"mean": "avg", "median": "p50"}.get(inner, inner)}
            self.assert_same(self.by_http(base, question), theirs, question)


class Grafana(QueryCase):
    """A log of requests as Grafana's data sources send them, replayed."""

    def ask(self, base, request):
        data, headers = None, {}
        if "body" in request:
            data, headers = json.dumps(request["body"]).encode(), {"Content-Type": "application/json"}
        if "form" in request:
            data, headers = urllib.parse.urlencode(request["form"]).encode(), {"Content-Type": "application/x-www-form-urlencoded"}
        wanted = urllib.request.Request(base + request["path"], data, headers, method=request["method"])
        try:
            with urllib.request.urlopen(wanted, timeout=PATIENCE) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def test_its_requests_have_the_numbers_of_sql_and_of_the_command(self):
        by_sql = {"host": {}, "series": {}}
        for row in json.loads(self.atalaya("sql", "--format", "json", "select host, process, pid, time, value from points")):
            hosts = by_sql["host"].setdefault(row["host"], {})
            hosts[row["time"]] = hosts.get(row["time"], 0) + row["value"]
            by_sql["series"].setdefault((row["host"], row["process"], str(row["pid"])), {})[row["time"]] = row["value"]
        by_command = {answer["tags"]["host"]: dict(answer["dps"]) for answer in self.answers("--group-by", "host")}
        self.assertEqual(by_command, by_sql["host"])
        base = self.serve()
        with open(os.path.join(os.path.dirname(__file__), "grafana_requests.json")) as file:
            requests = json.load(file)
        compared = 0
        for request in requests:
            status, answer = self.ask(base, request)
            self.assertEqual(status, request["status"], (request, answer))
            if request["source"] == "prometheus":
                self.assertEqual(answer["status"], "success" if status == 200 else "error", request)
            elif status != 200:
                self.assertIn("message", answer["error"])
            if request.get("numbers") == "host":
                got = {one["tags"]["host"]: {int(at): value for at, value in one["dps"].items()} for one in answer}
            elif request.get("numbers") == "series":
                got = {tuple(one["metric"][key] for key in ("host", "process", "pid")): {at * 1000: float(value) for at, value in one["values"]}
                       for one in answer["data"]["result"]}
            else:
                continue
            self.assertEqual(got, by_sql[request["numbers"]], request)
            compared += 1
        self.assertEqual(compared, 4)


class Readers(QueryCase):
    def test_twenty_readers_next_to_a_writer(self):
        base = self.serve("--workers", "8")
        stop, wrong, counts = threading.Event(), [], [0] * 20

        def read(number):
            url = f"{base}/api/query?start={T0}&end={T0 + 10**7}&m=sum:0all-sum:busy"
            last = 0
            try:
                while not stop.is_set():
                    if number < 2:
                        done = subprocess.run([BINARY, "sql", "--store", self.store, "--format", "json",
                                               "select coalesce(sum(value), 0) as n from points where metric = 'busy'"],
                                              capture_output=True, timeout=PATIENCE)
                        self.assertEqual((done.returncode, done.stderr), (0, b""))
                        seen = json.loads(done.stdout)[0]["n"]
                    else:
                        answers = json.loads(http(url))
                        seen = sum(answers[0]["dps"].values()) if answers else 0
                    self.assertGreaterEqual(seen, last)  # points stay
                    last, counts[number] = seen, counts[number] + 1
            except Exception as error:  # of any thread, to be said by the test
                wrong.append(f"reader {number}: {error!r}")

        self.put([{"metric": "busy", "timestamp": T0 + 1, "value": 0, "tags": {"host": "h"}}])
        readers = [threading.Thread(target=read, args=(number,)) for number in range(20)]
        for reader in readers:
            reader.start()
        written = 0
        while (written < 150 or min(counts) < 2) and not wrong:
            self.put([{"metric": "busy", "timestamp": T0 + 2 + written * 20 + i, "value": 1, "tags": {"host": f"h{i % 4}"}} for i in range(20)])
            written += 1
        stop.set()
        for reader in readers:
            reader.join()
        self.assertEqual(wrong, [])
        [answer] = json.loads(http(f"{base}/api/query?start={T0}&end={T0 + 10**7}&m=sum:0all-sum:busy"))
        self.assertEqual(sum(answer["dps"].values()), 20 * written)


class Wrong(QueryCase):
    """Each command, with operators' errors, and with stores that are broken."""

    READING = (["query", "--metric", "proc.disk.writes.mb"], ["plot", "--metric", "proc.disk.writes.mb", "-o", "-"],
               ["report", "--metric", "proc.disk.writes.mb"], ["report", "-o", "-", "--format", "html"])

    def test_times(self):
        for words in self.READING:
            for begin, end, said in (("noon", "now", '--from: "noon" is not a time'), ("-1h", "tomorrow", '--to: "tomorrow" is not a time'),
                                     ("now", "-1h", "the time ends before it begins"), (str(T0), str(T0), "the time ends before it begins"),
                                     ("2300-01-01", "now", "--from: "), ("1969-12-31T23:59:59Z", "now", "--from: "),
                                     ("2023-02-30", "now", "--from: "), ("-999999d", "now", "--from: ")):
                with self.subTest(words=words, begin=begin, end=end):
                    self.assertEqual(self.atalaya(*words, f"--from={begin}", f"--to={end}", status=2), "")
                    self.assertIn(said, self.errors)
            self.atalaya(*words, "--experiment", "nobody", status=2)
            self.assertIn('experiment "nobody" is not in the store', self.errors)
            self.atalaya(*words, "--experiment", "nobody", "--from=-1h", status=2)
            self.assertIn("omit --from and --to", self.errors)
        self.atalaya("experiment", "start", "x", "--at", "noon", status=2)
        self.assertIn('--at: "noon" is not a time', self.errors)

    def test_unknown_metrics(self):
        for command in (["query"], ["plot", "-o", "-"], ["report"]):
            self.assertEqual(self.atalaya(*command, "--metric", "proc.disk.write.mb", *WHEN, status=2), "")
            self.assertIn('did you mean "proc.disk.writes.mb"?', self.errors)
            self.assertEqual(self.errors.count("\n"), 1)
        base = self.serve()
        for path in (f"/api/query?start={T0}&m=sum:proc.disk.write.mb", f"/api/query?start={T0}&m=smu:proc.disk.writes.mb",
                     "/api/query?start=noon&m=sum:proc.disk.writes.mb", f"/api/query?start={T0}&end=5&m=sum:proc.disk.writes.mb",
                     "/api/v1/query_range?query=x&start=noon&end=2&step=1", "/api/v1/series?match[]=x&start=noon",
                     "/stacks/?start_time=noon&end_time=now"):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                http(base + path)
            self.assertEqual(refused.exception.code, 400, path)
            json.loads(refused.exception.read())

    def broken_stores(self):
        """Files that are no store any more, or never were."""
        whole = self.path("whole.db")  # by SQLite: a part may still be in the write-ahead log
        with sqlite3.connect(self.store) as source, sqlite3.connect(whole) as target:
            source.backup(target)
        with open(whole, "rb") as file:
            data = file.read()
        noise = random.Random(3).randbytes(len(data))
        yield "cut.db", data[:len(data) // 2]
        yield "scribbled.db", data[:4096] + noise[4096:]
        yield "header.db", noise[:100] + data[100:]
        yield "text.db", b"this is no database, and it is long enough to look at " * 200
        with sqlite3.connect(self.path("foreign.db")) as other:
            other.execute("create table songs (name text)")
        with open(self.path("foreign.db"), "rb") as file:
            yield "foreign.db", file.read()
        yield "empty.db", b""

    def test_broken_stores(self):
        for name, data in list(self.broken_stores()):
            path = self.path(name)
            with open(path, "wb") as file:
                file.write(data)
            for words in (*self.READING, ["sql", "select sum(value) from points"], ["experiment", "list"]):
                with self.subTest(store=name, words=words):
                    done = subprocess.run([BINARY, *words, "--store", path, *(WHEN if words[0] in ("query", "plot", "report") else [])],
                                          capture_output=True, timeout=PATIENCE)
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertIn(name.encode(), done.stderr)
                    self.assertLessEqual(done.stderr.count(b"\n"), 2, done.stderr)
            with open(path, "rb") as file:
                self.assertEqual(file.read(), data)  # nobody wrote into it
        os.mkdir(self.path("folder.db"))
        self.atalaya("query", "--metric", "x", "--store", self.path("folder.db"), status=1)
        self.atalaya("query", "--metric", "x", "--store", "postgres:somewhere", status=1)
        shutil.rmtree(self.path("folder.db"))

    def test_a_server_survives_a_broken_store(self):
        whole = self.path("served.db")
        with sqlite3.connect(self.store) as source, sqlite3.connect(whole) as target:
            source.backup(target)
        self.store = whole
        base = self.serve()
        ask = f"{base}/api/query?start={T0}&end={T0 + 60}&m=sum:proc.disk.writes.mb"
        good = http(ask)
        with open(whole, "rb") as file:
            data = file.read()
        with open(whole, "r+b") as file:
            file.seek(4096)
            file.write(random.Random(3).randbytes(len(data) - 4096))
        os.utime(whole)
        for _ in range(20):
            try:
                http(ask)
            except urllib.error.HTTPError as error:
                self.assertIn(error.code, (500, 503))
                self.assertIn("served.db", json.loads(error.read())["error"]["message"])
        with open(whole, "wb") as file:
            file.write(data)
        self.assertEqual(http(base + "/health"), b'{"status":"ok"}')
        self.assertEqual(http(ask), good)


if __name__ == "__main__":
    main()
