# SPDX-License-Identifier: Apache-2.0
"""The dashboards in examples/grafana: each query is in the PromQL subset of `serve`, its metrics, tags, functions and units are those
of the catalogue in the READMEs of the plugins, panels do not overlap, and the provisioning files load them. Needs no agent."""

import glob
import itertools
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import promql
import style
import yaml

FOLDER = "examples/grafana"
DASHBOARDS = sorted(glob.glob(f"{FOLDER}/dashboards/*.json"))
CATALOGUE = sorted(glob.glob("plugins/*/*/README.md"))
# The tables of metrics that tests/readme_tables.py writes: one for each set of tags.
TAGS = re.compile(r"^Tags: (.*)\n\n((?:\|.*\n)*)", re.M)
ROW = re.compile(r"^\| ([a-z][\w.]*) \| (\S+) \| (gauge|rate|delta|total) \|", re.M)
# Tags that the default rules of translate.names add to processes.
NAMED = {"application", "executor", "attempt"}
PREFIXES = {"Mi": 2 ** 20, "Ki": 2 ** 10, "n": 1e-9, "m": 1e-3, "M": 1e6, "": 1}
BASES = {"By": ("By", 1, 0), "bit": ("bit", 1, 0), "s": ("1", 1, 1), "Hz": ("1", 1, -1), "1": ("1", 1, 0), "%": ("1", 0.01, 0), "": ("1", 1, 0),
         "J": ("J", 1, 0), "W": ("J", 1, -1), "Cel": ("Cel", 1, 0), "{core}": ("1", 1, 0), "/min": ("1", 1 / 60, -1)}
SHOWN = {  # Grafana's ids of units
    "percent": ("1", 0.01, 0), "short": ("1", 1, 0), "bytes": ("By", 1, 0), "mbytes": ("By", 2 ** 20, 0), "binBps": ("By", 1, -1),
    "MiBs": ("By", 2 ** 20, -1), "Mibits": ("bit", 2 ** 20, -1), "s": ("1", 1, 1), "ms": ("1", 1e-3, 1), "ns": ("1", 1e-9, 1),
    "ops": ("1", 1, -1), "iops": ("1", 1, -1), "pps": ("1", 1, -1), "cps": ("1", 1, -1), "watt": ("J", 1, -1), "celsius": ("Cel", 1, 0)}
BUILT_IN = {"__interval": "30s", "__rate_interval": "1m", "__range": "6h", "__interval_ms": "interval_ms"}
NUMBERS = {"interval_ms": promql.Unit("1", 1e-3, 1)}
VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)")
LABEL_VALUES = re.compile(r"label_values\((.*), (\w+)\)")


def unit_of(ucum):
    name, slash, _ = ucum.partition("/s") if ucum.endswith("/s") else (ucum, "", "")
    for prefix, scale in PREFIXES.items():
        if name.startswith(prefix) and name[len(prefix):] in BASES:
            base, factor, seconds = BASES[name[len(prefix):]]
            return promql.Unit(base, scale * factor, seconds - bool(slash))
    raise ValueError(f"unit {ucum} is missing in dashboards_test.py")


def catalogue():
    """Metric by its name in PromQL. A name that several components declare has the tags of all."""
    found = {}
    rows = ((row, tags) for path in CATALOGUE for tags, table in TAGS.findall(style.read(path)) for row in ROW.findall(table))
    for (name, unit, kind), tags in rows:
        legal = name.replace(".", "_")
        tags = {tag.strip("() ") for tag in tags.split(",") if tag != "none"} | {"host"}
        if "process" in tags:
            tags |= NAMED
        if legal in found:
            tags |= found[legal].tags
        found[legal] = promql.Metric(name, unit_of(unit), kind, tags)
    return found


METRICS = catalogue()


def boards():
    for path in DASHBOARDS:
        with open(path, encoding="utf-8") as file:
            yield path, json.load(file)


