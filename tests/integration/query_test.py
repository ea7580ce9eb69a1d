# SPDX-License-Identifier: Apache-2.0
"""The commands that read, over a store that the real agent wrote: points go in by HTTP, answers come out by query, plot, report, sql and
serve, and agree with each other, and with victoria-metrics on the same points."""

import csv
import io
import json
import os
import subprocess
import sys
import unittest
import urllib.error
import urllib.parse
import urllib.request
import xml.dom.minidom

from harness import BINARY, PATIENCE, AgentCase, main
from http_servers import VictoriaMetrics, get

T0 = 1_700_000_000
# The example of the reference design: per-process disk writes of two hosts, MiB/s, at 10, 20 and 30 s.
WRITES = {
    ("host1", "P1", 78): (0, 0, 0), ("host1", "P2", 56): (5, 6.5, 7), ("host1", "P3", 100): (1.5, 2, 2.5),
    ("host1", "P3", 101): (1, 2, 2.5), ("host1", "P3", 102): (2, 2, 2.5), ("host1", "P3", 103): (1, 2, 3),
    ("host2", "P1", 56): (0, 0, 0), ("host2", "P2", 33): (10, 12, 11), ("host2", "P3", 102): (1, 2, 3),
    ("host2", "P3", 103): (2, 1, 2), ("host2", "P3", 104): (2, 1.5, 2), ("host2", "P3", 105): (3, 1, 2),
}
WHEN = ["--from", str(T0), "--to", str(T0 + 60)]


def documents():
    for (host, process, pid), values in WRITES.items():
        for i, value in enumerate(values):
            yield {"metric": "proc.disk.writes.mb", "timestamp": T0 + 10 * (i + 1), "value": value,
                   "tags": {"host": host, "process": process, "pid": str(pid)}}


def http(url, body=None, method=None, headers=None):
    request = urllib.request.Request(url, data=body, method=method, headers=headers or {})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.read()


def status_of(url, **options):
    try:
        http(url, **options)
        return 200
    except urllib.error.HTTPError as error:
        return error.code


class QueryCase(AgentCase):
    """A store with the example's points, and an agent that still writes to it."""

    def setUp(self):
        super().setUp()
        self.store = self.path("atalaya.db")
        agent = self.run_agent(
            'local a = require "atalaya"\n'
            'a.pipeline "hub" { a.source.receive { listen = "127.0.0.1:0" }, a.sink.sqlite { path = "%s", retain = "0s" } }\n' % self.store)
        self.hub = "http://" + agent.wait_line("listening on ").split("listening on ")[1].split()[0]
        http(self.hub + "/api/put", json.dumps(list(documents())).encode())

    def atalaya(self, *words, status=0, **options):
        env = dict(os.environ, ATALAYA_STORE=self.store, TZ="UTC")
        done = subprocess.run([BINARY, *words], capture_output=True, env=env, timeout=PATIENCE, **options)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        self.errors = done.stderr.decode()
        return done.stdout.decode()

    def answers(self, *words):
        return json.loads(self.atalaya("query", "--metric", "proc.disk.writes.mb", "--format", "json", *WHEN, *words))

    def serve(self, *words):
        """A server on the store; its URL."""
        server = subprocess.Popen([BINARY, "serve", "--store", self.store, "--listen", "127.0.0.1:0", *words],
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, server)
        line = server.stderr.readline()
        while line and "serving on" not in line:
            line = server.stderr.readline()
        self.assertIn("serving on ", line)
        return "http://" + line.split("serving on ")[1].split()[0]

    def end(self, server):
        server.terminate()
        self.assertEqual(server.wait(PATIENCE), 0)
        server.stderr.close()


