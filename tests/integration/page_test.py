# SPDX-License-Identifier: Apache-2.0
"""The page of `serve`: its files and their headers, and the data behind it, compared with `query` and with sums in Python."""

import json
import os
import re
import socket
import subprocess
import threading
import unittest
import urllib.error
import urllib.parse
import urllib.request
import xml.dom.minidom

from harness import BINARY, PATIENCE, Agent, main
from graph_test import documents as traffic
from questions import T0, WHEN, WRITES, QueryCase, http, status_of

EVIL = '<img src=x onerror=alert(1)>"\'&;</script>'


class PageCase(QueryCase):
    def setUp(self):
        super().setUp()
        self.base = self.serve()

    def fetch(self, path, method="GET", **headers):
        """Status, headers and body."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self.base + path, headers=given, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def data(self, path, status=200, **parameters):
        arguments = urllib.parse.urlencode({name.rstrip("_"): value for name, value in parameters.items()}, doseq=True)
        code, headers, body = self.fetch(f"/api/page/{path}?{arguments}")
        self.assertEqual(code, status, body)
        self.assertTrue(headers["Content-Type"].startswith("application/json"))
        return json.loads(body)

    def put_lines(self, samples):
        http(self.hub + "/api/jsonlines", "".join(json.dumps(sample) + "\n" for sample in samples).encode())

    def refused(self, path, **parameters):
        return self.data(path, status=400, **parameters)["error"]["message"]


class Files(PageCase):
    def setUp(self):
        super().setUp()
        status, self.headers, body = self.fetch("/")
        self.assertEqual(status, 200)
        self.html = body.decode()
        if self.headers["Content-Type"].startswith("text/plain"):
            self.assertIn("npm", self.html)
            self.skipTest("this build has no page")

    def test_it_loads_its_own_assets_only(self):
        assets = re.findall(r'(?:src|href)="([^"]*)"', self.html)
        self.assertEqual(sorted(assets), ["/assets/app.css", "/assets/app.js", "data:,"])
        self.assertNotRegex(self.html, r"<script(?![^>]*src=)|style=|\son\w+=|https?://")
        for path, kind in (("/assets/app.js", "text/javascript"), ("/assets/app.css", "text/css")):
            status, headers, body = self.fetch(path)
            self.assertEqual((status, headers["Content-Type"]), (200, kind + "; charset=UTF-8"))
            self.assertEqual(int(headers["Content-Length"]), len(body))
            self.assertGreater(len(body), 0)

    def test_headers_forbid_everything_else(self):
        for path in ("/", "/assets/app.js", "/assets/app.css"):
            headers = self.fetch(path)[1]
            policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
            self.assertEqual(policy, {"default-src": "'none'", "script-src": "'self'", "style-src": "'self'",
                                      "img-src": "'self' data:", "connect-src": "'self'", "base-uri": "'none'",
                                      "form-action": "'none'", "frame-ancestors": "'none'"})
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Referrer-Policy"], "no-referrer")

    def test_an_unchanged_file_is_not_sent_again(self):
        for path in ("/", "/assets/app.js", "/assets/app.css"):
            tag = self.fetch(path)[1]["ETag"]
            self.assertEqual(self.fetch(path)[1]["ETag"], tag)
            status, headers, body = self.fetch(path, If_None_Match=f'"other", {tag}')
            self.assertEqual((status, body, headers["ETag"]), (304, b"", tag))
            self.assertEqual(self.fetch(path, If_None_Match='"other"')[0], 200)
        self.assertEqual(len({self.fetch(path)[1]["ETag"] for path in ("/", "/assets/app.js", "/assets/app.css")}), 3)

    def test_other_paths_and_methods(self):
        for path in ("/assets/", "/assets/app.ts", "/assets/../etc/passwd", "/index.html", "/api/page/", "/api/page/nothing"):
            self.assertEqual(self.fetch(path)[0], 404, path)
        self.assertEqual(self.fetch("/", method="POST")[0], 404)
        status, headers, body = self.fetch("/", method="HEAD")
        self.assertEqual((status, body), (200, b""))
        self.assertEqual(self.fetch("/", Host="rebound.example")[0], 403)
        self.assertEqual(self.fetch("/api/page/info", Host="rebound.example")[0], 403)

    def test_only_data_needs_a_token(self):
        tokens = self.path("tokens")
        with open(os.open(tokens, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write("secret-of-the-test\n")
        self.base = self.serve("--tokens", tokens)
        for path in ("/", "/assets/app.js", "/assets/app.css"):
            self.assertEqual(self.fetch(path)[0], 200)
        for path in ("/api/page/info", "/api/page/metrics", "/assets/other"):
            self.assertEqual(self.fetch(path)[0], 401)
            self.assertIn(self.fetch(path, Authorization="Bearer secret-of-the-test")[0], (200, 404))


class Lists(PageCase):
    def test_the_store(self):
        info = self.data("info", extent="true")
        self.assertEqual(info["hosts"], ["host1", "host2"])
        self.assertEqual(info["store"]["kind"], "sqlite")
        self.assertIn(self.store, info["store"]["name"])
        stored = self.atalaya("sql", "--format", "csv", "SELECT min(time), max(time) FROM points").splitlines()[1]
        for key, milliseconds in zip(("from", "to"), stored.split(",")):
            self.assertAlmostEqual(info["store"][key], int(milliseconds), delta=1, msg=key)
        self.assertEqual(info["utc_offset_minutes"], 0)
        self.assertRegex(info["version"], r"^\d+\.\d+\.\d+$")

    def test_metrics_have_their_declarations(self):
        [metric] = [one for one in self.data("metrics") if one["name"] == "proc.disk.writes.mb"]
        self.assertEqual((metric["kind"], metric["unit"], metric["decimals"]), ("rate", "MiBy/s", 3))
        self.assertTrue(metric["summary"])

    def test_tags_of_a_metric(self):
        tags = self.data("tags", metric="proc.disk.writes.mb", from_=T0, to=T0 + 60, host="host2")
        self.assertEqual(tags["tags"]["process"], ["P1", "P2", "P3"])
        self.assertEqual(tags["tags"]["pid"], ["102", "103", "104", "105", "33", "56"])
        self.assertFalse(tags["more"])
        self.assertIn("did you mean", self.refused("tags", metric="proc.disk.writes.md", from_=T0, to=T0 + 60))

    def test_long_lists_are_cut(self):
        self.put([{"metric": "many", "timestamp": T0, "value": 1, "tags": {"n": str(i)}} for i in range(1100)])
        tags = self.data("tags", metric="many", from_=T0 - 1, to=T0 + 60)
        self.assertEqual((len(tags["tags"]["n"]), tags["more"]), (1000, True))

    def test_names_are_data(self):
        self.put_lines([{"kind": "metrics", "time": T0 * 10**9, "tags": {"process": EVIL}, "fields": {"evil": 1}}])
        code, headers, body = self.fetch(f"/api/page/tags?metric=evil&from={T0 - 1}&to={T0 + 1}")
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertTrue(headers["Content-Type"].startswith("application/json"))
        self.assertEqual(json.loads(body)["tags"]["process"], [EVIL])

    def test_experiments_and_their_windows(self):
        self.atalaya("experiment", "start", "e1", "--at", str(T0))
        self.atalaya("experiment", "start", "e1", "--workload", "w1", "--at", str(T0 + 5))
        self.atalaya("experiment", "end", "e1", "--workload", "w1", "--at", str(T0 + 15))
        self.atalaya("experiment", "end", "e1", "--at", str(T0 + 30))
        [one] = self.data("experiments")
        self.assertEqual((one["name"], one["from"], one["to"], one["open"]), ("e1", T0 * 1000, (T0 + 30) * 1000, False))
        [workload] = one["workloads"]
        self.assertEqual((workload["name"], workload["from"], workload["to"]), ("w1", (T0 + 5) * 1000, (T0 + 15) * 1000))

    def test_spans(self):
        body = [{"kind": "span", "time": T0 * 10**9, "duration": duration, "text": "phase", "tags": {"host": host, "phase": EVIL},
                 "fields": {"span.bytes": 5}} for host, duration in (("host1", 10**9), ("host2", -1))]
        self.put_lines(body)
        spans = self.data("spans", kind="phase", from_=T0 - 10, to=T0 + 10)
        self.assertEqual([(span["tags"]["host"], span["open"], span["fields"]["span.bytes"]) for span in spans],
                         [("host1", False, 5), ("host2", True, 5)])
        self.assertEqual(spans[0]["to"] - spans[0]["from"], 1000)
        self.assertEqual(spans[0]["tags"]["phase"], EVIL)
        self.assertEqual(self.data("spans", kind="phase", from_=T0 - 10, to=T0 + 10, host="host3"), [])
        self.assertIn("phase, anomaly, alert", self.refused("spans", kind="other"))

    def test_wrong_times(self):
        self.assertIn("from", self.refused("spans", from_="yesterdaymorning"))
        self.assertIn("ends before it starts", self.refused("spans", from_=T0, to=T0 - 1))
        self.assertEqual(status_of(self.base + "/api/page/info", method="POST", body=b""), 405)


class Series(PageCase):
    """The example's writes, and sums in Python."""

    def series(self, **parameters):
        return self.data("series", metric="proc.disk.writes.mb", from_=T0, to=T0 + 60, **{"every": "10s", **parameters})

    @staticmethod
    def columns(answer):
        return {one["name"]: dict(zip(answer["times"], one["values"])) for one in answer["series"]}

    def sums(self, key, wanted=lambda *identity: True):
        sums = {}
        for (host, process, pid), values in WRITES.items():
            if not wanted(host, process, pid):
                continue
            for i, value in enumerate(values):
                column = sums.setdefault({"host": host, "process": process}[key], {})
                time = (T0 + 10 * (i + 1)) * 1000
                column[time] = column.get(time, 0) + value
        return sums

    def assert_columns(self, found, wanted):
        self.assertEqual(found.keys(), wanted.keys())
        for name, column in wanted.items():
            self.assertEqual(found[name].keys(), column.keys())
            for time, value in column.items():
                self.assertAlmostEqual(found[name][time], value, msg=f"{name} {time}")

    def test_columns_are_sums(self):
        answer = self.series(group_by="host")
        self.assertEqual((answer["unit"], answer["kind"], answer["every"]), ("MiBy/s", "rate", 10_000))
        self.assert_columns(self.columns(answer), self.sums("host"))
        self.assert_columns(self.columns(self.series(group_by="process", host="host2")),
                            self.sums("process", lambda host, *_: host == "host2"))
        self.assert_columns(self.columns(self.series(group_by="process", tag=["host=host1", "pid=!56"])),
                            self.sums("process", lambda host, _, pid: host == "host1" and pid != 56))

    def test_what_is_stacked_sums_to_the_whole(self):
        whole = self.answers("--every", "10s")[0]["dps"]
        for top in (1, 2, 3, 5, 11, 12, 50):
            for keys in ("process", "host,process", "*"):
                with self.subTest(top=top, keys=keys):
                    answer = self.series(group_by=keys, top=top, other="true")
                    self.assertTrue(all("was collected" in warning for warning in answer["warnings"]), answer["warnings"])
                    self.assertEqual(answer["times"], [time for time, _ in whole])
                    self.assertLessEqual(len(answer["series"]), top + 1)
                    self.assertEqual([one["other"] for one in answer["series"]].count(True), answer["series"][-1]["other"])
                    for i, (_, value) in enumerate(whole):
                        self.assertAlmostEqual(sum(one["values"][i] or 0 for one in answer["series"]), value)

    def test_the_largest_are_shown(self):
        totals = {name: sum(column.values()) for name, column in self.sums("process").items()}
        answer = self.series(group_by="process", top=2)
        self.assertEqual([one["name"] for one in answer["series"]], sorted(totals, key=lambda name: -totals[name])[:2])
        self.assertIn("1 of 3 series", answer["warnings"][0])
        # A series that a filter made, not the rest.
        self.put([{"metric": "named", "timestamp": T0 + 10, "value": value, "tags": {"process": name}}
                  for name, value in (("other", 5), ("a", 3), ("b", 2))])
        named = self.data("series", metric="named", from_=T0, to=T0 + 60, every="10s", group_by="process", top=1, other="true")
        self.assertEqual([(one["name"], one["other"]) for one in named["series"]], [("other", False), ("other", True)])

    def test_it_agrees_with_query(self):
        for every in ("10s", "20s", "1m", "10s-max", "10s-count"):
            for aggregate in ("zimsum", "avg", "max", "p95", "count"):
                with self.subTest(every=every, aggregate=aggregate):
                    answer = self.series(every=every, aggregate=aggregate, group_by="host")
                    for theirs in self.answers("--every", every, "--aggregate", aggregate, "--group-by", "host"):
                        ours = self.columns(answer)[theirs["tags"]["host"]]
                        self.assertEqual([[time, value] for time, value in ours.items() if value is not None], theirs["dps"])

    def test_several_metrics_are_added(self):
        self.put([{"metric": f"part.{name}", "timestamp": T0 + 10 * i, "value": value, "tags": {"host": host}}
                  for name, host, i, value in (("a", "h", 1, 1), ("b", "h", 1, 2), ("a", "h", 2, 4), ("b", "i", 2, 8))])
        answer = self.data("series", metric="part.a,part.b,part.missing", from_=T0, to=T0 + 60, every="10s-sum", group_by="host")
        self.assertEqual(self.columns(answer), {"h": {(T0 + 10) * 1000: 3, (T0 + 20) * 1000: 4},
                                                "i": {(T0 + 10) * 1000: None, (T0 + 20) * 1000: 8}})

    def test_a_number_of_points(self):
        for points, every in ((300, 1000), (60, 1000), (30, 2000), (10, 10_000), (1, 60_000)):
            self.assertEqual(self.series(every="", points=points)["every"], every)

    def test_wrong_requests(self):
        self.assertIn("did you mean", self.refused("series", metric="proc.disk.writes.md"))
        for parameters, text in (({}, "metric is missing"), ({"metric": "a", "top": "0"}, "top: \"0\""),
                                 ({"metric": "a", "every": "1s", "from_": "-1d"}, "5000 intervals"),
                                 ({"metric": "a", "aggregate": "mean"}, "aggregate"),
                                 ({"metric": "a", "other": "true", "aggregate": "avg"}, "only sums have a rest"),
                                 ({"metric": "a", "points": "many"}, "points"), ({"metric": "a", "tag": "x"}, "tag")):
            self.assertIn(text, self.refused("series", **parameters))


