# SPDX-License-Identifier: Apache-2.0
"""The command phases on a store that the real agent wrote: runs of a program with inputs that nobody states, then a run that wastes CPU,
one that leaks, one on a slow disk, and one that writes too much."""

import collections
import json
import random
import re
import urllib.request
import xml.dom.minidom

from harness import PATIENCE, main
from questions import T0, QueryCase

MINUTE = 60
START = T0 + 3600
FAULTS = {"cpu": ("merge", "CPU", 2), "leak": ("merge", "memory", 3), "disk": ("flush", "time", 4), "traffic": ("flush", "disk writes", 4)}


def sample(kind, end, tags, fields, text=""):
    return {"kind": kind, "time": int(end * 1e9), "duration": 1_000_000_000, "text": text, "tags": tags, "fields": fields}


def phases_of(size, fault=""):
    """(stacks, seconds, CPU in percent, memory in MiB, disk writes in MiB/s) of each phase of a run."""
    cpu, leak, disk, traffic = (FAULTS[name][2] if fault == name else 1 for name in FAULTS)
    work = {"main;merge;compare": 3, "main;merge": 1}
    return [({"main;warm": 2}, 12, 100, 100, 0),
            ({"main;load;parse": 2, "main;load": 1}, 2 * size, 70, 100 + 10 * size, 0),
            (work, 3 * size * cpu, 190, (100 + 20 * size) * leak, 0),
            ({"main;flush;force": 1, "main;flush": 1}, 1.5 * size * disk, 20, 100 + 20 * size, 30 * traffic / disk)]


