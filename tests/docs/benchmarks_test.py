# SPDX-License-Identifier: Apache-2.0
"""./dev bench peers without a measurement: its pages, its judgements, and the bytes that it sends to a database. Needs no agent."""

import json
import os
import random
import re
import sqlite3
import statistics
import struct
import sys
import tempfile
import unittest

import style

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
from bench_tools import Ended  # noqa: E402
from peers import floors, growth, page, program, table  # noqa: E402
from peers.programs import LIST, prometheus  # noqa: E402
from peers.tables import ALL, hub, network, presets, short_lives  # noqa: E402
from peers.turns import Recorder, TimeIsUp, limit  # noqa: E402

PAGE, METHOD, RESULTS = "docs/benchmarks.md", "docs/benchmarks-method.md", "docs/benchmarks.json"


def rows(**values):
    return {name: {"values": {"x": found}, "note": ""} for name, found in values.items()}


def results():
    with open(RESULTS) as file:
        return json.load(file)


class Page(unittest.TestCase):
    maxDiff = None

    def test_without_results_no_goal_is_judged(self):
        text = page.render({"tables": {}})
        goals = sum(len(one.goals) for one in ALL)
        self.assertIn(f"Goals: 0 of {goals} pass", text)
        self.assertEqual(text.count("| - | not measured |\n"), goals)
        self.assertNotRegex(text, r"\| (pass|short) \|")

    def test_without_results_both_pages_are_plain_and_narrow(self):
        for text in page.render({"tables": {}}), page.render_method({"tables": {}}):
            self.assertEqual(style.too_wide(text), [])
            self.assertEqual(style.Phrases().find(style.markdown_prose(text)), [])

    def test_the_pages_in_the_tree_are_those_of_the_results(self):
        self.assertEqual(style.read(PAGE), page.render(results()))
        self.assertEqual(style.read(METHOD), page.render_method(results()))

    def test_no_table_has_more_than_four_columns(self):
        for name in PAGE, METHOD:
            wide = [line for line in style.read(name).splitlines() if line.startswith("|---") and line.count("---") > 4]
            self.assertEqual(wide, [], name)

    def test_each_table_has_results_and_a_method(self):
        headings = re.findall(r"^## (.*)$", style.read(PAGE), re.M)
        explained = [title for heading in re.findall(r"^## (.*)$", style.read(METHOD), re.M) for title in heading.split("; ")]
        self.assertEqual(headings, [one.title for one in ALL])
        self.assertEqual([one.title for one in ALL if one.title not in explained], [])

    def test_a_row_without_figures_has_the_reason_below_the_table(self):
        one = ALL[0]
        names = list(one.rows)
        recorder = Recorder(one.rows)
        recorder.add(names[0], core=0.125, rss=20)
        recorder.add(names[1], core=1.25, rss=80)
        recorder.miss(names[2], "pmcd is not\ninstalled")
        entry = {"stamp": {"date": "2026-01-02", "machine": "m", "load": "0.1"}, "commit": "abc", "seconds": 3, "rows": recorder.rows}
        lines = "\n".join(page.section(one, entry))
        self.assertIn(f"| {names[0]} | 0.125 | 20.0 | 1 |", lines)
        self.assertIn(f"| {names[1]} | 1.250 | 80.0 | 10.00 |", lines)
        self.assertNotIn(f"| {names[2]} |", lines)
        self.assertIn(f"- {names[2]}: not measured: pmcd is not installed.", lines)
        self.assertIn("| host.lua: at most 0.2 % of a core | 0.125 % | pass |", lines)

    def test_every_program_is_known_and_installed_by_dev(self):
        packages = re.findall(r'^(?:PEER|TEST)_PACKAGES="(.*)"$', style.read("dev"), re.M)
        installed = " ".join(packages).split() + ["openjdk-17-jdk-headless"]  # by default-jdk-headless
        for one in ALL:
            for name in filter(None, one.rows.values()):
                with self.subTest(f"{one.name}: {name}"):
                    self.assertIn(name, LIST)
                    if LIST[name].package:
                        self.assertIn(LIST[name].package, installed)

    def test_names_of_tables_and_rows_are_unique(self):
        self.assertEqual(len({one.name for one in ALL}), len(ALL))
        for one in ALL:
            self.assertTrue(not one.reference or one.reference in one.rows, one.name)