class Processes(PageCase):
    def rows(self, **parameters):
        return self.data("processes", from_=T0, to=T0 + 30, **parameters)

    def test_values_are_those_of_query(self):
        table = self.rows()
        column = [one["name"] for one in table["columns"]].index("writes")
        found = {(row["host"], row["process"], int(row["pid"])): row["values"][column] for row in table["rows"]}
        self.assertEqual(found.keys(), WRITES.keys())
        for identity, values in WRITES.items():
            self.assertAlmostEqual(found[identity], sum(values) / 3, msg=identity)
        self.assertEqual((table["total"], table["seconds"]), (12, 30))
        theirs = self.atalaya("query", "--metric", "proc.disk.writes.mb", "--group-by", "host,pid,process", "--every", "0all", "--format",
                              "json", "--from", str(T0), "--to", str(T0 + 30))
        self.assertEqual({(one["tags"]["host"], one["tags"]["process"], int(one["tags"]["pid"])): one["dps"][0][1]
                          for one in json.loads(theirs)}, found)
        others = {name: [row["values"][i] for row in table["rows"]] for i, name in enumerate(one["name"] for one in table["columns"])}
        self.assertEqual(set(others["memory"]), {None})

    def test_sorted_filtered_and_cut(self):
        table = self.rows(sort="writes", limit=2)
        self.assertEqual([(row["host"], row["process"]) for row in table["rows"]], [("host2", "P2"), ("host1", "P2")])
        self.assertEqual(table["total"], 12)
        column = [one["name"] for one in table["columns"]].index("writes")
        of_all = sum(row["values"][column] for row in self.rows()["rows"])
        shown = sum(row["values"][column] for row in table["rows"])
        self.assertEqual(table["other"]["count"], 10)
        self.assertAlmostEqual(table["other"]["values"][column], of_all - shown)
        self.assertEqual(self.rows()["other"], {"count": 0, "values": [None] * len(table["columns"])})
        table = self.rows(sort="writes", desc="false", filter="p1")
        self.assertEqual([row["process"] for row in table["rows"]], ["P1", "P1"])
        pids = [row["pid"] for row in self.rows(sort="pid", host="host1")["rows"]]
        self.assertEqual(pids, sorted(pids))
        self.assertEqual([row["pid"] for row in self.rows(sort="pid", host="host1", desc="true")["rows"]], pids[::-1])
        self.assertIn("sort", self.refused("processes", sort="size"))

    def test_one_process(self):
        one = self.data("process", from_=T0, to=T0 + 60, host="host1", process="P2", pid="56")
        self.assertEqual(one["identity"], {"host": "host1", "process": "P2", "pid": "56"})
        self.assertEqual([metric["name"] for metric in one["metrics"]], ["proc.disk.writes.mb"])
        self.assertEqual((one["stacks"], one["flows"], one["jvm"], one["phases"]), (False, False, False, []))
        self.put_lines([{"kind": "stack", "time": (T0 + 10) * 10**9, "duration": 10**10, "text": "a;b",
                         "tags": {"host": "host1", "process": "P2", "pid": "56", "profile": "cpu"}, "fields": {"profile.samples": 3}}])
        self.assertTrue(self.data("process", from_=T0, to=T0 + 60, host="host1", pid="56")["stacks"])
        self.assertFalse(self.data("process", from_=T0, to=T0 + 60, host="host2", pid="56")["stacks"])
        self.assertIn("name a process", self.refused("process"))


