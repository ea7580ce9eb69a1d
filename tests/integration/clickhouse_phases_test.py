# SPDX-License-Identifier: Apache-2.0
"""The command phases on a real ClickHouse server: it learns, trains, predicts, shows, finds, exports and imports as with SQLite, to the byte."""

import json
import unittest
import urllib.parse

from clickhouse_servers import ClickHouse
from clickhouse_test import ServedCase, post
from harness import main
from phase_runs import FAULTS, START, Runs, lines
from questions import http


@unittest.skipUnless(ClickHouse.there, "needs clickhouse-server")
class Phases(ServedCase):
    def setUp(self):
        super().setUp()
        _, self.hub_url = self.both()
        self.runs = Runs()
        for samples in self.runs.normal():
            self.send(samples)
        self.training = ["--train-from", str(START), "--train-to", str(self.runs.now)]
        samples, self.normal = self.runs.next(9.5)
        self.send(samples)
        self.faulty = {}
        for name in FAULTS:
            samples, self.faulty[name] = self.runs.next(11.3, name)
            self.send(samples)
        self.all = ["--from", str(START), "--to", str(self.runs.now)]

    def send(self, samples):
        post(self.hub_url + "/api/jsonlines", lines(samples))

    def same(self, *words, **options):
        return self.assert_same("phases", *words, "--process", "Sorter", **options)

    def learn(self):
        return self.same("learn", *self.all)

    def test_phases_are_learned_shown_and_predicted(self):
        self.assertIn("19 runs, 76 occurrences", self.learn())
        self.assertIn("19 runs, 76 occurrences, 0 new phases", self.learn())
        shown = json.loads(self.same("show", "--format", "json", *self.all))
        self.assertEqual((len(shown["runs"]), len(shown["phases"])), (19, 4))
        self.same("show", *self.all)
        self.assertRegex(self.same("train", "--from", str(START), "--to", self.training[3]), r"inputs +(0\.9\d|1\.00) +9\d\.\d %")
        self.same("train", *self.all, "--format", "json")
        run, = json.loads(self.same("predict", *self.normal, *self.training, "--format", "json"))
        seconds, = [one for one in run["predictions"] if one["of"] == "time" and one["phase"].startswith("compare")]
        self.assertAlmostEqual(seconds["predicted"], seconds["seen"], delta=0.1 * seconds["seen"])
        pictures = []
        for store in (self.sqlite, self.clickhouse):
            self.atalaya("phases", "show", *self.normal, "-o", self.path("run.svg"), store=store)
            with open(self.path("run.svg")) as file:
                pictures.append(file.read())
        self.assertEqual(*pictures)
        self.same("show", "--from", "2001-01-01", "--to", "2001-01-02", status=1)

    def test_anomalies_are_found_and_saved(self):
        self.learn()
        self.assertRegex(self.same("anomalies", *self.normal, *self.training), r"4 phases compared, normal\n")
        for name, (_, what, _) in FAULTS.items():
            with self.subTest(name):
                self.assertIn(f"x the {what} that its inputs explain", self.same("anomalies", *self.faulty[name], *self.training, "--save"))
        query = urllib.parse.urlencode({"kind": "anomaly", "from": START, "to": self.runs.now})
        saved = [json.loads(http(f"{self.serve(store)}/api/page/spans?{query}")) for store in (self.sqlite, self.clickhouse)]
        # Several of one phase begin at one time: their order is that of the engine.
        saved = [sorted(spans, key=lambda span: json.dumps(span, sort_keys=True)) for spans in saved]
        self.assertEqual(*saved)
        self.assertGreaterEqual(len(saved[0]), len(FAULTS))

    def test_export_and_import_keep_the_phases(self):
        self.learn()
        exported = json.loads(self.same("export"))
        self.assertEqual((exported["format"], len(exported["phases"])), ("atalaya-phases", 4))
        with open(self.path("phases.json"), "w") as file:
            json.dump(exported, file)
        # Into stores that know no phase. Each engine reads the export of the other, because both are equal.
        self.kill_agents()
        self.database += "_imported"
        self.make_database()
        self.url = f"{self.server.url}/{self.database}"
        self.clickhouse = f"clickhouse:{self.url}?basic={self.basic}"
        self.sqlite = self.path("imported.db")
        self.same("export", status=1)
        _, self.hub_url = self.both()
        self.send(self.runs.next(9)[0])
        for store in (self.sqlite, self.clickhouse):
            self.atalaya("phases", "import", self.path("phases.json"), store=store)
            self.assertIn("imported 4 phases", self.errors)
        again = json.loads(self.same("export"))
        of = lambda phase: (phase["application"], phase["phase"], phase["epoch"], phase["functions"])
        self.assertEqual([of(phase) for phase in again["phases"]], [of(phase) for phase in exported["phases"]])
        # A new run consists of the known phases.
        when = ["--from", str(START), "--to", str(self.runs.now)]
        self.assertIn("1 runs, 4 occurrences, 0 new phases", self.same("learn", *when))


if __name__ == "__main__":
    main()
