# SPDX-License-Identifier: Apache-2.0
"""The page of `serve`: its files and their headers, and the data behind it, compared with `query` and with sums in Python."""

import json
import os
import re
import unittest
import urllib.error
import urllib.parse
import urllib.request

from harness import PATIENCE, main
from questions import T0, QueryCase, http, status_of

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
        info = self.data("info")
        self.assertEqual(info["hosts"], ["host1", "host2"])
        self.assertEqual(info["store"]["kind"], "sqlite")
        self.assertIn(self.store, info["store"]["name"])
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


if __name__ == "__main__":
    main()