def stack(second, host, process, pid, folded, samples, profile="cpu", **tags):
    field = {"profile.samples": samples} if profile == "cpu" else {"profile.samples": 1, "profile.ns": samples}
    return {"kind": "stack", "time": (T0 + second) * 10**9, "duration": 10**10, "text": folded,
            "tags": {"host": host, "process": process, "pid": pid, "profile": profile, **tags}, "fields": field}


class Pictures(PageCase):
    """Images of the page: those of the commands, as XML without script and style."""

    def xml(self, svg, rules=False):
        """`rules`: with the rules of style for dark screens, which the page removes because it has its own."""
        image = xml.dom.minidom.parseString(svg)
        for name in ("script", "a", "image", "use", "iframe", *([] if rules else ["style"])):
            self.assertEqual(image.getElementsByTagName(name), [], name)
        for node in image.getElementsByTagName("*"):
            for name, value in node.attributes.items():
                self.assertFalse(name.startswith("on") or name == "style" or "href" in name, (name, value))
        return image

    def frames(self, svg):
        """Values by name of the frames, from their titles."""
        titles = [title.firstChild.data for title in self.xml(svg).getElementsByTagName("title")]
        return {title.rsplit(" (", 1)[0]: title.rsplit(" (", 1)[1].split(" sample")[0] for title in titles}

    def test_frames_have_the_colours_of_their_modules(self):
        """As perf stores them; the command and the page draw the same picture."""
        self.put_lines([stack(10, "host1", "java", "7", "start_thread_[libc.so.6];os_work_[libjvm.so];void W.run()_[j];int W.f()_[i];"
                                                        "malloc_[libc.so.6];do_[k]", 30)])
        page = self.data("flamegraph", from_=T0, to=T0 + 15)["svg"]
        subprocess.run([BINARY, "flamegraph", "--store", self.store, "--from", str(T0), "--to", str(T0 + 15), "-o", self.path("own.svg")],
                       check=True, capture_output=True)
        with open(self.path("own.svg"), encoding="utf-8") as file:
            own = file.read()
        for svg in (page, own):
            colours = {}
            for group in xml.dom.minidom.parseString(svg).getElementsByTagName("g"):
                title, rect = group.getElementsByTagName("title"), group.getElementsByTagName("rect")
                if len(title) == len(rect) == 1:
                    fill = rect[0].getAttribute("fill")
                    colours[title[0].firstChild.data.rsplit(" (", 1)[0]] = tuple(int(fill[at:at + 2], 16) for at in (1, 3, 5))
            red, green, blue = colours["os_work_[libjvm.so]"]
            self.assertTrue(abs(red - green) < 10 and blue < 100, "a runtime is yellow")
            red, green, blue = colours["malloc_[libc.so.6]"]
            self.assertTrue(red > green + 60 and abs(green - blue) < 20, "a library is red")
            red, green, blue = colours["void W.run()_[j]"]
            self.assertTrue(green > red + 60 and green > blue + 60, "an application is green")
            red, green, blue = colours["int W.f()_[i]"]
            self.assertTrue(green > red + 60 and abs(green - blue) < 20, "inlined code is aqua")
            red, green, blue = colours["do_[k]"]
            self.assertTrue(red > green + 60 > blue + 120, "the kernel is orange")

    def test_a_flame_graph(self):
        self.put_lines([stack(10, "host1", "P", "1", "a;b", 30), stack(10, "host1", "P", "1", "a;c_[k]", 10),
                        stack(10, "host2", EVIL, "2", f"a;{EVIL.replace(';', ':')}", 2), stack(20, "host1", "P", "1", "a;b", 100),
                        stack(10, "host1", "P", "1", "wait", 5 * 10**9, "offcpu")])
        graph = self.data("flamegraph", from_=T0, to=T0 + 10)
        self.assertEqual((graph["total"], graph["unit"], graph["empty"]), (42, "samples", None))
        cut = self.data("flamegraph", from_=T0, to=T0 + 15)
        self.assertEqual(cut["total"], 42 + 100 / 2, "half of the second window is in the range")
        self.assertEqual(graph["profiles"], ["cpu", "offcpu"])
        frames = self.frames(graph["svg"])
        self.assertEqual((frames["P-1"], frames["b"], frames["c_[k]"]), ("40", "30", "10"))
        self.assertIn(EVIL.replace(";", ":") + "-2", frames)
        self.assertEqual(self.data("flamegraph", from_=T0, to=T0 + 10, host="host2")["total"], 2)
        self.assertEqual(self.data("flamegraph", from_=T0, to=T0 + 10, pid="1", keep="kernel")["total"], 10)
        waiting = self.data("flamegraph", from_=T0, to=T0 + 10, profile="offcpu", by="host")
        self.assertEqual((waiting["total"], waiting["unit"]), (5 * 10**9, "ns"))
        change = self.data("flamegraph", from_=T0 + 10, to=T0 + 25, diff_from=T0, diff_to=T0 + 10)
        self.assertIn("before", change["svg"])
        self.assertEqual(change["total"], 100)
        nothing = self.data("flamegraph", from_=T0 + 100, to=T0 + 200, process="nobody")
        self.assertEqual(nothing["total"], 0)
        self.assertIn("nobody", nothing["empty"])
        self.xml(nothing["svg"])
        self.assertIn("diff_from", self.refused("flamegraph", diff_from=T0))
        self.assertIn("width", self.refused("flamegraph", width="1"))

    def test_traffic_is_that_of_the_command(self):
        self.put_lines([{"kind": "metrics", "time": one["timestamp"] * 10**9, "tags": one["tags"], "fields": {one["metric"]: one["value"]}}
                        for one in traffic()])
        for by in ("process", "command", "container", "host"):
            with self.subTest(by=by):
                theirs = json.loads(self.atalaya("graph", *WHEN, "--by", by, "--format", "json", "--top", "100"))
                ours = self.data("graph", from_=T0, to=T0 + 60, by=by, min_share="0%")
                self.assertEqual(len(ours["nodes"]), len(theirs["nodes"]))
                self.assertEqual(ours["total"], sum(edge["bytes"] for edge in ours["edges"]))
                matrix = self.data("matrix", from_=T0, to=T0 + 60, by=by, top=100)
                self.assertEqual((matrix["names"], matrix["values"]), (theirs["matrix"]["names"], theirs["matrix"]["bytes"]))
                image = self.xml(ours["svg"], rules=True)
                pairs = {tuple(sorted((edge["from"], edge["to"]))) for edge in ours["edges"]}
                self.assertEqual(len(image.getElementsByTagName("path")), len(pairs))
                self.assertEqual(len(image.getElementsByTagName("circle")), len({node for pair in pairs for node in pair}))
        circle = self.atalaya("graph", *WHEN, "--format", "circle", "--min-share", "0%")
        self.assertEqual(circle, self.data("graph", from_=T0, to=T0 + 60, min_share="0%")["svg"])
        self.assertIn("is not a share", self.refused("graph", min_share="half"))

    def test_without_traffic(self):
        empty = self.data("graph", from_=T0, to=T0 + 60)
        self.assertEqual((empty["nodes"], empty["edges"], empty["total"]), ([], [], 0))
        self.assertIn("no traffic", empty["svg"])


