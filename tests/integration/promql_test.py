# SPDX-License-Identifier: Apache-2.0
"""PromQL of `serve`: the same samples in a store and in a real Prometheus, and the same results of both."""

import json
import os
import random
import shutil
import subprocess
import unittest
import urllib.parse

from harness import PATIENCE, main
from http_servers import Server, free_port, get
from questions import T0, QueryCase, http

TOOL = shutil.which("promtool")
# With a start and steps between the samples, which are at multiples of ten seconds: Prometheus 2 has the start of a range in it.
BETWEEN = [(T0 + 305, T0 + 1205, 30), (T0 + 417, T0 + 717, 60), (T0 - 95, T0 + 2005, 100)]
EXPRESSIONS = [
    "diff_gauge", 'diff_gauge{host="a"}', 'diff_gauge{host!="a",process=~"x|y"}', 'diff_gauge{process!~"x.*"}',
    '{__name__="diff_gauge",host="b"}', "diff_gauge offset 1m", "diff_gauge offset -40s", "-diff_gauge",
    "sum(diff_gauge)", "sum by (host) (diff_gauge)", "sum(diff_gauge) by (host, process)", "avg without (host) (diff_gauge)",
    "max by (process) (diff_gauge)", "min(diff_gauge)", "count by (host) (diff_gauge > 0)", "topk(2, diff_gauge)",
    "topk by (host) (1, diff_gauge)", "sum by (host) (topk(3, diff_gauge))", "count(nothing)", "sum by () (diff_gauge)",
    "diff_gauge > 5", "diff_gauge > bool 5", "5 < diff_gauge", "diff_gauge == diff_gauge", "diff_gauge != 0", "diff_gauge >= bool 3 + 1",
    "diff_gauge * 2 + 1", "1 / diff_gauge", "diff_gauge % 3", "2 ^ diff_gauge / 7", "-2 ^ 2", "1 + 2 * 3 - 4 / 5 % 6", "7", "1 > bool 2",
    "(diff_gauge - 10) / (diff_gauge - diff_gauge)", "diff_gauge / diff_total", "diff_gauge / on(host, process) diff_total",
    "sum by (host) (diff_gauge) / ignoring(process) sum by (host) (diff_total) * 100", "diff_gauge > diff_total / 100",
    "rate(diff_total[1m])", "rate(diff_total[5m])", "increase(diff_total[2m])", "increase(diff_total[50s] offset 1m)",
    "sum by (host) (rate(diff_total[2m]))", "rate(diff_gauge[1m])", "rate(diff_total[9s])",
    "sum_over_time(diff_gauge[1m])", "avg_over_time(diff_gauge[2m])", "min_over_time(diff_gauge[90s])", "max_over_time(diff_gauge[90s])",
    "count_over_time(diff_gauge[3m])", "last_over_time(diff_gauge[20s])", "max(sum_over_time(diff_gauge[1m])) - min(avg_over_time(diff_gauge[1m]))",
    "topk(1, sum by (process) (avg_over_time(diff_gauge[5m])))", "rate(diff_total[1m]) / rate(diff_total[3m] offset 2m)",
]
WINDOWS = ["proc_cpu_user", "sum by (host) (proc_cpu_user)", "topk(1, sum by (process) (proc_cpu_user))", "avg(proc_cpu_user) * 2",
           'count(proc_cpu_user{host="a"} > 10)', "max by (host) (proc_cpu_user) - min by (host) (proc_cpu_user)"]


class Prometheus(Server):
    """One with the samples of a file in OpenMetrics' form."""

    program = shutil.which("prometheus")
    ready = "/-/ready"

    def __init__(self, folder, samples):
        data, metrics, config = (os.path.join(folder, name) for name in ("prometheus", "samples.om", "prometheus.yml"))
        with open(metrics, "w") as file:
            for name in sorted({name for name, *_ in samples}):
                file.write(f"# TYPE {name} gauge\n")
                for _, labels, time, value in (sample for sample in samples if sample[0] == name):
                    file.write(name + "{" + ",".join(f'{key}="{text}"' for key, text in labels.items()) + f"}} {value!r} {time}\n")
            file.write("# EOF\n")
        subprocess.run([TOOL, "tsdb", "create-blocks-from", "openmetrics", metrics, data], check=True, capture_output=True, timeout=PATIENCE)
        with open(config, "w") as file:
            file.write("global: {}\n")
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.command = [self.program, f"--config.file={config}", f"--storage.tsdb.path={data}", "--storage.tsdb.retention.time=100y",
                        "--query.lookback-delta=20s",  # two windows: what `serve` finds in the samples
                        f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]


