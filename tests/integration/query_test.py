# SPDX-License-Identifier: Apache-2.0
"""The commands that read, over a store that the real agent wrote: points go in by HTTP, answers come out by query, plot, report, sql and
serve, and agree with each other, and with victoria-metrics on the same points."""

import contextlib
import csv
import io
import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import time
import unittest
import urllib.parse
import xml.dom.minidom

from harness import BINARY, PATIENCE, AgentCase, main
from http_servers import VictoriaMetrics, get
from questions import T0, WHEN, WRITES, QueryCase, documents, http, status_of


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
        for other in ("attach ':memory:' as other", "vacuum into 'copy.db'"):
            self.atalaya("sql", other, status=1)
            self.assertIn("ATTACH and VACUUM INTO are not available", self.errors)
        endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n"
        self.atalaya("sql", "--timeout", "200ms", endless, status=1)
        self.assertIn("stopped after 200ms; narrow the query, or raise --timeout", self.errors)
        session = self.atalaya("sql", "--format", "csv", input=b"select count(*) as n\nfrom points;\nselect nonsense;\n", status=1)
        self.assertEqual(session, "n\r\n36\r\n")

    def test_a_damaged_row_costs_itself_only_and_is_reported_until_it_is_repaired(self):
        whole = self.answers()[0]["dps"]
        self.agents[0].stop()
        with contextlib.closing(sqlite3.connect(self.store)) as database, database:
            database.execute("update samples set fields = '{' where window = (select id from windows where time_ns = ?)", [(T0 + 20) * 10**9])
        self.assertEqual(self.answers()[0]["dps"], [whole[0], whole[2]])
        self.assertIn("1 damaged part was left out of the answer", self.errors)
        base = self.serve()
        got = self.get(base, "/api/v1/query_range", query="proc_disk_writes_mb", start=T0, end=T0 + 60, step=10)
        self.assertIn("1 damaged part was left out", got["warnings"][0])
        self.assertIn("its content cannot be decoded", self.atalaya("store", "verify", status=1))
        self.assertIn("1 damaged parts were left out", self.atalaya("store", "repair"))
        self.assertIn("no damage", self.atalaya("store", "verify"))
        self.assertEqual(self.answers()[0]["dps"], [whole[0], whole[2]])
        self.assertEqual(self.errors, "")

    def test_names_cannot_act_on_a_terminal_and_are_bytes_in_files(self):
        point = {"metric": "m", "timestamp": T0 + 10, "value": 1, "tags": {"host": "h", "process": "a\x1b[2Jb"}}
        http(self.hub + "/api/jsonlines", json.dumps(point).encode())
        words = [BINARY, "query", "--metric", "m", "--group-by", "process", "--format", "csv", *WHEN]
        environment = dict(os.environ, ATALAYA_STORE=self.store)
        self.assertIn(b"a\x1b[2Jb", subprocess.run(words, env=environment, capture_output=True, check=True).stdout)
        ours, theirs = os.openpty()
        subprocess.run(words, env=environment, stdout=theirs, check=True)
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError), open(ours, "rb", buffering=0) as terminal:  # EIO: the end of a terminal
            while part := terminal.read(65536):
                shown += part
        self.assertIn(b"a\\x1b[2Jb", shown)
        self.assertNotIn(b"\x1b", shown)

    def test_counts_are_exact_everywhere(self):
        large = 2**53 + 1
        put = [{"metric": "net.bytes", "timestamp": T0 + at, "value": large + at, "tags": {"host": "h"}} for at in (10, 20, 30)]
        self.put(put)
        wanted = [large + at for at in (10, 20, 30)]
        ask = ["query", "--metric", "net.bytes", *WHEN]
        for words in ([], ["--aggregate", "none"], ["--group-by", "host"]):
            self.assertEqual([value for _, value in json.loads(self.atalaya(*ask, *words, "--format", "json"))[0]["dps"]], wanted)
        rows = csv.DictReader(io.StringIO(self.atalaya(*ask, "--format", "csv")))
        self.assertEqual([int(row["value"]) for row in rows], wanted)
        self.assertIn(str(wanted[2]), self.atalaya(*ask))
        rows = json.loads(self.atalaya("sql", "--format", "json", "select value from points where metric = 'net.bytes' order by time"))
        self.assertEqual([row["value"] for row in rows], wanted)
        base = self.serve()
        got = json.loads(http(f"{base}/api/query?start={T0}&end={T0 + 60}&m=none:net.bytes&arrays"))
        self.assertEqual([value for _, value in got[0]["dps"]], wanted)
        got = json.loads(http(f"{base}/api/v1/query_range?query=net_bytes&start={T0 + 10}&end={T0 + 30}&step=10"))
        self.assertEqual([int(value) for _, value in got["data"]["result"][0]["values"]], wanted)

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

    def test_report_is_a_complete_page(self):
        at = lambda second: ["--at", str(T0 + second)]
        self.atalaya("experiment", "start", "tera", "--notes", "<script>alert(1)</script>", "--tag", "nodes=7", *at(5))
        self.atalaya("experiment", "start", "tera", "--workload", "sort", *at(15))
        self.atalaya("experiment", "end", "tera", *at(35))
        names = {suffix: self.path("report." + suffix) for suffix in ("html", "csv", "json")}
        for file in names.values():
            self.assertEqual(self.atalaya("report", "--experiment", "tera", "-o", file), "")
        with open(names["html"]) as file:
            page = file.read()
        self.assertIn("default-src 'none'", page)
        for part in ("<script", "<img", "http://", "https://", "@import", "url("):
            self.assertNotIn(part, page.replace('xmlns="http://www.w3.org/2000/svg"', ""))
        for part in ("&lt;script&gt;alert(1)&lt;/script&gt;", "nodes=7", "<td>sort</td>", "2023-11-14 22:13:25"):
            self.assertIn(part, page)
        [picture] = [xml.dom.minidom.parseString(part + "</svg>") for part in page.replace("<svg", "\0<svg").replace("</svg>", "\0").split("\0")
                     if part.startswith("<svg")]
        self.assertEqual(len(picture.getElementsByTagName("path")), 6)  # of each process of each host
        with open(names["json"]) as file:
            rows = json.load(file)
        with open(names["csv"], newline="") as file:
            self.assertEqual([float(row["sum"]) for row in csv.DictReader(file)], [row["sum"] for row in rows])
        self.assertIn(f"<td class=\"n\">{rows[0]['sum']:.3f}</td>", page)
        self.atalaya("report", "--experiment", "tera", "-o", self.path("report.doc"), status=2)
        self.assertIn("unknown suffix; use .html, .csv, .json or .txt", self.errors)
        self.atalaya("report", "--experiment", "tera", "-o", self.path("no/such/folder.html"), status=1)
        self.assertIn("No such file or directory", self.errors)

    def test_shares_of_a_report_add_up_with_the_total(self):
        words = ("report", "--by", "pid", "--metric", "proc.disk.writes.mb", *WHEN)
        everything = json.loads(self.atalaya(*words, "--format", "json"))
        total = sum(row["sum"] for row in everything)
        for top in (1, 3, 12, 20):
            rows = json.loads(self.atalaya(*words, "--top", str(top), "--format", "json"))
            self.assertEqual(len(rows), min(top, 12))
            for row in rows:
                self.assertAlmostEqual(row["share"], 100 * row["sum"] / total)
            table = [line.split() for line in self.atalaya(*words, "--top", str(top)).splitlines()]
            last = {line[0]: line for line in table}
            self.assertAlmostEqual(float(last["total"][2]), total, 3)
            self.assertEqual(last["total"][4:5] + last["total"][-1:], ["100.000", "█" * 10])
            self.assertEqual("other" in last, top < 12)
            if top < 12:
                # other (N) metric sum unit share
                self.assertEqual(last["other"][1], f"({12 - top})")
                self.assertAlmostEqual(sum(row["share"] for row in rows) + float(last["other"][5]), 100, 2)
        page = self.path("shares.html")
        self.atalaya(*words, "--top", "3", "-o", page)
        with open(page) as file:
            html = file.read()
        for part in (">other (9)</td>", ">total</td>", 'style="width:100.0%"'):
            self.assertIn(part, html)

    def test_a_bill_has_a_row_per_job_in_all_formats(self):
        self.put([{"metric": "proc.disk.writes.mb", "timestamp": T0 + second, "value": 4, "tags": {"host": "host1", "process": "P", "pid": "7", "job": job}}
                  for job in ("17", "18") for second in (10, 20)])
        rows = json.loads(self.atalaya("report", "--by", "job", "--format", "json", *WHEN))
        self.assertEqual([(row["kind"], row.get("job")) for row in rows],
                         [("group", "17"), ("group", "18"), ("none", None), ("unattributed", None), ("idle", None), ("total", None)])
        (plain,) = json.loads(self.atalaya("report", "--by", "all", "--metric", "proc.disk.writes.mb", "--format", "json", *WHEN))
        self.assertAlmostEqual(sum(row["diskWrites"] or 0 for row in rows), plain["sum"])
        self.assertIsNone(rows[-1]["diskWrites"], "the store has no counters of disks")
        for row in json.loads(self.atalaya("report", "--by", "job", "--metric", "proc.disk.writes.mb", "--format", "json", *WHEN)):
            found = [one["diskWrites"] for one in rows if one.get("job") == row.get("job") and one["kind"] in ("group", "none")]
            self.assertEqual(found, [row["sum"]])
        self.assertRegex(self.atalaya("report", "--by", "job", *WHEN), r"(?m)^no job +[\d.]+$")
        page = self.path("bill.html")
        self.atalaya("report", "--by", "job", "-o", page, *WHEN)
        with open(page) as file:
            self.assertIn("<h1>Bill by job</h1>", file.read())
        self.atalaya("report", "--by", "user", *WHEN, status=2)
        self.assertIn('no process has the tag user in this time; a.source.proc { tags = { "user" } } sets it', self.errors)

    def test_a_comparison_has_the_sums_of_both_reports(self):
        for name, begin, end in (("a", 0, 15), ("b", 15, 60), ("empty", 300, 400)):
            self.atalaya("experiment", "start", name, "--at", str(T0 + begin))
            self.atalaya("experiment", "end", name, "--at", str(T0 + end))
        metric = ("--metric", "proc.disk.writes.mb")
        for by, keys in (("process", ("host", "process")), ("host", ("host",)), ("pid", ("host", "process", "pid")), ("all", ())):
            sums = {name: {tuple(row[key] for key in keys): row["sum"] for row in json.loads(
                self.atalaya("report", "--by", by, "--experiment", name, *metric, "--format", "json"))} for name in ("a", "b")}
            compared = json.loads(self.atalaya("report", "--by", by, "--compare", "a", "b", *metric, "--format", "json"))
            duration, *rows = compared["rows"]
            self.assertEqual((duration["metric"], duration["a"], duration["b"], duration["difference"], duration["percent"]),
                             ("duration", 15, 45, 30, 200))
            self.assertEqual({tuple(row["tags"][key] for key in keys) for row in rows}, set(sums["a"]) | set(sums["b"]))
            for row in rows:
                key = tuple(row["tags"][key] for key in keys)
                a, b = sums["a"].get(key, 0), sums["b"].get(key, 0)
                self.assertEqual((row["a"], row["b"], row["difference"]), (a, b, b - a))
                if a == 0:
                    self.assertIsNone(row["percent"])
                else:
                    self.assertAlmostEqual(row["percent"], 100 * (b - a) / a)
        table = self.atalaya("report", "--by", "host", "--compare", "a", "b", *metric)
        self.assertEqual(table.splitlines()[0].split(), ["host", "metric", "a", "b", "difference", "%", "of"])
        total = [line.split() for line in table.splitlines() if line.startswith("total")][0]
        hosts = [line.split() for line in table.splitlines() if line.startswith("host") and line.split()[1] == metric[1]]
        for column in (2, 3, 4):
            self.assertAlmostEqual(float(total[column]), sum(float(line[column]) for line in hosts), 2)
        self.assertEqual(json.loads(self.atalaya("report", "--compare", "a", "empty", *metric, "--format", "json"))["rows"][1]["b"], 0)
        self.atalaya("report", "--compare", "a", "b", "-o", self.path("compared.html"))
        for words, said in ((["--compare", "a"], "needs two experiments"), (["--compare", "a", "b", "c"], "needs two experiments"),
                            (["x"], 'unexpected argument "x"'), (["--compare", "a", "c"], 'experiment "c" is not in the store'),
                            (["--compare", "a", "b", "--from", "-1h"], "--compare sets the time ranges"),
                            (["--compare", "a", "b", "--by", "experiment"], "use another --by")):
            self.atalaya("report", *words, status=2)
            self.assertIn(said, self.errors)

    def test_names_of_a_store(self):
        listed = json.loads(self.atalaya("metrics", "proc.disk.*", "--format", "json"))
        writes = [row for row in listed if row["metric"] == "proc.disk.writes.mb"]
        self.assertEqual([(row["kind"], row["unit"]) for row in writes], [("rate", "MiB/s")])
        self.assertTrue(all(row["metric"].startswith("proc.disk.") for row in listed))
        used = json.loads(self.atalaya("metrics", "--format", "json", *WHEN))
        self.assertEqual([row["metric"] for row in used], ["proc.disk.writes.mb"])
        processes = json.loads(self.atalaya("processes", "--format", "json", *WHEN))
        pids = {name: {(host, pid) for host, process, pid in WRITES if process == name} for _, name, _ in WRITES}
        self.assertEqual(processes, [{"process": name, "hosts": 2, "pids": len(pids[name]), "metrics": 1} for name in sorted(pids)])
        self.assertEqual(json.loads(self.atalaya("processes", "P1", "--tag", "host=host2", "--format", "json", *WHEN)),
                         [{"process": "P1", "hosts": 1, "pids": 1, "metrics": 1}])
        tags = {row["tag"]: row["values"] for row in json.loads(self.atalaya("tags", "--format", "json"))}
        self.assertEqual((tags["host"], tags["process"], tags["pid"]), (2, 3, len({pid for _, _, pid in WRITES})))
        self.assertEqual([row["process"] for row in json.loads(self.atalaya("tags", "process", "!P2", "--format", "json"))], ["P1", "P3"])
        self.assertEqual(self.atalaya("tags", "process", "--limit", "2").split(), ["process", "P1", "P2"])
        self.assertIn("1 more rows; write a pattern or raise --limit", self.errors)
        self.atalaya("tags", "proces", status=2)
        self.assertIn('did you mean "process"?', self.errors)
        self.assertEqual(json.loads(self.atalaya("processes", "--format", "json", "--from", "1000", "--to", "2000")), [])
        self.assertIn("no processes from 1970-01-01 00:16:40", self.errors)

    def put_two_metrics(self):
        """Of three processes each, one of them in MiB, of which there are more than of per cents."""
        self.put([{"metric": metric, "timestamp": T0 + second, "value": scale * (process + 1), "tags": {"host": "h", "process": f"p{process}"}}
                  for metric, scale in (("proc.cpu.user", 1), ("proc.mem.resident", 1000)) for process in range(3) for second in (10, 20)])
        return ["report", "--metric", "proc.[cm]*", "--tag", "host=h", *WHEN]

    def test_report_has_rows_and_a_picture_of_each_metric_of_a_pattern(self):
        words = self.put_two_metrics()
        rows = json.loads(self.atalaya(*words, "--top", "1", "--format", "json"))
        self.assertEqual([(row["metric"], row["process"]) for row in rows], [("proc.cpu.user", "p2"), ("proc.mem.resident", "p2")])
        page = self.atalaya(*words, "--top", "2", "--format", "html")
        pictures = [part.split("</svg>")[0] for part in page.split("<svg")[1:]]
        self.assertEqual([metric for picture in pictures for metric in ("proc.cpu.user", "proc.mem.resident") if f">{metric}<" in picture],
                         ["proc.cpu.user", "proc.mem.resident"])
        self.assertEqual([picture.count("<path ") for picture in pictures], [3, 3])
        self.assertTrue(all(">other (1)</text>" in picture for picture in pictures))

    def test_a_page_holds_one_picture_at_a_time(self):
        words = self.put_two_metrics()
        # Twelve points of 100 intervals each are requested twice.
        page = self.atalaya(*words, "--metric", "proc.*", "--format", "html", "--max-points", "2000")
        self.assertEqual(page.count("<svg"), 4)

    def test_the_file_name_selects_the_format_of_a_report(self):
        self.atalaya("report", "--format", "csv", "-o", self.path("r.html"), status=2)
        self.assertIn("r.html selects html, but --format is csv", self.errors)

    def test_foreign_metrics_have_no_unit_and_are_gauges_whatever_their_names_look_like(self):
        names = ["foreign.sent.bytes", "foreign.power", "flow.foreign.bytes"]
        self.put([{"metric": name, "timestamp": T0 + second, "value": value, "tags": {"host": "h"}}
                  for name in names for second, value in ((10, 4), (20, 6))])
        rows = json.loads(self.atalaya("report", "--by", "host", "--tag", "host=h", "--metric", "*foreign*", "--format", "json", *WHEN))
        self.assertEqual({row["metric"]: row["unit"] for row in rows}, dict.fromkeys(names, ""))
        answers = json.loads(self.atalaya("query", "--metric", "*foreign*", "--every", "1m", "--format", "json", *WHEN))
        self.assertEqual({answer["metric"]: [value for _, value in answer["dps"]] for answer in answers}, dict.fromkeys(names, [5]))
        # Instants of 20 s in the 40 s of the range until the minute.
        for answer in answers:
            self.assertEqual([part for _, part in answer["partly"]], [0.5])
        self.assertNotIn("unit", answers[0])

    def test_experiments_are_times(self):
        at = lambda second: ["--at", str(T0 + second)]
        self.atalaya("experiment", "start", "tera", "--notes", "a note", *at(5))
        self.atalaya("experiment", "start", "tera", "--workload", "w1", *at(15))
        self.atalaya("experiment", "end", "tera", "--workload", "w1", *at(25))
        self.atalaya("experiment", "end", "tera", *at(35))
        words = ["query", "--metric", "proc.disk.writes.mb", "--tag", "pid=33", "--format", "json", "--experiment", "tera"]
        self.assertEqual([value for _, value in json.loads(self.atalaya(*words))[0]["dps"]], [10, 12, 11])
        self.assertEqual([value for _, value in json.loads(self.atalaya(*words, "--workload", "w1"))[0]["dps"]], [12])
        self.atalaya("experiment", "start", "only", "--workload", "w1", *at(5))
        self.atalaya("experiment", "end", "only", "--workload", "w1", *at(15))
        self.atalaya("experiment", "start", "only", "--workload", "w2", *at(20))
        self.atalaya("experiment", "end", "only", "--workload", "w2", *at(35))
        self.assertEqual([value for _, value in json.loads(self.atalaya(*words[:-1], "only"))[0]["dps"]], [10, 12, 11])
        self.atalaya("experiment", "delete", "only")
        exported = self.atalaya("experiment", "list", "--format", "json")
        self.atalaya("experiment", "delete", "tera")
        self.assertEqual(json.loads(self.atalaya("experiment", "list", "--format", "json")), [])
        self.atalaya("experiment", "import", "-", input=exported.encode())
        self.assertEqual(self.atalaya("experiment", "list", "--format", "json"), exported)
        self.atalaya("experiment", "end", "tera", status=2)
        self.assertIn("is not open", self.errors)
        self.atalaya(*words[:-1], "trea", status=2)
        self.assertIn('did you mean "tera"?', self.errors)

    def test_times_count_from_the_start_of_an_experiment(self):
        self.atalaya("experiment", "start", "a+b", "--at", str(T0 + 5))
        words = ["query", "--metric", "proc.disk.writes.mb", "--tag", "pid=33", "--format", "json"]
        for begin, length in ((0, "1m"), (10, "10s"), (3, "17s"), (0, "5000ms")):
            to = T0 + 5 + begin + {"1m": 60, "10s": 10, "17s": 17, "5000ms": 5}[length]
            first = f"a+b+{begin}s"
            last = f"a+b+{to - T0 - 5}s"
            self.assertEqual(self.atalaya(*words, "--from", first, "--to", last),
                             self.atalaya(*words, "--from", str(T0 + 5 + begin), "--to", str(to)))
        for text, said in (("c+2m", 'experiment "c" is not in the store'), ("a+b+x", '"a+b+x" is no time and not EXPERIMENT+LENGTH'),
                           ("a+b", '"a+b" is no time and not EXPERIMENT+LENGTH')):
            self.atalaya(*words, "--from", text, status=2)
            self.assertIn(said, self.errors)

    def test_tables_and_pictures_have_the_same_local_times(self):
        zone = {"TZ": "<+0530>-5:30"}
        table = self.atalaya("query", "--metric", "proc.disk.writes.mb", *WHEN, environment=zone)
        self.assertEqual(table.splitlines()[0].split()[:2], ["time", "(UTC+05:30)"])
        self.assertEqual(table.splitlines()[1].split()[:2], ["2023-11-15", "03:43:30"])
        picture = self.atalaya("plot", "--metric", "proc.disk.writes.mb", *WHEN, "-o", "-", environment=zone)
        self.assertIn(">2023-11-15 03:43:20 to 03:44:20 UTC+05:30</text>", picture)
        self.assertEqual(picture.count("UTC"), 1)
        self.assertEqual(self.atalaya("query", "--metric", "proc.disk.writes.mb", "--from", "2023-11-15 03:43:20",
                                      "--to", "2023-11-15 03:44:20", environment=zone), table)

    def test_an_experiment_lasts_as_long_as_its_command(self):
        self.atalaya("experiment", "run", "job", "--", "sh", "-c", "exit 3", status=3)
        [job] = json.loads(self.atalaya("experiment", "show", "job", "--format", "json"))
        self.assertIsNotNone(job["end"])
        self.atalaya("experiment", "run", "sort", "--workload", "w1", "--", "true")
        self.atalaya("experiment", "run", "sort", "--workload", "w2", "--", "true")
        runs = {run.get("workload", ""): run for run in json.loads(self.atalaya("experiment", "show", "sort", "--format", "json"))}
        self.assertEqual(sorted(runs), ["", "w1", "w2"])
        self.assertLess(runs[""]["start"], runs["w1"]["end"])
        self.assertGreaterEqual(runs[""]["end"], runs["w2"]["end"])
        self.atalaya("experiment", "run", "sort", "--workload", "w3", "--", "/does/not/exist", status=1)
        self.assertEqual(len(json.loads(self.atalaya("experiment", "show", "sort", "--format", "json"))), 3)
        self.atalaya("experiment", "run", "lost", "--workload", "w", "--", "/does/not/exist", status=1)
        self.atalaya("experiment", "show", "lost", status=2)
        self.atalaya("experiment", "run", "none", "--", "/does/not/exist", status=1)
        self.assertIn("cannot run: No such file", self.errors)
        self.atalaya("experiment", "show", "none", status=2)

    def start_listener(self, name, terminal=None):
        """A command in an experiment that prints which signal came first, and whether another one followed."""
        listen = ("import signal\n"
                  "wanted = {signal.SIGINT, signal.SIGTERM}\n"
                  "signal.pthread_sigmask(signal.SIG_BLOCK, wanted)\n"
                  "print('listens', flush=True)\n"
                  "print('got', signal.Signals(signal.sigwait(wanted)).name, signal.sigtimedwait(wanted, 0.5), flush=True)\n")
        words = [BINARY, "experiment", "run", name, "--store", self.store, "--", sys.executable, "-c", listen]
        if terminal is None:
            return subprocess.Popen(words, stdout=subprocess.PIPE)
        # The terminal of a session becomes that of the process that opens it first.
        open_it = "import os, sys; os.close(os.open(sys.argv[1], os.O_RDWR)); os.execv(sys.argv[2], sys.argv[2:])"
        return subprocess.Popen([sys.executable, "-c", open_it, os.ttyname(terminal), *words], stdout=subprocess.PIPE,
                                start_new_session=True)

    def last_line(self, running, name):
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
        self.assertEqual(self.last_line(running, "term"), b"got SIGTERM None\n")

    def test_an_interrupt_of_the_terminal_arrives_once(self):
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        running = self.start_listener("typed", slave)
        self.assertEqual(running.stdout.readline(), b"listens\n")
        os.write(master, b"\x03")
        self.assertEqual(self.last_line(running, "typed"), b"got SIGINT None\n")

    def test_an_answer_that_did_not_arrive_is_a_failure(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([BINARY, "query", "--metric", "proc.*", "--store", self.store, *WHEN], stdout=full,
                                  stderr=subprocess.PIPE, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"the output is not complete: No space left on device", done.stderr)

    def test_output_that_nobody_reads_ends_quietly(self):
        done = subprocess.run(["sh", "-c", '"$0" query --metric "proc.*" --store "$1" --from "$2" --to "$3" | true', BINARY, self.store,
                               WHEN[1], WHEN[3]], stderr=subprocess.PIPE, timeout=PATIENCE)
        self.assertEqual(done.stderr, b"")

    def test_a_written_file_is_named(self):
        picture = self.path("picture.svg")
        self.atalaya("plot", "--metric", "proc.disk.writes.mb", "-o", picture, *WHEN)
        self.assertRegex(self.errors, f"^wrote {re.escape(picture)} \\(.+B\\)\n$")

    def test_an_import_with_an_error_stores_nothing(self):
        self.atalaya("experiment", "start", "good", "--at", str(T0))
        [good] = json.loads(self.atalaya("experiment", "list", "--format", "json"))
        both = json.dumps([dict(good, experiment="first"), dict(good, experiment="no name at all!")])
        self.atalaya("experiment", "import", "-", input=both.encode(), status=2)
        self.atalaya("experiment", "show", "first", status=2)

    @unittest.skipIf(os.geteuid() != 0, "only root gives files away")
    def test_a_store_that_root_makes_belongs_to_the_owner_of_the_folder(self):
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
        self.atalaya("plot", "--metric", "proc.disk.writes.mb", "-o", self.path("a.pdf"), status=2)
        self.assertIn("unknown suffix; use .svg or .png", self.errors)
        self.atalaya("plot", "--metric", "proc.disk.writes.mb", "-o", self.path("a.webp"), status=2)
        self.assertIn("unknown suffix; use .svg or .png", self.errors)

    def test_the_areas_of_a_stack_add_up_to_the_total(self):
        file = self.path("a.svg")
        words = ("--metric", "proc.disk.writes.mb", "--every", "10s", *WHEN)
        for top in (1, 2, 4, 8):
            self.atalaya("plot", *words, "--group-by", "process,pid", "--stacked", "--top", str(top), "-o", file, "--height", "2000")
            picture = xml.dom.minidom.parse(file)
            areas = [path for path in picture.getElementsByTagName("path") if path.getAttribute("fill") != "none"]
            names = [area.getElementsByTagName("title")[0].firstChild.data for area in areas]
            self.assertEqual(len(areas), top + 1)
            self.assertTrue(names[-1].startswith("other ("), names)
            # Each area runs forward on its top and back on its base.
            edges = [[tuple(map(float, point.split())) for point in re.findall("[ML]([0-9.]+ [0-9.]+)", area.getAttribute("d"))]
                     for area in areas]
            tops = [edge[:len(edge) // 2] for edge in edges]
            bases = [edge[len(edge) // 2:][::-1] for edge in edges]
            self.assertEqual(tops[:-1], bases[1:])
            # The scale, from the labels of the axis.
            labels = [(float(text.firstChild.data), float(text.getAttribute("y")) - 4) for text in picture.getElementsByTagName("text")
                      if text.getAttribute("text-anchor") == "end" and re.fullmatch("[0-9.]+", text.firstChild.data)]
            (low, bottom), (high, upper) = min(labels), max(labels)
            self.assertEqual(low, 0)
            shown = [(bottom - y) / (bottom - upper) * high for _, y in tops[-1]]
            total = [value for _, value in json.loads(self.atalaya("query", *words, "--format", "json"))[0]["dps"]]
            for left, right in zip(shown, total, strict=True):
                self.assertAlmostEqual(left, right, delta=high / 2000)
        for more, said in ((["--aggregate", "avg"], "--aggregate must be zimsum or none"), (["--compare", "avg"], "omit --formula and --compare")):
            self.atalaya("plot", *words, "--stacked", "-o", file, *more, status=2)
            self.assertIn(said, self.errors)
        self.put([{"metric": "made.up", "timestamp": T0 + 10, "value": -1, "tags": {"host": "h"}}])
        self.atalaya("plot", "--metric", "made.up", "--stacked", "-o", file, *WHEN, status=2)
        self.assertIn("has values below 0", self.errors)

    def test_a_picture_is_well_formed_for_any_process_name(self):
        self.put([{"metric": "proc.cpu.user", "timestamp": T0 + 10, "value": 1, "tags": {"process": name}} for name in ("a\uffff", "b\ufffe")])
        file = self.path("a.svg")
        self.atalaya("plot", "--metric", "proc.cpu.user", "--group-by", "process", "-o", file, *WHEN)
        self.assertIn("a\\u{ffff}", xml.dom.minidom.parse(file).toxml())

    def test_invalid_sizes_in_pixels_are_named(self):
        names = ["proc.cpu.user", "proc.mem.resident", "proc.disk.writes.mb", "proc.threads", "sys.disk.read.ios", "sys.disk.read.await",
                 "sys.net.in.mb"]  # seven units, two a panel
        self.put([{"metric": name, "timestamp": T0 + 10, "value": 1, "tags": {"host": "h"}} for name in names])
        file = self.path("a.png")
        self.atalaya("plot", "--metric", "proc.*", "--metric", "sys.*", "--aggregate", "sum", "--height", "10000", "-o", file, *WHEN, status=1)
        self.assertRegex(self.errors, r"1000 x 40\d+ pixels: .*size")
        self.assertFalse(os.path.exists(file))

    def test_pictures_in_pixels(self):
        file = self.path("a.png")
        plot = ["plot", "--metric", "proc.disk.writes.mb", "--group-by", "host", "--width", "600", "-o", file, *WHEN]
        self.atalaya(*plot, environment={"ASAN_OPTIONS": "detect_leaks=0"})  # fontconfig keeps its files in memory
        with open(file, "rb") as picture:
            data = picture.read()
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(int.from_bytes(data[16:20], "big"), 600)
        # 250,000 pixels of which most are white: without text and lines it would be a tenth of it.
        self.assertGreater(len(data), 5000)
        os.unlink(file)
        broken = self.path("librsvg-2.so.2")
        open(broken, "w").close()
        done = subprocess.run([BINARY, *plot, "--store", self.store], capture_output=True, timeout=PATIENCE,
                              env=dict(os.environ, LD_LIBRARY_PATH=self.folder))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"PNG needs librsvg: ", done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1)
        self.assertFalse(os.path.exists(file))

    def test_errors_are_named(self):
        for words, said in (
                (["query", "--metric", "proc.disk.write.mb"], 'did you mean "proc.disk.writes.mb"?'),
                (["query"], "--metric is missing; write --metric NAME"),
                (["query", "--metric", "x", "--from", "noon"], '--from: "noon" is not a time'),
                (["query", "--metric", "x", "--from", "now", "--to", "-1h"], "ends before it begins"),
                (["query", "--metric", "x", "--aggregate", "smu"], 'did you mean "sum"?'),
                (["query", "--metric", "x", "--aggregate", "mean"], "functions are sum, avg, "),
                (["query", "--metric", "x", "--every", "5"], "has no unit"),
                (["query", "--metric", "x", "--tag", "host"], '"host" is not of the form KEY=VALUE'),
                (["query", "--metric", "x", "--format", "xml"], "--format"),
                (["query", "--nonsense"], 'unknown option "--nonsense"'),
                (["query", "--metric", "x", "--from", "-1h", "--from", "-2h"], "--from is given twice"),
                (["query", "--metric", "proc.*", "--group-by", "proces", *WHEN],
                 '--group-by: no series here has the tag "proces"; did you mean "process"?'),
                (["try", "self", "root=/", "root=/x"], "root is given twice"),
                (["serve", "--listen", "0.0.0.0:0"], "add --tokens FILE")):
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

    def test_commands_are_listed_with_the_built_in_ones(self):
        overview = self.atalaya("--help")
        for name in ("query", "plot", "sql", "report", "experiment", "serve"):
            self.assertIn(f"  {name} ", overview)
            self.assertIn("\n  atalaya " + name, self.atalaya(name, "--help"))
        self.assertIn("group\\-by", self.atalaya("help", "man"))
        self.assertIn("--group-by", self.atalaya("complete", "--", "query", "--gr"))
        self.assertEqual(subprocess.run(["bash", "-n"], input=self.atalaya("help", "bash").encode()).returncode, 0)
        self.atalaya("quer", status=2)
        self.assertIn('did you mean "query"?', self.errors)


class SeveralStores(AgentCase):
    """Two hubs, and a third one that has the points of both."""

    def setUp(self):
        super().setUp()
        self.paths = [self.path(name) for name in ("a.db", "b.db", "whole.db")]
        hubs = "".join(f"""
            a.pipeline "hub{number}" {{ a.source.receive {{ listen = "127.0.0.1:0", store_timeout = "50s" }},
              a.sink.sqlite {{ path = "{path}", retain = "0s" }} }}""" for number, path in enumerate(self.paths))
        agent = self.run_agent('local a = require "atalaya"' + hubs)
        urls = [agent.wait_line(f'"hub{number}": source "receive": listening on ').split("listening on ")[1] for number in range(3)]
        points = list(documents())
        both = [point for point in points if point["tags"]["pid"] == "102"]
        for url, wanted in ((urls[0], points[:20]), (urls[1], points[20:] + both), (urls[2], points + both)):
            http(f"http://{url.split()[0]}/api/put", json.dumps(wanted).encode())

    def output(self, *words, stores, status=0):
        options = [word for path in stores for word in ("--store", path)]
        done = subprocess.run([BINARY, *words, *options], capture_output=True, text=True, timeout=PATIENCE, env=dict(os.environ, TZ="UTC"))
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def test_they_are_read_as_one(self):
        metric = ["--metric", "proc.disk.writes.mb"]
        for words in (["query", *metric, "--format", "json"], ["query", *metric, "--group-by", "host,process,pid", "--format", "csv"],
                      ["query", *metric, "--every", "20s", "--group-by", "process", "--aggregate", "sum", "--format", "json"],
                      ["plot", *metric, "--group-by", "host", "-o", "/dev/stdout"], ["tags", "--format", "json"],
                      ["metrics", "--format", "json"], ["processes", "--format", "json", *WHEN]):
            window = WHEN if words[0] in ("query", "plot") else []
            whole = self.output(*words, *window, stores=self.paths[2:])
            self.assertEqual(self.output(*words, *window, stores=self.paths[:2]), whole, words)
            self.assertTrue(whole.strip())

    def test_a_store_is_named_once_and_one_is_written(self):
        text = self.output("query", "--metric", "m", stores=[self.paths[0], self.paths[0]], status=1)
        self.assertIn(f"sqlite:{self.paths[0]} is given twice; name each store once", text)
        self.assertIn("--store is given twice", self.output("experiment", "list", stores=self.paths[:2], status=2))


class Served(QueryCase):
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
        self.assertEqual(len(self.get(base, "/api/v1/series", **{"match[]": '{process="P2",core=~"0|"}'})["data"]), 2)
        self.assertEqual(self.get(base, "/api/v1/label/host/values", **{"match[]": '{pid="105"}'})["data"], ["host2"])
        self.assertEqual(self.get(base, "/api/v1/label/host/values", **{"match[]": "nobody_wrote_it"})["data"], [])
        self.assertEqual(self.get(base, "/api/v1/query", query="1+1", time=T0)["data"], {"resultType": "scalar", "result": [T0, "2"]})
        self.assertEqual([value for _, value in self.get(base, "/api/v1/query_range", query="1+1", start=1, end=3, step=1)["data"]["result"][0]["values"]],
                         ["2"] * 3)
        self.assertEqual(status_of(base + "/api/v1/query_range?query=histogram_quantile(0.5,x)&start=1&end=2&step=1"), 400)
        sums = self.get(base, "/api/v1/query_range", query="sum by (host) (proc_disk_writes_mb)", start=T0 + 10, end=T0 + 30, step=10)
        self.assertEqual({one["metric"]["host"]: [float(value) for _, value in one["values"]] for one in sums["data"]["result"]},
                         {one["tags"]["host"]: [value for _, value in one["dps"]] for one in self.answers("--group-by", "host")})
        self.assertIn("proc_disk_writes_mb", self.get(base, "/api/v1/label/__name__/values")["data"])
        self.assertEqual(self.get(base, "/api/v1/metadata")["data"]["proc_disk_writes_mb"][0]["unit"], "MiBy/s")
        self.assertEqual(self.get(base, "/api/v1/query_range", query="nobody_wrote_it", start=1, end=2, step=1)["data"]["result"], [])

    def test_many_matches_are_one_question(self):
        base = self.serve()
        both = {"match[]": ['{process="P2",host="host1"}', '{process="P2"}', "nobody_wrote_it"]}
        self.assertEqual(len(self.get(base, "/api/v1/series", **both)["data"]), 2)
        self.assertEqual(self.get(base, "/api/v1/label/pid/values", **both)["data"], ["33", "56"])
        self.assertEqual(self.get(base, "/api/v1/labels", **both)["data"], ["__name__", "host", "pid", "process"])
        hurried = self.serve("--timeout", "1ms")
        many = urllib.parse.urlencode({"match[]": ['{host=~".+"}'] * 250}, doseq=True).encode()
        for path in ("labels", "series", "label/host/values"):
            self.assertEqual(status_of(f"{hurried}/api/v1/{path}", body=many), 422)

    def test_stacks_and_experiments(self):
        stacks = [{"timestamp": T0 + 20, "hostname": "h1", "stack": "java-7;a;b;a", "value": 3},
                  {"timestamp": T0 + 20, "hostname": "h2", "stack": "java-7;a;c", "value": 1}]
        http(self.hub + "/cpu", json.dumps(stacks).encode())
        for profile in ("offcpu", "wall", "exemplar"):  # no samples of CPUs
            http(self.hub + "/api/jsonlines", json.dumps(
                {"kind": "stack", "time": (T0 + 20) * 10**9, "duration": 10**9, "text": "java-7;a;b;a",
                 "tags": {"host": "h1", "profile": profile}, "fields": {"profile.samples": 5}}).encode() + b"\n")
        base = self.serve()
        times = {"start_time": T0, "end_time": T0 + 60}
        self.assertEqual(self.get(base, "/stacks/", **times, hostname="h1"), {"java-7;a;b;a": 3})
        for pattern in ("h*", "!h2", "~.*", "~("):
            self.assertEqual(self.get(base, "/stacks/", **times, hostname=pattern), {})
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

    def test_permissions_of_queries(self):
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
            # Ours have the form of names that PromQL can have.
            return {json.dumps(dict(one["metric"], __name__=one["metric"]["__name__"].replace(".", "_")), sort_keys=True): [(float(t), float(v)) for t, v in one["values"]] for one in found}
        self.assertEqual(series(base), series(theirs))
        # Sums over a tag, by our aggregation and by theirs.
        total = dict(ask, query='sum({__name__="proc.disk.writes.mb"}) by (host)')
        theirs_by_host = {one["metric"]["host"]: [[int(t) * 1000, float(v)] for t, v in one["values"]]
                          for one in self.get(theirs, "/api/v1/query_range", **total)["data"]["result"]}
        self.assertEqual({one["tags"]["host"]: one["dps"] for one in self.answers("--group-by", "host")}, theirs_by_host)
        ours_by_host = {one["metric"]["host"]: [[int(t) * 1000, float(v)] for t, v in one["values"]]
                        for one in self.get(base, "/api/v1/query_range", **total)["data"]["result"]}
        self.assertEqual(ours_by_host, theirs_by_host)


if __name__ == "__main__":
    main()
