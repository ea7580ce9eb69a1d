# SPDX-License-Identifier: Apache-2.0
"""Every query of every dashboard in examples/grafana, and of their variables, as Grafana sends it to `serve`: no error, and a result on a
store that has all metrics of the catalogue that the dashboards name."""

import json
import os
import re
import sys
import unittest
import urllib.parse
import urllib.request

from harness import PATIENCE, main
from questions import T0, QueryCase, http

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "docs"))
try:
    import dashboards_test as dashboards
except ImportError:  # no python3-yaml
    dashboards = None

WINDOWS = 60


def samples(metrics):
    """Ten minutes of each metric with all of its tags, on two hosts. Counters rise."""
    for metric in metrics:
        for number, host in enumerate("ab"):
            tags = {tag: host for tag in metric.tags} | {"host": host}
            for i in range(1, WINDOWS + 1):
                value = (10 * i if metric.kind == "total" else 1 + i % 7) * (number + 1)
                yield {"kind": "metrics", "time": (T0 + 10 * i) * 10**9, "duration": 10**10, "tags": tags, "fields": {metric.name: value}}


@unittest.skipUnless(dashboards, "needs python3-yaml")
class Dashboards(QueryCase):
    def setUp(self):
        super().setUp()
        queries = [dashboards.filled(target["expr"], board) for _, board in dashboards.boards() for panel in dashboards.panels(board)
                   for target in panel["targets"]]
        words = set(re.findall(r"\w+", " ".join(queries)))
        self.metrics = [metric for legal, metric in dashboards.METRICS.items() if legal in words]
        self.assertGreater(len(self.metrics), 50)
        http(self.hub + "/api/jsonlines", "".join(json.dumps(sample) + "\n" for sample in samples(self.metrics)).encode())
        self.base = self.serve()

    def ask(self, path, **parameters):
        request = urllib.request.Request(f"{self.base}/api/v1/{path}", urllib.parse.urlencode(parameters).encode())
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return json.loads(error.read())

    def test_every_query_has_a_result(self):
        asked = 0
        for path, board in dashboards.boards():
            for panel in dashboards.panels(board):
                for target in panel["targets"]:
                    query = dashboards.filled(target["expr"], board).replace("interval_ms", "30000")
                    for kind, times in (("query_range", {"start": T0 + 60, "end": T0 + 600, "step": "30"}), ("query", {"time": T0 + 600})):
                        with self.subTest(f'{path}: {panel["title"]}: {target["refId"]}', kind=kind, query=query):
                            answer = self.ask(kind, query=query, **times)
                            self.assertEqual(answer["status"], "success", answer)
                            result = answer["data"]["result"]
                            self.assertTrue(result)
                            for series in result:
                                values = series.get("values") or [series["value"]]
                                self.assertNotIn("NaN", [value for _, value in values])
                                self.assertLessEqual(set(re.findall(r"{{(\w+)}}", target["legendFormat"])), series["metric"].keys())
                            asked += 1
        self.assertGreater(asked, 200)

    def test_every_variable_has_values(self):
        asked = 0
        for path, board in dashboards.boards():
            for variable in board["templating"]["list"]:
                if variable["type"] != "query":
                    continue
                query = variable["query"]["query"] if isinstance(variable["query"], dict) else variable["query"]
                selector, label = dashboards.LABEL_VALUES.fullmatch(dashboards.filled(query, board)).groups()
                with self.subTest(f'{path}: {variable["name"]}', query=query):
                    answer = self.ask(f"label/{label}/values", **{"match[]": selector, "start": T0, "end": T0 + 600})
                    self.assertEqual(answer["data"], ["a", "b"])
                asked += 1
        self.assertGreater(asked, 5)


if __name__ == "__main__":
    main()