def span(kind, start, length, **tags):
    fields = {"span.outcome": 0, "span.bytes": tags.pop("bytes")} if length >= 0 else {}
    return {"kind": "span", "time": (T0 + start) * 10**9, "duration": length * 10**9 if length >= 0 else -1, "text": kind, "tags": tags,
            "fields": fields}


class Jobs(PageCase):
    def setUp(self):
        super().setUp()
        self.tasks = {}
        spans = [span("job", 0, 100, job="j1", name=EVIL, framework="spark", bytes=1), span("job", 50, -1, job="j2", name="second")]
        for i in range(12):
            node, length = f"n{i % 3}", 40 if i % 3 == 2 else 10
            tags = {"job": "j1", "stage": "map", "task": f"t{i:02}", "attempt": f"t{i:02}_0", "host": node}
            self.tasks[f"t{i:02}"] = (node, (T0 + i) * 1000, (T0 + i + length) * 1000)
            spans += [span("task", i, length, bytes=1 << 20, **tags), span("phase", i, 4, bytes=1, phase="read", **tags),
                      span("phase", i + 4, length - 4, bytes=1, phase="map", **tags)]
        self.put_lines([*spans, span("task", 5, 1, stage="query", attempt="query.1.2", host="n0", bytes=1)])  # of no job

    def test_jobs_of_a_range(self):
        second, first = self.data("jobs", from_=T0, to=T0 + 200)
        self.assertEqual(first, {"id": "j1", "name": EVIL, "kind": "spark", "from": T0 * 1000, "to": (T0 + 100) * 1000, "state": "succeeded",
                                 "tasks": 12})
        self.assertEqual((second["id"], second["state"], second["to"], second["tasks"]), ("j2", "running", None, 0))
        self.assertEqual(self.data("jobs", from_=T0 - 200, to=T0 - 100), [])

    def test_tasks_of_a_job_on_a_time_line(self):
        job = self.data("job", id="j1")
        self.assertEqual(job["job"]["id"], "j1")
        self.assertEqual({one["id"]: (one["node"], one["from"], one["to"]) for one in job["tasks"]}, self.tasks)
        for one in job["tasks"]:
            read, mapped = sorted(one["phases"], key=lambda phase: phase["from"])
            self.assertEqual((read["name"], read["from"], read["to"]), ("read", one["from"], one["from"] + 4000))
            self.assertEqual((mapped["name"], mapped["from"], mapped["to"]), ("map", read["to"], one["to"]))
        grades = {one["node"]: one["grade"] for one in job["tasks"]}
        self.assertEqual(grades["n0"], grades["n1"])
        self.assertLess(grades["n0"], grades["n2"])
        self.assertEqual(grades["n2"], 5)
        self.assertEqual(job["slow_per_node"][0], {"node": "n2", "count": 4})
        theirs = json.loads(self.atalaya("bottleneck", "--job", "j1", "--format", "json"))
        self.assertEqual([(one["text"], one["evidence"]) for one in job["findings"]],
                         [(one["summary"], one["evidence"]) for one in theirs["findings"]])
        self.assertEqual(job["notes"], theirs["notes"])
        path = json.loads(self.atalaya("bottleneck", "--job", "j1", "--critical-path", "--format", "json"))
        self.assertEqual(job["path"]["parts"], [{"name": one["part"], "seconds": one["seconds"]} for one in path["parts"]])
        self.assertAlmostEqual(sum(one["seconds"] for one in job["path"]["parts"]), 100, places=6)
        self.assertEqual(job["path"]["predictions"], path["whatIf"]["predictions"])
        self.assertEqual({one["attempt"] for one in job["tasks"] if one["on_path"]}, {step["task"] for step in path["steps"] if step["kind"] == "task"})
        theirs = [(step["task"], step["after"]) if step["kind"] == "task" else None for step in path["steps"]]
        self.assertEqual([None if one["task"] is None else (one["task"], one["after"]) for one in job["path"]["steps"]], theirs)
        self.assertEqual(sum(one["to"] - one["from"] for one in job["path"]["steps"]), 100_000)
        self.assertIn("j9", self.refused("job", id="j9"))
        self.assertIn("id is missing", self.refused("job"))


    def test_waits_of_a_task_and_the_slow_tasks_of_a_stage(self):
        def waited(profile, second, task, seconds, **tags):
            return stack(second, "n2", "java", "7", "main;read", seconds * 10**9, profile, attempt=task, **tags)

        lines = [waited("offcpu", 20, "t02_0", 3, reason="disk"), waited("offcpu", 30, "t02_0", 2, reason="disk"),
                 waited("offcpu", 20, "t02_0", 4, reason="futex"), waited("offcpu", 20, "t03_0", 9, reason="disk"),
                 waited("waker", 20, "t02_0", 1, reason="futex", owner=f"{EVIL} of java-7")]
        lines += [stack(20, "n0", "java", "7", f"main;{'slow' if i % 3 == 2 else 'usual'}", 100, attempt=f"t{i:02}_0") for i in range(12)]
        self.put_lines(lines)
        waits = self.data("task", task="t02_0", from_=T0, to=T0 + 200)
        self.assertEqual(waits["reasons"], [{"name": "disk", "seconds": 5}, {"name": "futex", "seconds": 4}])
        self.assertEqual(waits["owners"], [{"name": f"{EVIL} of java-7".replace(";", ":"), "seconds": 1}])
        self.assertEqual(self.data("task", task="t09_0", from_=T0, to=T0 + 200), {"reasons": [], "owners": []})
        self.assertIn("task is missing", self.refused("task"))
        drawn = self.data("flamegraph", slow_stage="map", job="j1", from_=T0 - 10, to=T0 + 200)
        self.assertIsNone(drawn["empty"])
        self.assertIn("slow", drawn["differences"].splitlines()[0])
        self.assertIn("stage map has 4 slow tasks", drawn["svg"])
        self.assertIn("no job in this range", self.refused("flamegraph", slow_stage="reduce", job="j1", from_=T0, to=T0 + 200))