class Judgements(unittest.TestCase):
    def test_fraction_and_times(self):
        found = rows(ours=[1.0, 2.0, 1.0], theirs=[40.0, 90.0, 50.0])
        self.assertEqual(table.fraction("ours", "theirs", "x", 45)(found), ("1/45.0 (40.0-50.0)", "pass"))
        self.assertEqual(table.fraction("ours", "theirs", "x", 46)(found)[1], "short")
        self.assertEqual(table.times("theirs", "ours", "x", 45)(found), ("45.00 (40.00-50.00) times", "pass"))

    def test_limits(self):
        found = rows(ours=[1.0, 5.0, 3.0])
        self.assertEqual(table.at_most("ours", "x", 3, "ms")(found), ("3.00 (1.00-5.00) ms", "pass"))
        self.assertEqual(table.at_most("ours", "x", 2.9, "ms")(found)[1], "short")
        self.assertEqual(table.at_least("ours", "x", 3.1, "ms")(found)[1], "short")

    def test_a_loss_needs_pairs_and_little_noise(self):
        quiet = [0.3, 0.5] * 8
        self.assertEqual(table.loss("ours", "x", 0.5)(rows(ours=quiet))[1], "pass")
        self.assertEqual(table.loss("ours", "x", 0.5)(rows(ours=quiet[:10]))[1], "inconclusive")
        self.assertEqual(table.loss("ours", "x", 0.5)(rows(ours=[-20.0, 20.5] * 8))[1], "inconclusive")
        self.assertEqual(table.loss("ours", "x", 0.5)(rows(ours=[1.9, 2.1] * 8))[1], "short")
        # Not distinguishable from 0, and yet 1 % is not excluded.
        wide = [-2.0, 3.4] * 8
        self.assertEqual(table.loss("ours", "x", 0.5)(rows(ours=wide))[1], "pass")
        self.assertEqual(table.loss("ours", "x", 0.5, excluded=1)(rows(ours=wide))[1], "short")

    def test_a_missing_figure_is_no_judgement(self):
        with self.assertRaises(KeyError):
            table.at_most("ours", "y", 1, "ms")(rows(ours=[1.0]))

    def test_the_average_of_pairs_has_its_interval(self):
        self.assertEqual(table.average_of_pairs([1.0]), "1.00")
        # Of two numbers a and b the standard deviation is |a - b| / √2.
        self.assertEqual(table.average_of_pairs([1.0, 2.0]), f"1.50 ± {2.14 / 2:.2f}")