class Phases(QueryCase):
    def setUp(self):
        super().setUp()
        self.chance = random.Random(5)
        self.now = START
        self.pid = 100
        for number in range(14):
            self.run_program(6 + number * 5 % 14)
        self.trained = self.now

    def run_program(self, size, fault=""):
        """Writes the samples of one run, a window per second; returns its range."""
        self.pid += 1
        begin = self.now
        tags = {"host": "h1", "process": "Sorter", "pid": str(self.pid)}
        samples = []
        for stacks, seconds, cpu, memory, writes in phases_of(size, fault):
            spread = [self.chance.gauss(1, 0.02) for _ in range(4)]
            for _ in range(round(seconds * spread[0])):
                self.now += 1
                names = self.chance.choices(list(stacks), list(stacks.values()), k=4)
                for stack in set(names):
                    samples.append(sample("stack", self.now, {**tags, "profile": "wall"}, {"profile.samples": names.count(stack), "profile.ns": names.count(stack) * 10**9}, stack))
                samples.append(sample("metrics", self.now, tags, {
                    "proc.cpu.user": cpu * spread[1] + self.chance.gauss(0, 2), "proc.cpu.kernel": 1.0,
                    "proc.mem.resident": memory * spread[2], "proc.disk.writes.mb": writes * spread[3]}))
        body = "".join(json.dumps(one) + "\n" for one in samples).encode()
        request = urllib.request.Request(self.hub + "/api/jsonlines", data=body)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            self.assertLess(answer.status, 300)
        self.now += 2 * MINUTE
        return ["--from", str(begin), "--to", str(self.now - MINUTE)]

    def phases(self, *words, **options):
        return self.atalaya("phases", *words, "--process", "Sorter", **options)

    def learn(self):
        return self.phases("learn", "--from", str(START), "--to", str(self.now))

    def test_from_stacks_to_where_in_the_code(self):
        normal = self.run_program(9.5)
        faulty = {name: self.run_program(11.3, name) for name in FAULTS}
        learned = self.learn()
        self.assertIn("19 runs, 76 occurrences", learned)
        names = set(re.findall(r"Sorter +(\S+)-[0-9a-f]{4} ", learned))
        self.assertEqual(names, {"warm", "load", "compare", "flush"})
        training = ["--train-from", str(START), "--train-to", str(self.trained)]

        said = self.phases("anomalies", *normal, *training)
        self.assertIn("1 runs against 14 normal runs", said)
        self.assertRegex(said, r"4 phases compared, normal\n")

        for name, (function, what, _) in FAULTS.items():
            with self.subTest(name):
                said = self.phases("anomalies", *faulty[name], *training, "--save")
                found = re.search(rf"phase (\S+) took ([0-9.]+)x the {what} that its inputs explain: ", said)
                self.assertIsNotNone(found, said)
                self.assertEqual(found[1], {"merge": "compare", "flush": "flush"}[function])
                expected = {"disk": 4, "leak": 3, "traffic": 4, "cpu": 2}[name]
                self.assertAlmostEqual(float(found[2]), expected, delta=0.25 * expected)
        said = self.phases("anomalies", *faulty["cpu"], *training)
        self.assertRegex(said, r"in the code of phase \S+: the same functions as in normal runs \(main\)")

        predicted = self.phases("predict", *normal, *training)
        self.assertRegex(predicted, r"compare-\S+ +time +2[6-9]\.\d s|compare-\S+ +time +30\.\d s")
        self.assertRegex(self.phases("train", "--from", str(START), "--to", str(self.trained)), r"inputs +(0\.9\d|1\.00) +9\d\.\d %")

        shown = json.loads(self.phases("show", "--format", "json", "--from", str(START), "--to", str(self.now)))
        self.assertEqual(len(shown["runs"]), 19)
        self.assertEqual({phase["phase"][:-5] for phase in shown["phases"]}, names)
        verdict, = json.loads(self.phases("anomalies", "--format", "json", *faulty["leak"], *training))
        self.assertIn(("compare", "memory"), {(one["phase"][:-5], one["of"]) for one in verdict["anomalies"]})
        self.assertEqual(verdict["normal_runs"], 14)
        run, = json.loads(self.phases("predict", "--format", "json", *normal, *training))
        seconds, = [one for one in run["predictions"] if one["of"] == "time" and one["phase"].startswith("compare")]
        self.assertAlmostEqual(seconds["predicted"], seconds["seen"], delta=0.1 * seconds["seen"])

        spans = self.atalaya("sql", "--format", "csv", "SELECT DISTINCT name FROM spans ORDER BY name")
        self.assertEqual(spans.split()[1:], ["anomaly", "phase", "phase.definition"])

    def test_flame_graphs_of_phases_are_parts_of_that_of_the_run(self):
        run = self.run_program(8)
        self.learn()

        def stacks(*words):
            text = self.atalaya("flamegraph", *run, "--profile", "wall", "--by", "name", "--format", "folded", *words)
            return collections.Counter({line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in text.splitlines()})

        parts = {phase: stacks("--phase", phase) for phase in ("warm", "load", "compare", "flush")}
        self.assertEqual(sum(parts.values(), collections.Counter()), stacks())
        self.assertEqual(set(parts["compare"]), {"Sorter;main;merge", "Sorter;main;merge;compare"})
        self.assertEqual(parts["load"] + parts["flush"], stacks("--phase", "~^(load|flush)-"))
        self.atalaya("flamegraph", *run, "--profile", "wall", "--phase", "sort", status=1)
        self.assertIn('no stacks of phase sort from', self.errors)

    def test_the_picture_shows_resources_phases_and_code(self):
        file = self.path("run.svg")
        last = self.run_program(8)
        self.learn()
        self.phases("show", *last, "-o", file)
        with open(file) as opened:
            text = opened.read()
        xml.dom.minidom.parseString(text)
        for part in ("Sorter, process", "CPU [%]", "memory [MiBy]", "disk writes [MiBy/s]", "Phases by stacks (S): 4", "epoch of", "stroke-dasharray"):
            self.assertIn(part, text)

    def test_a_range_that_is_learned_twice_counts_once(self):
        self.learn()
        first = self.phases("export")
        self.assertIn("14 runs, 56 occurrences, 0 new phases", self.learn())
        self.assertEqual(self.phases("export"), first)

    def test_export_and_import_keep_the_phases(self):
        self.learn()
        file = self.path("phases.json")
        self.phases("export", "-o", file)
        with open(file) as opened:
            exported = json.load(opened)
        self.assertEqual((exported["format"], exported["version"], len(exported["phases"])), ("atalaya-phases", 1, 4))
        merge = next(phase for phase in exported["phases"] if phase["phase"].startswith("compare"))
        self.assertEqual(merge["seconds"][0], 14)
        self.assertEqual([one[2] for one in merge["before"]], [14])
        other = self.path("other.db")
        self.phases("import", file, "--store", other)
        again = self.path("again.json")
        self.phases("export", "--store", other, "-o", again)
        with open(again) as opened:
            copied = json.load(opened)
        self.assertEqual([(phase["phase"], phase["epoch"], phase["functions"]) for phase in copied["phases"]],
                         [(phase["phase"], phase["epoch"], phase["functions"]) for phase in exported["phases"]])

    def test_without_data_and_with_wrong_words_the_answer_says_what_to_do(self):
        self.phases("show", "--from", "2001-01-01", "--to", "2001-01-02", status=1)
        self.assertIn("no phases from 2001-01-01 00:00:00 to 2001-01-02 00:00:00 UTC; pipelines/phases.lua collects them", self.errors)
        self.phases("learn", "--from", "2001-01-01", "--to", "2001-01-02", status=1)
        self.assertIn("no stacks of a process with 10 samples", self.errors)
        self.phases("lern", status=2)
        self.assertIn('"lern" is not one of learn, train, show, watch, predict, anomalies, export, import; did you mean "learn"?', self.errors)
        self.phases("import", status=2)
        self.assertIn("import: missing FILE", self.errors)
        with open(self.path("bad.json"), "w") as opened:
            opened.write('{"format":"atalaya-phases","version":1,"phases":[{"version":2}]}')
        self.phases("import", self.path("bad.json"), status=2)
        self.assertIn("version 2 is newer than this program; update it", self.errors)


if __name__ == "__main__":
    main()