class Health(PageCase):
    def test_the_ledger_of_the_agent(self):
        self.base = self.serve("--socket", self.agents[0].socket)
        health = self.data("health")
        ours, theirs = health["status"], self.agents[0].status()
        self.assertEqual((ours["pid"], ours["file"], ours["balanced"]), (theirs["pid"], theirs["file"], True))
        self.assertEqual([(row["pipeline"], row["component"], row["out"]) for row in ours["ledger"]],
                         [(row["pipeline"], row["component"], row["out"]) for row in theirs["ledger"]])
        self.assertIsNone(health["reason"])

    def test_why_there_is_none(self):
        self.base = self.serve("--socket", self.path("nothing.sock"))
        health = self.data("health")
        self.assertIsNone(health["status"])
        self.assertIn("nothing.sock", health["reason"])
        features = self.data("doctor")
        self.assertIsNone(features["doctor"])
        self.assertIn("nothing.sock", features["reason"])

    def test_the_features_are_those_of_the_doctor(self):
        self.base = self.serve("--socket", self.agents[0].socket)
        features = self.data("doctor")
        self.assertIsNone(features["reason"])
        self.assertEqual(features["doctor"], self.doctor())
        self.assertIn("on", {feature["state"] for feature in features["doctor"]})

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_the_features_of_an_agent_that_gave_up_its_capabilities(self):
        """Its launcher still has them for the components that declare them."""
        folder = self.path("dropped")
        os.mkdir(folder)
        agent = Agent(folder, 'local a = require "atalaya"\na.pipeline "self" { every = "1s", a.source.self {}, a.sink.stdout {} }', "--drop")
        self.addCleanup(agent.stop)
        agent.running()
        self.base = self.serve("--socket", agent.socket)
        self.assertEqual(self.data("doctor")["doctor"], self.doctor())

    @staticmethod
    def doctor():
        return json.loads(subprocess.run([BINARY, "doctor", "--format", "json"], capture_output=True, text=True).stdout)

    def test_another_program_at_the_socket(self):
        for text in (b"{\"status\": 1", b"[1]\n", b"<html>\n", b"\n"):
            path = self.path("other.sock")
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(path)
                listener.listen()
                answer = threading.Thread(target=lambda text=text: self.answer(listener, text))
                answer.start()
                self.base = self.serve("--socket", path)
                self.assertIsNone(self.data("health")["status"], text)
                answer.join()
            os.unlink(path)

    def test_another_program_that_is_no_doctor(self):
        other = "not that of a doctor"
        for text, reason in ((b"[1", "incomplete"), (b"[1\n", other), (b"{\"status\": 1}\n", other), (b"<html>\n", other),
                             (b"{\"error\": \"it takes <too> long\"}\n", "it takes <too> long")):
            path = self.path("other.sock")
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(path)
                listener.listen()
                answer = threading.Thread(target=lambda text=text: self.answer(listener, text))
                answer.start()
                self.base = self.serve("--socket", path)
                features = self.data("doctor")
                answer.join()
                self.assertIsNone(features["doctor"], text)
                self.assertIn(reason, features["reason"])
            os.unlink(path)

    @staticmethod
    def answer(listener, text):
        client = listener.accept()[0]
        client.recv(100)
        client.sendall(text)
        client.close()


if __name__ == "__main__":
    main()