class Growth(unittest.TestCase):
    """Exponents and lines, of costs whose law is known."""

    def test_the_exponent_of_a_line_is_one_whatever_its_start(self):
        dice = random.Random(1)
        for _ in range(200):
            numbers = sorted(dice.sample(range(1, 100_000), dice.randint(3, 5)))
            start, each = dice.uniform(0, 1000), dice.uniform(0.001, 10)
            self.assertAlmostEqual(growth.exponent(numbers, [start + each * number for number in numbers]), 1, places=6)

    def test_the_exponent_of_a_power(self):
        numbers = (100, 1000, 10_000)
        for power in (0.5, 0.8, 1.2, 1.5, 2):
            found = growth.exponent(numbers, [5 + 0.01 * number**power for number in numbers])
            self.assertAlmostEqual(found, power, delta=0.1)
            self.assertEqual(found > growth.LINEAR, power > growth.LINEAR)

    def test_costs_that_do_not_grow(self):
        self.assertEqual(growth.exponent((1, 10, 100), (5, 6, 4)), 0)
        with self.assertRaises(KeyError):
            growth.exponent((1, 10), (1, 10))

    def test_the_line_through_costs(self):
        dice = random.Random(2)
        for _ in range(200):
            numbers = sorted(dice.sample(range(1, 10_000), 4))
            slope, start = growth.fitted(numbers, [7 + 0.25 * number for number in numbers])
            self.assertAlmostEqual(slope, 0.25, places=9)
            self.assertAlmostEqual(start, 7, places=6)
        # Errors of equal size relative to costs that are nearly equal: as the line of the standard library.
        costs = [1000 + dice.uniform(-1, 1) for _ in range(10)]
        line = statistics.linear_regression(range(10), costs)
        for found, expected in zip(growth.fitted(range(10), costs), (line.slope, line.intercept)):
            self.assertAlmostEqual(found, expected, places=2)

    def test_the_goal_reads_medians_of_the_rows_that_exist(self):
        goal = growth.linear("things", {10: "a", 100: "b", 1000: "c", 10_000: "d"}, "x", "ms")
        found = rows(a=[2.0], b=[9.0, 11.0, 500.0], c=[101.0], d=[])
        self.assertEqual(goal.judge(found), ("exponent 1.00 from 10 to 1,000; 100 ms for 1,000 more", "pass"))
        self.assertEqual(goal.judge(rows(a=[2.0], b=[11.0], c=[1001.0], d=[]))[1], "short")
        with self.assertRaises(KeyError):
            goal.judge(rows(a=[2.0], b=[11.0], c=[], d=[]))

    def test_hosts_of_a_core_and_lost_points(self):
        def fleet(lost, of_a_host):
            return {name: {"values": {"core": [1 + of_a_host * hosts], "lost": [lost], "refused": [0]}} for hosts, name in hub.ROWS.items()}
        self.assertEqual(hub.hosts_of_a_core(fleet(0, 0.009)), ("11,000 hosts (9.00 % of a core for 1,000 more; measured up to 10,000)", "pass"))
        self.assertEqual(hub.hosts_of_a_core(fleet(0, 0.0099))[1], "pass")
        self.assertEqual(hub.hosts_of_a_core(fleet(0, 0.01))[1], "short")
        self.assertEqual(hub.nothing_lost(fleet(0, 1))[1], "pass")
        self.assertEqual(hub.nothing_lost(fleet(-1, 1)), (f"{len(hub.ROWS)}", "short"))

    def test_parts_of_a_store_are_all_of_its_pages(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "s.db")
            with sqlite3.connect(path) as writer:
                for part in ("entity_rows", "chunks", "samples"):
                    writer.execute(f"CREATE TABLE {part}(x BLOB)")
                writer.execute("INSERT INTO entity_rows VALUES(zeroblob(100000))")
                writer.execute("INSERT INTO chunks VALUES(zeroblob(50000))")
            writer.close()
            found, page_size = short_lives.sizes(path), 4096
        self.assertEqual(found["names"] + found["chunks"] + found["rows"] + page_size, found["all"])  # a page is the list of tables
        self.assertTrue(found["names"] >= 100_000 > found["chunks"] >= 50_000 > found["rows"] == page_size, found)


class Transfers(unittest.TestCase):
    def test_a_pair_finds_the_loss_on_a_machine_that_becomes_slower(self):
        dice = random.Random(4)
        for _ in range(200):
            rate, cost, loss, more = dice.uniform(1, 4), dice.uniform(0.2, 1), dice.uniform(-0.1, 0.5), dice.uniform(-0.1, 0.5)
            drift, legs = dice.uniform(-0.1, 0.1), []
            for moment in range(4):
                with_it = moment in (1, 2)
                moved, ns = int((rate + drift * moment) * (1 - loss * with_it) * 2e9), 2_000_000_000
                legs.append(network.Leg(moved, ns, int(moved * (cost + drift * moment) * (1 + more * with_it))))
            found = network.compared([legs[0], legs[3]], legs[1:3])
            self.assertAlmostEqual(found["slower"], 100 * loss, places=5)
            self.assertAlmostEqual(found["byte"], 100 * more, places=5)


