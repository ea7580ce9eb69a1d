# SPDX-License-Identifier: Apache-2.0
"""The command phases on a store that the real agent wrote: runs of a program with inputs that nobody states, then a run that wastes CPU,
one that leaks, one on a slow disk, and one that writes too much."""

import collections
import json
import re
import xml.dom.minidom

from harness import main
from phase_runs import FAULTS, START, Runs, lines
from questions import QueryCase, http


def scale(place, value, other_place, other_value):
    """The value at a place of an axis, from two of its ticks."""
    return lambda at: value + (at - place) * (other_value - value) / (other_place - place)


class Phases(QueryCase):
    def setUp(self):
        super().setUp()
        self.runs = Runs()
        for samples in self.runs.normal():
            self.send(samples)
        self.trained = self.runs.now

    def send(self, samples):
        http(self.hub + "/api/jsonlines", lines(samples))

    def run_program(self, size, fault=""):
        """Writes the samples of one run; returns its range."""
        samples, when = self.runs.next(size, fault)
        self.send(samples)
        return when

    def phases(self, *words, **options):
        return self.atalaya("phases", *words, "--process", "Sorter", **options)

    def learn(self):
        return self.phases("learn", "--from", str(START), "--to", str(self.runs.now))

    def assert_narrow(self, text):
        self.assertLessEqual(max(map(len, text.splitlines())), 80, text)

    def test_from_stacks_to_where_in_the_code(self):
        normal = self.run_program(9.5)
        faulty = {name: self.run_program(11.3, name) for name in FAULTS}
        learned = self.learn()
        self.assertIn("19 runs, 76 occurrences", learned)
        self.assert_narrow(learned)
        names = set(re.findall(r"^  (\S+)-[0-9a-f]{4} +19 ", learned, re.MULTILINE))
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
        self.assert_narrow(predicted)
        self.assertRegex(predicted, r"compare-\S+\n +time +(2[6-9]|30)\.\d s")
        trained = self.phases("train", "--from", str(START), "--to", str(self.trained))
        self.assert_narrow(trained)
        self.assert_narrow(self.phases("show", "--from", str(START), "--to", str(self.runs.now)))
        self.assertRegex(trained, r"inputs +(0\.9\d|1\.00) +9\d\.\d %")

        shown = json.loads(self.phases("show", "--format", "json", "--from", str(START), "--to", str(self.runs.now)))
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

    def test_the_verdict_on_a_phase_depends_neither_on_the_begin_of_the_range_nor_on_its_own_run(self):
        when = self.run_program(11.3, "leak")
        self.learn()
        begin, end = int(when[1]), int(when[3])
        run, = json.loads(self.phases("show", "--format", "json", *when))["runs"]
        phase, = (one for one in run["phases"] if one["phase"].startswith("compare"))

        def verdict(start, train_to):
            said = json.loads(self.phases("anomalies", "--format", "json", "--from", str(start), "--to", str(end), "--train-from",
                                          str(START), "--train-to", str(train_to)))[-1]
            return said["start"], said["normal_runs"], [one for one in said["anomalies"] if one["start"] >= phase["start"]]

        expected = verdict(begin, self.trained)
        self.assertEqual(expected[1], 14)
        self.assertIn("memory", [one["of"] for one in expected[2]])
        for start in (begin - 300, begin + 15, phase["start"] // 1000 + 1, phase["end"] // 1000 - 1):
            for train_to in (self.trained, end):
                with self.subTest(start=start - begin, train_to=train_to):
                    self.assertEqual(verdict(start, train_to), expected)

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
        text = self.picture(self.run_program(8))
        for part in ("Sorter, process", ">CPU<", ">memory<", ">disk writes<", "Phases by stacks (S): 4", "epoch of", "stroke-dasharray",
                     "seconds of 2023-11-15 ", "prefers-color-scheme:dark"):
            self.assertIn(part, text)

    def picture(self, when):
        self.learn()
        self.phases("show", *when, "-o", self.path("run.svg"))
        with open(self.path("run.svg")) as file:
            return file.read()

    def test_the_picture_has_the_numbers_of_the_run(self):
        """Its points, read back with the ticks and units of their axes."""
        samples, when = self.runs.next(8)
        self.send(samples)
        image = xml.dom.minidom.parseString(self.picture(when))
        texts = [(float(one.getAttribute("x")), float(one.getAttribute("y")), one.firstChild.data) for one in image.getElementsByTagName("text")]
        paths = [[tuple(map(float, point.split())) for point in re.split("[ML]", one.getAttribute("d").replace("h0", ""))[1:]]
                 for one in image.getElementsByTagName("path") if one.getAttribute("class") == "resource"]
        ends = [one["time"] // 10**9 for one in samples if one["kind"] == "metrics"]
        fields = [one["fields"] for one in samples if one["kind"] == "metrics"]
        panels = {"CPU": [one["proc.cpu.user"] + 1 for one in fields], "memory": [one["proc.mem.resident"] for one in fields],
                  "disk writes": [one["proc.disk.writes.mb"] for one in fields]}
        units = {"% of one core": 1, "MiB": 1, "GiB": 1024, "MiB/s": 1, "KiB/s": 1 / 1024}
        bottom = max(y for x, y, text in texts if x < 78 and text == "0") + 13  # below it are the ticks of the time
        seconds = [(x, float(text)) for x, y, text in texts if abs(y - bottom) < 0.2]
        self.assertGreater(len(seconds), 5)
        time_of = scale(*seconds[0], *seconds[-1])
        self.assertEqual(len(paths), len(panels))
        for (name, values), path in zip(panels.items(), paths, strict=True):
            with self.subTest(name):
                top, = (y for x, y, text in texts if text == name)
                ticks = [(y - 4, float(text)) for x, y, text in texts if 70 < x < 78 and top < y < top + 100]
                unit, = (units[text] for x, y, text in texts if x == 16 and top < y < top + 100)
                value_of = scale(*ticks[0], *ticks[-1])
                self.assertEqual(len(path), len(values))
                for (x, y), end, value in zip(path, ends, values, strict=True):
                    self.assertAlmostEqual(time_of(x), end - ends[0] + 0.5, delta=0.05)
                    self.assertAlmostEqual(value_of(y) * unit, value, delta=0.005 * max(values))

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

    def test_the_help_explains_each_verb_in_a_line(self):
        said = self.atalaya("phases", "--help")
        arguments = said[said.index("\nArguments:\n"):said.index("\nOptions:\n")]
        self.assertEqual(re.findall(r"^  (\w+) .*\w$", arguments, re.MULTILINE),
                         ["learn", "show", "watch", "train", "predict", "anomalies", "export", "import"])

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