def panels(board):
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def filled(text, board):
    """The query as Grafana sends it, with an example for each variable."""
    values = dict(BUILT_IN)
    for variable in board["templating"]["list"]:
        values[variable["name"]] = variable.get("current", {}).get("value") if variable["type"] == "custom" else "a|b"
    return VARIABLE.sub(lambda match: values[match[1] or match[2]], text)


def parsed(text):
    return promql.Parser(text, METRICS, NUMBERS).result()


def overlap(a, b):
    return a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"] and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]


class Dashboards(unittest.TestCase):
    def test_there_are_five(self):
        self.assertEqual([os.path.basename(path) for path in DASHBOARDS], ["host.json", "jobs.json", "jvm.json", "processes.json", "traffic.json"])

    def test_names_are_unique(self):
        for key in ("uid", "title"):
            values = [board[key] for _, board in boards()]
            self.assertEqual(len(values), len(set(values)))
        for path, board in boards():
            ids = [panel["id"] for panel in board["panels"]]
            self.assertEqual(len(ids), len(set(ids)), path)
            for panel in panels(board):
                references = [target["refId"] for target in panel["targets"]]
                self.assertEqual(len(references), len(set(references)), f'{path}: {panel["title"]}')

    def test_panels_fill_the_grid_and_do_not_overlap(self):
        for path, board in boards():
            places = [panel["gridPos"] for panel in board["panels"]]
            for place in places:
                self.assertTrue(place["x"] >= 0 and place["y"] >= 0 and place["w"] > 0 and place["h"] > 0 and place["x"] + place["w"] <= 24, path)
            for a, b in itertools.combinations(places, 2):
                self.assertFalse(overlap(a, b), f"{path}: {a} {b}")

    def test_queries_units_and_legends(self):
        for path, board in boards():
            for panel in panels(board):
                self.assertTrue(panel["targets"])
                for target in panel["targets"]:
                    with self.subTest(f'{path}: {panel["title"]}: {target["refId"]}'):
                        result = parsed(filled(target["expr"], board))
                        wanted = promql.Unit(*SHOWN[panel["fieldConfig"]["defaults"]["unit"]])
                        self.assertTrue(promql.same(result.unit, wanted), f"{result.unit}, shown as {wanted}")
                        self.assertLessEqual(set(re.findall(r"{{(\w+)}}", target["legendFormat"])), result.labels)

    @unittest.skipUnless(shutil.which("promtool"), "needs promtool: apt-get install prometheus")
    def test_promtool_reads_every_query(self):
        queries = [filled(target["expr"], board).replace("interval_ms", "30000")
                   for _, board in boards() for panel in panels(board) for target in panel["targets"]]
        rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(queries)]
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump({"groups": [{"name": "dashboards", "rules": rules}]}, file)
            file.flush()
            done = subprocess.run(["promtool", "check", "rules", file.name], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{len(queries)} rules found", done.stdout)

    def test_several_lines_of_a_panel_have_different_legends(self):
        for path, board in boards():
            for panel in panels(board):
                legends = [target["legendFormat"] for target in panel["targets"]]
                self.assertEqual(len(legends), len(set(legends)), f'{path}: {panel["title"]}')

    def test_variables_are_defined_and_used(self):
        for path, board in boards():
            defined = {variable["name"]: variable for variable in board["templating"]["list"]}
            text = json.dumps([board["panels"], [(variable.get("query"), variable.get("datasource")) for variable in defined.values()]])
            used = {match[0] or match[1] for match in VARIABLE.findall(text)}
            with self.subTest(path):
                self.assertEqual(used - set(BUILT_IN), set(defined))
            for variable in defined.values():
                if variable["type"] != "query":
                    continue
                with self.subTest(f'{path}: {variable["name"]}'):
                    selector, label = LABEL_VALUES.fullmatch(variable["query"]["query"]).groups()
                    parser = promql.Parser(filled(selector, board), {name: metric._replace(kind="gauge") for name, metric in METRICS.items()})
                    self.assertIn(label, parser.result().labels)

    def test_texts(self):
        phrases = style.Phrases()
        for path, board in boards():
            texts = [board["description"], *(panel.get(key, "") for panel in board["panels"] for key in ("title", "description"))]
            for text in texts:
                with self.subTest(f"{path}: {text}"):
                    self.assertEqual(phrases.find(text), [])
            for pipeline in re.findall(r"pipelines/\w+\.lua", board["description"]):
                self.assertTrue(os.path.exists(pipeline), pipeline)

    def test_provisioning(self):
        source, = yaml.safe_load(style.read(f"{FOLDER}/provisioning/datasources/atalaya.yaml"))["datasources"]
        self.assertEqual((source["type"], source["access"]), ("prometheus", "proxy"))
        provider, = yaml.safe_load(style.read(f"{FOLDER}/provisioning/dashboards/atalaya.yaml"))["providers"]
        self.assertEqual(provider["type"], "file")
        self.assertIn(f'cp dashboards/*.json {provider["options"]["path"]}/', style.read(f"{FOLDER}/README.md"))


class Checks(unittest.TestCase):
    """The test would find these mistakes."""

    def rejected(self, text, reason):
        with self.assertRaisesRegex(promql.Wrong, reason):
            parsed(text)

    def test_wrong_queries(self):
        self.rejected("proc_cpu_usre", "is no metric")
        self.rejected("histogram_quantile(0.9, sys_load_1m)", "is no metric, and no function")
        self.rejected("sys_load_1m or sys_load_5m", "unexpected 'or'")
        self.rejected('sys_load_1m{hots="a"}', "has no tag hots")
        self.rejected("sum by (disk) (sys_load_1m)", "no label")
        self.rejected("sys_load_1m[5m]", "a range without a function")
        self.rejected("rate(sys_load_1m)", "needs a range")
        self.rejected("rate(sys_load_1m[5m])", "kind gauge")
        self.rejected("sum_over_time(jvm_gc_young_count[5m])", "kind total")
        self.rejected("flow_out_bytes", "is a delta")
        self.rejected("sys_mem_total + sys_mem_usage", "sum of two units")
        self.rejected("sys_cpu_user + sys_load_1m * 100", "labels")
        self.rejected("(sys_load_1m", "expected \\)")
        self.rejected("sys_load_1m offset 5", "expected duration")

    def test_units(self):
        for text, shown in (("sum(sys_mem_total) * 1048576", "bytes"), ("rate(jvm_gc_seconds[1m]) * 100", "percent"), ("count(sys_load_1m)", "short"),
                            ("sum(sum_over_time(flow_out_bytes[30s])) / interval_ms * 1000", "binBps"), ("increase(jvm_gc_young_count[1m])", "short"),
                            ("rate(jvm_gc_seconds[1m]) / rate(jvm_gc_young_count[1m])", "s"), ("sys_load_1m offset 1h > 3", "short")):
            with self.subTest(text):
                self.assertTrue(promql.same(parsed(text).unit, promql.Unit(*SHOWN[shown])))
        self.assertFalse(promql.same(parsed("sys_mem_total").unit, promql.Unit(*SHOWN["bytes"])))

    def test_the_catalogue_was_read(self):
        self.assertGreater(len(METRICS), 300)
        self.assertEqual(METRICS["sys_net_in_mb"].unit, promql.Unit("bit", 2 ** 20, -1))
        self.assertEqual(METRICS["proc_exits"].tags, {"host", "pid", "process", "parent", "parent.pid", "cgroup"} | NAMED)

    def test_overlap(self):
        self.assertTrue(overlap({"x": 0, "y": 0, "w": 12, "h": 8}, {"x": 11, "y": 7, "w": 2, "h": 2}))
        self.assertFalse(overlap({"x": 0, "y": 0, "w": 12, "h": 8}, {"x": 12, "y": 0, "w": 12, "h": 8}))


if __name__ == "__main__":
    unittest.main()