class Presets(unittest.TestCase):
    """The experiment of the reference: its pipelines, its turns and its per cents."""

    def test_each_kind_has_its_part_of_the_shipped_file_with_the_windows_of_the_reference(self):
        windows = {"default": ({"20s"}, {"60s"}, "common.profile {"), "aggressive": ({"5s", "30s"}, {"30s"}, "a.source.perf { frequency = 202,")}
        for name, (preset, kind) in presets.VARIANTS.items():
            with self.subTest(name):
                text = presets.pipelines(preset, kind)
                monitoring, profiling, profile = windows[preset]
                found = {"processes": monitoring} if kind == "monitoring" else {"perf": profiling} if kind == "profiling" else {
                    "processes": monitoring, "perf": profiling}
                self.assertEqual("common.processes {" in text, "processes" in found)
                self.assertEqual("common.host {" in text, "processes" in found)
                self.assertEqual(profile in text, "perf" in found)
                self.assertEqual(set(re.findall(r'every = "([^"]*)"', text)), set().union(*found.values()))

    def test_an_agent_starts_with_a_window(self):
        minute = 1_700_000_040 * 10**9
        for late in (0, 0.5, 2.3):
            self.assertEqual(presets.wait_for_begin(60, minute + int(late * 1e9)), minute)
        self.assertEqual(presets.wait_for_begin(60, minute - 10**7), minute)

    def test_rows_with_a_goal_have_a_turn_in_each_round_and_the_others_in_every_second(self):
        turns = [name for names in presets.TURNS for name in names]
        self.assertEqual({name: turns.count(name) for name in presets.VARIANTS},
                         {name: len(presets.TURNS) if name in presets.JUDGED else 1 for name in presets.VARIANTS})
        self.assertGreaterEqual(presets.ROUNDS / len(presets.TURNS), 15)  # pairs that an interval needs

    def test_a_run_is_compared_with_those_without_an_agent_before_and_after(self):
        dice, expected = random.Random(3), {}
        recorder = Recorder(presets.TABLES[0].rows)
        for number in range(presets.ROUNDS):
            moments = iter(range(8))
            of_machine = {key: (dice.uniform(3, 9), dice.uniform(-0.1, 0.1)) for key in ("seconds", "cpu")}  # that gets faster or slower

            def once(name, moments=moments, of_machine=of_machine):
                moment = next(moments)
                more = {key: 0 if name == presets.NONE else dice.uniform(-5, 30) for key in of_machine}
                share, later = dice.uniform(0, 1), dice.uniform(0, 1)
                expected.setdefault(name, []).append((more["seconds"] + later, more["cpu"] + share))
                values = {key: (start + slope * moment) * (1 + more[key] / 100) for key, (start, slope) in of_machine.items()}
                return moment, share, dict(values, later=later)
            presets.one_round(recorder, once, presets.TURNS[number % len(presets.TURNS)])
        for name in presets.VARIANTS:
            values = recorder.rows[name]["values"]
            for found, by in zip(zip(values["longer"], values["full"], strict=True), expected[name], strict=True):
                self.assertAlmostEqual(found[0], by[0], places=9)
                self.assertAlmostEqual(found[1], by[1], places=9)
        self.assertFalse({"longer", "full"} & set(recorder.rows[presets.NONE]["values"]))

    def test_a_preset_that_does_not_run_stops_no_other(self):
        moments = iter(range(16))

        def once(name):
            if name == "default, both":
                raise Ended("no BPF")
            return next(moments), 0, {"seconds": 5.0, "cpu": 8.0, "later": 0}
        recorder = Recorder(presets.TABLES[0].rows)
        for _ in range(2):
            presets.one_round(recorder, once, presets.VARIANTS)
        self.assertEqual([name for name in recorder.rows if recorder.is_missing(name)], ["default, both"])
        self.assertEqual(recorder.rows["aggressive, both"]["values"]["longer"], [0, 0])


class Limits(unittest.TestCase):
    def test_the_limit_of_time_passes_through_a_turn(self):
        recorder = Recorder({"one": ""})
        with self.assertRaises(TimeIsUp), limit(1), recorder.turn("one"):
            while True:
                pass
        self.assertFalse(recorder.is_missing("one"))