def samples_of(seed):
    """Name, labels, time, value: series with gaps, ends and resets."""
    chance = random.Random(seed)
    for host in "ab":
        for process in ("x", "xx", "y"):
            labels, total = {"host": host, "process": process}, 0.0
            first, last = sorted(chance.sample(range(120), 2)) if process == "y" else (0, 119)
            gap = False
            for i in range(first, last + 1):
                time = T0 + 10 * (i + 1)
                gap = not gap and i + 4 < last and chance.random() < 0.1  # the end shows the length of windows
                if gap:
                    continue
                total = 0.0 if chance.random() < 0.03 else total + chance.choice((0, 1.5, 20, 300))
                yield "diff_gauge", labels, time, round(chance.uniform(-5, 30), 6)
                yield "diff_total", labels, time, total
                yield "proc_cpu_user", labels, time, round(chance.uniform(0, 100), 2)


@unittest.skipUnless(Prometheus.program and TOOL, "needs prometheus")
class Differential(QueryCase):
    maxDiff = None

    def setUp(self):
        super().setUp()
        samples = list(samples_of(19))
        store_names = {"diff_gauge": "diff.gauge", "diff_total": "diff.total", "proc_cpu_user": "proc.cpu.user"}
        lines = [{"kind": "metrics", "time": time * 10**9, "duration": 10**10 if name == "proc_cpu_user" else 0, "tags": labels,
                  "fields": {store_names[name]: value}} for name, labels, time, value in samples]
        http(self.hub + "/api/jsonlines", "".join(json.dumps(line) + "\n" for line in lines).encode())
        self.theirs = Prometheus(self.folder, samples).start()
        self.addCleanup(self.theirs.stop)
        self.base = self.serve()

    def result(self, base, path, **parameters):
        answer = json.loads(get(f"{base}/api/v1/{path}?" + urllib.parse.urlencode(parameters)))["data"]
        if answer["resultType"] == "scalar":
            return {"": {answer["result"][0]: float(answer["result"][1])}}
        return {json.dumps(series["metric"], sort_keys=True): {time: float(value) for time, value in series.get("values") or [series["value"]]}
                for series in answer["result"]}

    def compare(self, path, **parameters):
        ours, theirs = (self.result(base, path, **parameters) for base in (self.base, self.theirs.url))
        self.assertEqual(ours.keys(), theirs.keys())
        for labels, values in theirs.items():
            self.assertEqual(ours[labels].keys(), values.keys(), labels)
            for time, value in values.items():
                mine = ours[labels][time]
                same = mine == value or (mine != mine and value != value) or abs(mine - value) <= 1e-9 * max(abs(mine), abs(value))
                self.assertTrue(same, f"{labels} at {time}: {mine} and not {value}")
        return sum(map(len, theirs.values()))

    def test_ranges(self):
        empty = set()
        for expression in EXPRESSIONS:
            points = 0
            for start, end, step in BETWEEN:
                with self.subTest(expression=expression, step=step):
                    points += self.compare("query_range", query=expression, start=start, end=end, step=step)
            if points == 0:
                empty.add(expression)
        self.assertEqual(empty, {"count(nothing)", "rate(diff_total[9s])"})

    def test_instants(self):
        for expression in EXPRESSIONS:
            for time in (T0 + 305, T0 + 777, T0 + 1499):
                with self.subTest(expression=expression, time=time):
                    self.compare("query", query=expression, time=time)

    def test_windows_of_one_step(self):
        for expression in WINDOWS:
            with self.subTest(expression=expression):
                # Prometheus continues a series over its gaps for five minutes, so it is asked for the times with all samples only.
                ours = self.result(self.base, "query_range", query=expression, start=T0 + 10, end=T0 + 1200, step=10)
                theirs = self.result(self.theirs.url, "query_range", query=expression.replace("proc_cpu_user", "last_over_time(proc_cpu_user[9s])")
                                     if "{" not in expression else expression.replace('{host="a"}', '').replace(
                                         "proc_cpu_user", 'last_over_time(proc_cpu_user{host="a"}[9s])'),
                                     start=T0 + 10, end=T0 + 1200, step=10)
                self.assertEqual(ours.keys(), theirs.keys())
                for labels, values in theirs.items():
                    self.assertEqual(ours[labels].keys(), values.keys())
                    for time, value in values.items():
                        self.assertAlmostEqual(ours[labels][time], value, places=6)

    def test_both_refuse(self):
        for expression in ("diff_gauge + on(host) diff_total", "diff_gauge + on() diff_total", "sum(", "rate(diff_total)", "1 > 2", 'x{a="b', ""):
            for base in (self.base, self.theirs.url):
                with self.subTest(expression=expression, base=base):
                    status = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-G", f"{base}/api/v1/query", "--data-urlencode",
                                             "query=" + expression, "-d", f"time={T0 + 305}"], capture_output=True, text=True, timeout=PATIENCE).stdout
                    self.assertIn(status, ("400", "422"))


if __name__ == "__main__":
    main()
