# SPDX-License-Identifier: Apache-2.0
"""Every query of the dashboards in examples/grafana returns series: from a real Prometheus that scrapes the agent, and from `serve` over
the store of the same samples. The samples have each metric of the queries with all of its tags."""

import json
import os
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs"))
import dashboards_test as dashboards  # noqa: E402
import promql  # noqa: E402
from harness import BINARY, PATIENCE, main  # noqa: E402
from http_servers import free_port, get  # noqa: E402
from prometheus_test import PrometheusCase, PrometheusServer  # noqa: E402

FILLED = {"__interval": "10s", "__rate_interval": "20s", "__range": "5m", "__interval_ms": "10000", "top": "10"}
ROUNDS = 4  # so that totals have a rate


def queries():
    """(name, expression, whether it is an instant) of each target."""
    for path, board in dashboards.boards():
        for panel in dashboards.panels(board):
            for target in panel["targets"]:
                text = dashboards.VARIABLE.sub(lambda match: FILLED.get(match[1] or match[2], ".*"), target["expr"])
                yield f'{path}: {panel["title"]}: {target["refId"]}', text, target.get("instant", False)


def used_metrics():
    found = {}
    for _, text, _ in queries():
        parser = promql.Parser(text, dashboards.METRICS)
        parser.result()
        found |= {metric.name: metric for metric in parser.used}
    return found


@unittest.skipUnless(PrometheusServer.program, "needs the package prometheus")
class Queries(PrometheusCase):
    def feed(self, number):
        """A sample of each set of tags; every value is `number`."""
        by_tags = {}
        for metric in used_metrics().values():
            by_tags.setdefault(frozenset(metric.tags), {})[metric.name] = number
        now = time.time_ns()
        self.put(self.sender, [{"kind": "metrics", "time": now, "duration": 60 * 10**9, "fields": fields,
                                "tags": {tag: "7" if tag == "pid" else f"a {tag}" for tag in tags}} for tags, fields in by_tags.items()])

    def setUp(self):
        super().setUp()
        self.store = self.path("atalaya.db")
        self.sender = self.run_agent(f"""local a = require "atalaya"
        a.pipeline "p" {{ a.source.receive {{ listen = "127.0.0.1:0", store_timeout = "50s" }},
          a.sink.prometheus {{ listen = "127.0.0.1:0" }}, a.sink.sqlite {{ path = "{self.store}" }} }}""").running()
        self.sender.put_port = self.port(self.sender, 'source "receive"')
        target = self.port(self.sender, 'sink "prometheus"')
        self.feed(1)
        self.server = PrometheusServer(self.folder, f"127.0.0.1:{target}", "honor_labels: true").start()
        self.addCleanup(self.server.stop)
        for number in range(1, ROUNDS + 1):
            self.feed(number)
            self.server.wait(lambda: [one for one in self.server.query("sys_load_1m") if one["value"][1] == str(number)], f"round {number}")

    def ask(self, base, text, instant):
        now = time.time()
        form = {"query": text, "time": now} if instant else {"query": text, "start": now - 30, "end": now, "step": 10}
        answer = json.loads(get(f'{base}/api/v1/{"query" if instant else "query_range"}?{urllib.parse.urlencode(form)}'))
        self.assertEqual(answer["status"], "success")
        return answer["data"]["result"]

    def check(self, base):
        number = 0
        for name, text, instant in queries():
            with self.subTest(name):
                self.assertTrue(self.ask(base, text, instant), text)
                number += 1
        self.assertGreater(number, 100)

    def test_prometheus(self):
        self.check(self.server.url)

    def test_serve(self):
        port = free_port()
        process = subprocess.Popen([BINARY, "serve", "--listen", f"127.0.0.1:{port}", "--store", self.store], stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait, PATIENCE)
        self.addCleanup(process.terminate)
        self.assertIn("serving on", process.stderr.readline())
        base = f"http://127.0.0.1:{port}"
        try:
            self.ask(base, "sum(sys_load_1m)", True)
        except urllib.error.HTTPError as error:
            self.assertEqual(error.code, 400)
            self.skipTest("this serve knows selectors only")
        self.check(base)


if __name__ == "__main__":
    main()