CHANGELOG = """atop (2.8.1-1+deb12u1) bookworm; urgency=high

  * Fix.

 -- A B <a@b>  Fri, 28 Mar 2025 10:00:00 +0000

atop (2.8.1-1) unstable; urgency=medium

 -- A B <a@b>  Sun, 08 Jan 2023 10:00:00 +0000

atop (2.7.1-1) unstable; urgency=medium

 -- A B <a@b>  Sat, 08 Jan 2022 10:00:00 +0000
"""


class Versions(unittest.TestCase):
    def test_the_first_package_of_a_version(self):
        self.assertEqual(program.first_packaged(CHANGELOG.splitlines(True), "2.8.1"), "Jan 2023")
        self.assertEqual(program.first_packaged(CHANGELOG.splitlines(True), "3.0"), "")

    def test_version_of_the_program(self):
        self.assertEqual(program.upstream("1:6.0.14+dfsg-1+b1"), "6.0.14+dfsg")
        self.assertEqual(program.upstream("2.8.1-1+deb12u1"), "2.8.1")


def uvarint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def plain(data):
    """What a receiver of snappy's block format reads from literals."""
    length, at = uvarint(data, 0)
    found = b""
    while at < len(data):
        tag, at = data[at], at + 1
        assert tag == 61 << 2
        size = int.from_bytes(data[at:at + 2], "little") + 1
        found, at = found + data[at + 2:at + 2 + size], at + 2 + size
    assert len(found) == length
    return found


def fields(data):
    """(number, value) of a message of protobuf."""
    at = 0
    while at < len(data):
        tag, at = uvarint(data, at)
        if tag & 7 == 0:
            value, at = uvarint(data, at)
        elif tag & 7 == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        else:
            size, at = uvarint(data, at)
            value, at = data[at:at + size], at + size
        yield tag >> 3, value


class Lines(unittest.TestCase):
    """Lines of the influx protocol as requests of Prometheus's remote write."""

    def file(self, text):
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.write(text)
        self.addCleanup(os.unlink, file.name)
        return file.name

    def test_series_and_samples(self):
        path = self.file(b"m,host=a,process=my\\ job\\,1 proc.cpu.user=1.5,proc.threads=7i 1700000000000000000\n"
                         b"m,host=a,process=my\\ job\\,1 proc.cpu.user=2.5,proc.threads=8i 1700000001000000000\n")
        request = b"".join(plain(prometheus.snappy(prometheus.write_request(points))) for points in prometheus.batches(path))
        found = {}
        for _, series in fields(request):
            labels = dict(tuple(value for _, value in fields(label)) for number, label in fields(series) if number == 1)
            samples = [tuple(value for _, value in fields(sample)) for number, sample in fields(series) if number == 2]
            found[labels[b"__name__"]] = labels, samples
        self.assertEqual(found[b"proc_cpu_user"], ({b"__name__": b"proc_cpu_user", b"host": b"a", b"process": b"my job,1"},
                                                   [(1.5, 1700000000000), (2.5, 1700000001000)]))
        self.assertEqual(found[b"proc_threads"][1], [(7.0, 1700000000000), (8.0, 1700000001000)])

    def test_large_content_in_blocks(self):
        content = bytes(range(256)) * 1000
        self.assertEqual(plain(prometheus.snappy(content)), content)

    def test_entropy(self):
        # All series alternate between 0 and 1: what comes next is known, so it takes no bits.
        known = b"".join(b"m,pid=%d v=%d %d\n" % (i, second % 2, second) for second in range(50) for i in range(floors.OF))
        self.assertEqual(floors.entropy_of(self.file(known)), 0)
        # Of four equally frequent steps each takes two bits, a quarter of a byte.
        steps = [b"m v=%d %d\n" % (sum((1, 2, 3, 4)[k % 4] for k in range(second)) + 1, second) for second in range(401)]
        self.assertAlmostEqual(floors.entropy_of(self.file(b"".join(line * floors.OF for line in steps))), 0.25, places=3)


if __name__ == "__main__":
    unittest.main()