class Commands(QueryCase):
    def test_golden_averages(self):
        [p2] = self.answers("--tag", "process=P2", "--aggregate", "avg", "--every", "0all-avg")
        self.assertAlmostEqual(p2["dps"][0][1], 51.5 / 6)
        self.assertEqual(p2["tags"], {"process": "P2"})
        self.assertEqual(p2["aggregateTags"], ["host", "pid"])
        [p3] = self.answers("--tag", "process=P3", "--tag", "host=host1", "--aggregate", "avg", "--every", "0all-avg")
        self.assertAlmostEqual(p3["dps"][0][1], 2)

    def test_groups_in_every_format(self):
        hosts = self.answers("--group-by", "host")
        self.assertEqual([answer["tags"]["host"] for answer in hosts], ["host1", "host2"])
        self.assertEqual(hosts[0]["dps"], [[(T0 + 10) * 1000, 10.5], [(T0 + 20) * 1000, 14.5], [(T0 + 30) * 1000, 17.5]])
        text = self.atalaya("query", "--metric", "proc.disk.writes.mb", "--group-by", "host", "--format", "csv", *WHEN)
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([float(row["value"]) for row in rows if row["host"] == "host1"], [10.5, 14.5, 17.5])
        self.assertIn("host=host1", self.atalaya("query", "--metric", "proc.disk.writes.mb", "--group-by", "host", *WHEN))

    def test_a_member_against_its_group(self):
        out = self.atalaya("query", "--metric", "proc.disk.writes.mb", "--metric", "proc.disk.writes.mb", "--formula", "a / b * 100",
                           "--group-by", "process", "--format", "json", *WHEN)
        self.assertEqual({answer["dps"][-1][1] for answer in json.loads(out)}, {100})

    def test_sql_gives_the_same_numbers(self):
        out = self.atalaya("sql", "--format", "json", "select time, sum(value) as sum from points where host = 'host1' group by time order by 1")
        self.assertEqual([[row["time"], row["sum"]] for row in json.loads(out)], self.answers("--tag", "host=host1")[0]["dps"])
        self.atalaya("sql", "delete from samples", status=1)
        self.assertIn("readonly", self.errors)
        session = self.atalaya("sql", "--format", "csv", input=b"select count(*) as n\nfrom points;\nselect nonsense;\n", status=1)
        self.assertEqual(session, "n\r\n36\r\n")

    def test_report_adds_up(self):
        out = json.loads(self.atalaya("report", "--by", "host", "--format", "json", "--metric", "proc.disk.writes.mb", *WHEN))
        self.assertEqual({row["host"] for row in out}, {"host1", "host2"})
        halves = [json.loads(self.atalaya("report", "--by", "host", "--format", "json", "--metric", "proc.disk.writes.mb",
                                          "--from", str(T0 + begin), "--to", str(T0 + end)))
                  for begin, end in ((0, 15), (15, 60))]
        for row in out:
            parts = [half["sum"] for rows in halves for half in rows if half["host"] == row["host"]]
            self.assertAlmostEqual(sum(parts), row["sum"])
        self.assertIn("host1", self.atalaya("report", "--by", "process", "--metric", "proc.disk.writes.mb", *WHEN))

    def test_units_and_kinds_are_those_that_the_plugins_declare(self):
        declared = {}
        for row in json.loads(self.atalaya("plugins", "--format", "json")):
            for page in json.loads(self.atalaya("plugins", row["name"], "--format", "json")):
                for metric in page.get("metrics", []):
                    declared[metric["name"]] = metric
        self.assertGreater(len(declared), 100)
        put = [{"metric": name, "timestamp": T0 + second, "value": 5, "tags": {"host": "h"}} for name in declared for second in (10, 20)]
        http(self.hub + "/api/put", json.dumps(put).encode())
        units = {row["metric"]: row["unit"] for row in json.loads(
            self.atalaya("report", "--by", "host", "--tag", "host=h", "--metric", "*", "--top", "1000", "--format", "json", *WHEN))}
        for name, metric in declared.items():
            self.assertEqual(units[name].replace("By", "B"), metric["unit"].replace("By", "B"), name)
        # Deltas are added, the rest is averaged.
        answers = json.loads(self.atalaya("query", "--metric", "*", "--tag", "host=h", "--every", "1m", "--format", "json", *WHEN))
        for answer in answers:
            wanted = 10 if declared[answer["metric"]]["kind"] == "delta" else 5
            self.assertEqual(sum(value for _, value in answer["dps"]), wanted, answer)

    def test_experiments_are_times(self):
        at = lambda second: ["--at", str(T0 + second)]
        self.atalaya("experiment", "start", "tera", "--notes", "a note", *at(5))
        self.atalaya("experiment", "start", "tera", "--workload", "w1", *at(15))
        self.atalaya("experiment", "end", "tera", "--workload", "w1", *at(25))
        self.atalaya("experiment", "end", "tera", *at(35))
        words = ["query", "--metric", "proc.disk.writes.mb", "--tag", "pid=33", "--format", "json", "--experiment", "tera"]
        self.assertEqual([value for _, value in json.loads(self.atalaya(*words))[0]["dps"]], [10, 12, 11])
        self.assertEqual([value for _, value in json.loads(self.atalaya(*words, "--workload", "w1"))[0]["dps"]], [12])
        exported = self.atalaya("experiment", "list", "--format", "json")
        self.atalaya("experiment", "delete", "tera")
        self.assertEqual(json.loads(self.atalaya("experiment", "list", "--format", "json")), [])
        self.atalaya("experiment", "import", "-", input=exported.encode())
        self.assertEqual(self.atalaya("experiment", "list", "--format", "json"), exported)
        self.atalaya("experiment", "end", "tera", status=2)
        self.assertIn("is not open", self.errors)
        self.atalaya(*words[:-1], "trea", status=2)
        self.assertIn('did you mean "tera"?', self.errors)

    def test_an_experiment_lasts_as_long_as_its_command(self):
        self.atalaya("experiment", "run", "job", "--", "sh", "-c", "exit 3", status=3)
        [job] = json.loads(self.atalaya("experiment", "show", "job", "--format", "json"))
        self.assertIsNotNone(job["end"])
        self.atalaya("experiment", "run", "none", "--", "/does/not/exist", status=1)
        self.assertIn("cannot be run: No such file", self.errors)
        self.atalaya("experiment", "show", "none", status=2)

    def start_listener(self, name, terminal=None):
        """A command in an experiment that says which signal came first, and whether another one followed."""
        listen = ("import signal\n"
                  "wanted = {signal.SIGINT, signal.SIGTERM}\n"
                  "signal.pthread_sigmask(signal.SIG_BLOCK, wanted)\n"
                  "print('listens', flush=True)\n"
                  "print('heard', signal.Signals(signal.sigwait(wanted)).name, signal.sigtimedwait(wanted, 0.5), flush=True)\n")
        words = [BINARY, "experiment", "run", name, "--store", self.store, "--", sys.executable, "-c", listen]
        if terminal is None:
            return subprocess.Popen(words, stdout=subprocess.PIPE)
        # The terminal of a session becomes that of who opens it first.
        open_it = "import os, sys; os.close(os.open(sys.argv[1], os.O_RDWR)); os.execv(sys.argv[2], sys.argv[2:])"
        return subprocess.Popen([sys.executable, "-c", open_it, os.ttyname(terminal), *words], stdout=subprocess.PIPE,
                                start_new_session=True)

    def heard(self, running, name):
        line = running.stdout.readline()
        self.assertEqual(running.wait(PATIENCE), 0)
        running.stdout.close()
        [one] = json.loads(self.atalaya("experiment", "show", name, "--format", "json"))
        self.assertIsNotNone(one["end"])
        return line

    def test_a_signal_reaches_the_command_of_an_experiment_once(self):
        running = self.start_listener("term")
        self.assertEqual(running.stdout.readline(), b"listens\n")
        running.terminate()
        self.assertEqual(self.heard(running, "term"), b"heard SIGTERM None\n")

    def test_what_the_terminal_interrupts_is_interrupted_once(self):
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        running = self.start_listener("typed", slave)
        self.assertEqual(running.stdout.readline(), b"listens\n")
        os.write(master, b"\x03")
        self.assertEqual(self.heard(running, "typed"), b"heard SIGINT None\n")

    def test_an_answer_that_did_not_arrive_is_a_failure(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([BINARY, "query", "--metric", "proc.*", "--store", self.store, *WHEN], stdout=full,
                                  stderr=subprocess.PIPE, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"the output is not complete: No space left on device", done.stderr)

    def test_of_an_import_with_a_mistake_nothing_is_kept(self):
        self.atalaya("experiment", "start", "good", "--at", str(T0))
        [good] = json.loads(self.atalaya("experiment", "list", "--format", "json"))
        both = json.dumps([dict(good, experiment="first"), dict(good, experiment="no name at all!")])
        self.atalaya("experiment", "import", "-", input=both.encode(), status=2)
        self.atalaya("experiment", "show", "first", status=2)

    @unittest.skipIf(os.geteuid() != 0, "only root gives files away")
    def test_a_store_that_root_makes_belongs_to_whom_the_folder_belongs(self):
        folder = self.path("state")
        os.mkdir(folder)
        os.chown(folder, 65534, 65534)
        self.atalaya("experiment", "start", "early", "--store", os.path.join(folder, "new.db"))
        made = os.listdir(folder)
        self.assertIn("new.db", made)
        self.assertEqual({os.stat(os.path.join(folder, name)).st_uid for name in made}, {65534}, made)

    def test_pictures_are_well_formed(self):
        file = self.path("a.svg")
        self.atalaya("experiment", "start", "tera", "--at", str(T0 + 15))
        self.atalaya("plot", "--metric", "proc.disk.writes.mb", "--group-by", "host", "--compare", "avg", "--bands", "-o", file, *WHEN)
        picture = xml.dom.minidom.parse(file)
        self.assertEqual(len(picture.getElementsByTagName("path")), 3)
        self.assertIn("MiB/s", picture.toxml())
        self.atalaya("plot", "--metric", "proc.disk.writes.mb", "-o", self.path("a.png"), status=2)
        self.assertIn("pictures are SVG", self.errors)

    def test_mistakes_are_named(self):
        for words, said in (
                (["query", "--metric", "proc.disk.write.mb"], 'did you mean "proc.disk.writes.mb"?'),
                (["query"], 'required parameter "metric" is missing'),
                (["query", "--metric", "x", "--from", "noon"], '--from: "noon" is not a time'),
                (["query", "--metric", "x", "--from", "now", "--to", "-1h"], "ends before it begins"),
                (["query", "--metric", "x", "--aggregate", "smu"], 'did you mean "sum"?'),
                (["query", "--metric", "x", "--every", "5"], "has no unit"),
                (["query", "--metric", "x", "--tag", "host"], '"host" is not of the form KEY=VALUE'),
                (["query", "--metric", "x", "--format", "xml"], "--format"),
                (["query", "--nonsense"], 'unknown option "--nonsense"'),
                (["serve", "--listen", "0.0.0.0:0"], "name a file with --tokens")):
            self.atalaya(*words, status=2)
            self.assertIn(said, self.errors)
        self.atalaya("query", "--metric", "proc.*", "--max-points", "5", *WHEN, status=1)
        self.assertIn("ask for less", self.errors)
        with open(self.path("other.db"), "w") as file:
            file.write("this is no database, and it is long enough to look at " * 20)
        self.atalaya("query", "--metric", "x", "--store", self.path("other.db"), status=1)
        self.assertIn("other.db", self.errors)
        self.atalaya("query", "--metric", "x", "--store", self.path("missing.db"), status=1)
        self.assertIn("missing.db", self.errors)

    def test_commands_stand_with_the_built_in_ones(self):
        overview = self.atalaya("--help")
        for name in ("query", "plot", "sql", "report", "experiment", "serve"):
            self.assertIn(f"  {name} ", overview)
            self.assertIn("example: atalaya " + name, self.atalaya(name, "--help"))
        self.assertIn("group\\-by", self.atalaya("help", "man"))
        self.assertIn("--group-by", self.atalaya("help", "bash"))
        self.assertEqual(subprocess.run(["bash", "-n"], input=self.atalaya("help", "bash").encode()).returncode, 0)
        self.atalaya("quer", status=2)
        self.assertIn('did you mean "query"?', self.errors)


class Served(QueryCase):
    def get(self, base, path, **arguments):
        return json.loads(http(base + path + "?" + urllib.parse.urlencode(arguments, doseq=True)))

    def test_opentsdb(self):
        base = self.serve()
        body = {"start": T0, "end": T0 + 60, "queries": [
            {"aggregator": "zimsum", "metric": "proc.disk.writes.mb", "tags": {"host": "*"}, "downsample": "10s-avg"}]}
        posted = json.loads(http(base + "/api/query", json.dumps(body).encode()))
        got = self.get(base, "/api/query", start=T0, end=T0 + 60, m="zimsum:10s-avg:proc.disk.writes.mb{host=*}")
        self.assertEqual(posted, got)
        self.assertEqual([answer["tags"]["host"] for answer in got], ["host1", "host2"])
        self.assertEqual(got[0]["dps"], {str(T0 + 10): 10.5, str(T0 + 20): 14.5, str(T0 + 30): 17.5})
        self.assertEqual(self.get(base, "/api/suggest", type="tagv", q="host"), ["host1", "host2"])
        self.assertEqual(self.get(base, "/api/suggest", type="metrics", q="proc"), ["proc.disk.writes.mb"])
        self.assertEqual(self.get(base, "/api/search/lookup", m="proc.disk.writes.mb{process=P2}", limit=1)["totalResults"], 2)
        self.assertIn("zimsum", self.get(base, "/api/aggregators"))
        self.assertEqual(self.get(base, "/api/version")["version"], "2.4.0")
        self.assertEqual(status_of(base + "/api/query?start=1h-ago&m=sum:nothing.here"), 400)
        self.assertEqual(status_of(base + "/api/query", body=b"{"), 400)
        self.assertEqual(status_of(base + "/api/nothing"), 404)
        self.assertEqual(status_of(base + "/api/query", body=b"x" * (2 << 20)), 413)

    def test_prometheus(self):
        base = self.serve()
        query = 'proc_disk_writes_mb{process="P2"}'
        got = self.get(base, "/api/v1/query_range", query=query, start=T0 + 10, end=T0 + 30, step=10)["data"]["result"]
        self.assertEqual({tuple(value for _, value in series["values"]) for series in got}, {("5", "6.5", "7"), ("10", "12", "11")})
        form = urllib.parse.urlencode({"query": query, "start": T0 + 10, "end": T0 + 30, "step": "10s"}).encode()
        self.assertEqual(json.loads(http(base + "/api/v1/query_range", form))["data"]["result"], got)
        self.assertEqual(self.get(base, "/api/v1/label/host/values")["data"], ["host1", "host2"])
        self.assertIn("process", self.get(base, "/api/v1/labels")["data"])
        self.assertEqual(len(self.get(base, "/api/v1/series", **{"match[]": '{host="host1"}'})["data"]), 6)
        self.assertEqual(status_of(base + "/api/v1/query_range?query=rate(x[5m])&start=1&end=2&step=1"), 400)
        self.assertEqual(self.get(base, "/api/v1/query_range", query="nobody_wrote_it", start=1, end=2, step=1)["data"]["result"], [])

    def test_stacks_and_experiments(self):
        stacks = [{"timestamp": T0 + 20, "hostname": "h1", "stack": "java-7;a;b;a", "value": 3},
                  {"timestamp": T0 + 20, "hostname": "h2", "stack": "java-7;a;c", "value": 1}]
        http(self.hub + "/cpu", json.dumps(stacks).encode())
        base = self.serve()
        times = {"start_time": T0, "end_time": T0 + 60}
        self.assertEqual(self.get(base, "/stacks/", **times, hostname="h1"), {"java-7;a;b;a": 3})
        tree = self.get(base, "/flamegraph/", **times, hostname="ALL")["profile"]
        self.assertEqual(tree["c"]["RUNNABLE"], 4)
        java = tree["a"][0]
        self.assertEqual([(child["n"], child["c"]["RUNNABLE"]) for child in java["a"][0]["a"]], [("b", 3), ("c", 1)])
        self.assertEqual(status_of(base + "/stacks/"), 400)
        document = json.dumps({"experiment_id": "E", "username": "u", "start_time": T0, "end_time": T0 + 60}).encode()
        self.assertEqual(status_of(base + "/experiments", body=document), 415)  # a form of another site's page
        http(base + "/experiments", document, headers={"Content-Type": "application/json"})
        self.assertEqual(self.get(base, "/experiments", where='{"username":"u"}')["_items"],
                         [{"experiment_id": "E", "username": "u", "start_time": T0, "end_time": T0 + 60}])
        self.assertIn("E ", self.atalaya("experiment", "list"))
        http(base + "/experiments/E", method="DELETE")
        self.assertEqual(self.get(base, "/experiments")["_meta"]["total"], 0)

    def test_who_may_ask(self):
        base = self.serve()
        self.assertEqual(status_of(base + "/api/version", headers={"Host": "evil.example"}), 403)
        self.assertEqual(status_of(base + "/api/version", headers={"Host": "localhost:1"}), 200)
        tokens = self.path("tokens")
        with open(os.open(tokens, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write("secret-of-the-test\n")
        guarded = self.serve("--tokens", tokens)
        self.assertEqual(status_of(guarded + "/api/version"), 401)
        self.assertEqual(status_of(guarded + "/api/version", headers={"Authorization": "Bearer secret-of-the-test"}), 200)
        self.assertEqual(status_of(guarded + "/health"), 200)

    @unittest.skipUnless(VictoriaMetrics.program, "needs victoria-metrics")
    def test_agrees_with_victoria_metrics(self):
        server = VictoriaMetrics(self.folder).start()
        self.addCleanup(server.stop)
        theirs = server.url
        http(server.put + "/api/put", json.dumps(list(documents())).encode())
        get(theirs + "/internal/force_flush")
        ask = {"query": '{__name__="proc.disk.writes.mb"}', "start": T0 + 10, "end": T0 + 30, "step": 10, "nocache": 1}
        base = self.serve()

        def series(url):
            found = self.get(url, "/api/v1/query_range", **ask)["data"]["result"]
            return {json.dumps(one["metric"], sort_keys=True): [(float(t), float(v)) for t, v in one["values"]] for one in found}
        self.assertEqual(series(base), series(theirs))
        # Sums over a tag, by our aggregation and by theirs.
        total = dict(ask, query='sum({__name__="proc.disk.writes.mb"}) by (host)')
        theirs_by_host = {one["metric"]["host"]: [[int(t) * 1000, float(v)] for t, v in one["values"]]
                          for one in self.get(theirs, "/api/v1/query_range", **total)["data"]["result"]}
        self.assertEqual({one["tags"]["host"]: one["dps"] for one in self.answers("--group-by", "host")}, theirs_by_host)


if __name__ == "__main__":
    main()
