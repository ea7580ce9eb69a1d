# SPDX-License-Identifier: Apache-2.0
"""Code regions of a real program, compared with its own log of them: each run is a span, with its bytes, and none is counted twice or lost."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import unittest

from harness import BINARY, AgentCase, main, so_far
from probes import obstacle

PROGRAM = os.environ.get("ATALAYA_REGIONS", "build/release/tests/integration/regions")
THREADS, ROUNDS = 3, 400  # the cost of a region is higher than that of a preemption
REGIONS = """
  { name = "parse", binary = "%(binary)s", enter = "parse_file", leave = "return", bytes = "arg2" },
  { name = "fill", binary = "%(binary)s", enter = "fill_buffer", leave = "return" },
  { name = "walk", binary = "%(binary)s", enter = "walk_tree", leave = "return" },
  { name = "area", binary = "%(binary)s", enter = "shapes::Shape::area", leave = "return" },
  { name = "load", binary = "%(binary)s", enter = "load_begins", leave = "load_ends" },
  { name = "jump", binary = "%(binary)s", enter = "jumps_out", leave = "return" },
  { name = "hot", binary = "%(binary)s", enter = "hot", leave = "return" },
  { name = "stays", binary = "%(binary)s", enter = "stays", leave = "return" },
"""


@unittest.skipIf(obstacle(), obstacle())
class Uprobe(AgentCase):
    def setUp(self):
        super().setUp()
        self.children = []
        self.store, self.output = self.path("store.db"), self.path("points")
        self.binary = self.path("regions")
        shutil.copy(PROGRAM, self.binary)

    def tearDown(self):
        for child in self.children:
            child.kill()
            child.communicate()
        super().tearDown()

    def start(self, *arguments, binary=None):
        child = subprocess.Popen([binary or self.binary, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.children.append(child)
        return child

    def look(self, regions=None, options="", every="1s", more=""):
        regions = regions if regions is not None else REGIONS % {"binary": self.binary}
        return self.run_agent(f"""local a = require "atalaya"
            a.pipeline "regions" {{ every = "{every}", a.source.uprobe {{ regions = {{ {regions} }}, {options} }},
              a.sink.sqlite {{ path = "{self.store}", retain = "0s" }}, a.sink.file {{ path = "{self.output}" }}, {more} }}""")

    def rows(self, statement):
        store = sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)
        try:
            return store.execute(statement).fetchall()
        finally:
            store.close()

    def spans(self, name):
        """(begin, length, process, pid, other tags, fields) of each run."""
        return self.rows("SELECT start_ns, duration_ns, process, pid, tags, fields FROM spans JOIN entities ON entities.id = spans.entity "
                         f"WHERE name = 'region' AND tags ->> 'name' = '{name}' ORDER BY start_ns")

    def sums(self):
        """Totals of each region's metrics so far."""
        sums = {}
        for point in so_far(self.output):
            if point.get("metric", "").startswith("region."):
                key = (point["tags"]["name"], point["metric"][len("region."):])
                sums[key] = point["value"] if key[1] == "attached" else sums.get(key, 0) + point["value"]
        return sums

    def until(self, agent, condition, description):
        try:
            agent.wait_status(lambda _: condition(self.sums()))
        except AssertionError:
            raise AssertionError(f"no {description} in {self.sums()}\n{agent.errors()}") from None
        return self.sums()

    def work(self, agent, rounds=ROUNDS):
        """The program's own log, once all of it is reported."""
        self.until(agent, lambda sums: sums.get(("stays", "attached")) == 1, "attached region")
        child = self.start("work", str(THREADS), str(rounds))
        log = json.loads(child.stdout.readline())
        reported = {"parse", "fill", "walk", "area", "load"}
        self.until(agent, lambda sums: all(sums[name, "calls"] >= log[name]["calls"] for name in reported)
                   and sums["jump", "orphans"] >= log["jump"]["calls"], "whole log")
        return child, log, {name: log[name] for name in reported}

    def test_each_run_is_a_span_with_its_length_and_its_bytes(self):
        agent = self.look(options='job = "nightly"').running()
        child, log, reported = self.work(agent)
        self.assertEqual(agent.stop(), 0, agent.errors())
        sums = self.sums()
        for name, own in reported.items():
            spans = self.spans(name)
            self.assertEqual(len(spans), own["calls"], name)
            self.assertEqual(sums[name, "calls"], own["calls"], name)
            # As long as the work in it, no longer than the call; and spans and metrics agree.
            time = sum(span[1] for span in spans)
            self.assertGreaterEqual(time, own["inner"], name)
            self.assertLessEqual(time, own["outer"], name)
            self.assertAlmostEqual(sums[name, "time"], time, delta=len(spans), msg=name)
            self.assertEqual({span[2:4] for span in spans}, {("regions", child.pid)}, name)
            self.assertEqual({span[4] for span in spans}, {json.dumps({"job": "nightly", "name": name}, separators=(",", ":"))})
            for counter in ("short", "dropped", "missed", "orphans"):
                self.assertEqual(sums[name, counter], 0, (name, counter))
        parsed = [json.loads(span[5]) for span in self.spans("parse")]
        self.assertEqual(sum(sum(fields.values()) for fields in parsed), log["parse"]["bytes"])
        self.assertEqual({len(fields) for fields in parsed}, {1})
        self.assertEqual(sums["walk", "nested"], 4 * log["walk"]["calls"])
        # Those that were left by longjmp have no end, each by itself: seen when it is entered again, and when the thread ends.
        self.assertEqual((sums["jump", "calls"], sums["jump", "orphans"]), (0, log["jump"]["calls"]))
        self.check_bottleneck(reported)

    def check_bottleneck(self, reported):
        """Five regions are five classes, by the total of their spans: the cost of each depends on the machine, and on the moment."""
        done = subprocess.run([BINARY, "bottleneck", "--job", "all", "--store", self.store, "--format", "json"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        regions = json.loads(done.stdout)["regions"]
        seconds = {name: sum(span[1] for span in self.spans(name)) / 1e9 for name in reported}
        self.assertEqual([region["region"] for region in regions], sorted(seconds, key=seconds.get, reverse=True))
        self.assertEqual([region["class"] for region in regions], ["very severe", "severe", "moderate", "slight", "negligible"])
        for place, region in enumerate(regions):
            name = region["region"]
            self.assertEqual(region["runs"], reported[name]["calls"])
            self.assertAlmostEqual(region["seconds"], seconds[name], places=6)
            self.assertEqual(region["critical"], place < 2 and seconds[name] >= sum(seconds.values()) / 10, regions)

    def test_two_runs_at_a_time_of_one_region_are_two(self):
        agent = self.look().running()
        _, log, _ = self.work(agent)
        agent.stop()
        begins = [span[0] for span in self.spans("fill")]
        self.assertEqual(len(set(begins)), log["fill"]["calls"])

    def test_counted_runs_are_reported(self):
        """In each window, while runs continue: a reader that stops at the last count has all spans."""
        agent = self.look(every="100ms", more='a.sink.file { path = "%s", format = "samples" }' % self.path("samples")).running()
        self.work(agent, rounds=4 * ROUNDS)
        agent.stop()
        reported, counted = {}, {}
        for sample in so_far(self.path("samples")):
            name, fields = sample["tags"]["name"], sample["fields"]
            if sample["kind"] == "span":
                reported[name] = reported.get(name, 0) + 1
                continue
            own = fields["region.calls"] - fields["region.short"] - fields["region.dropped"]
            counted[name] = counted.get(name, 0) + own
            self.assertLessEqual(counted[name], reported.get(name, 0), name)
        self.assertEqual(counted["fill"], reported["fill"])

    def test_runs_above_the_limit_are_counted(self):
        times = 30000
        agent = self.look(options='max_events = 500').running()
        self.until(agent, lambda sums: sums.get(("hot", "attached")) == 1, "attached region")
        self.start("hot", str(times)).wait()
        sums = self.until(agent, lambda sums: sums["hot", "calls"] >= times, "all calls")
        agent.stop()
        self.assertEqual(sums["hot", "calls"], times)
        self.assertGreater(sums["hot", "dropped"], 0)
        self.assertEqual(len(self.spans("hot")), times - sums["hot", "dropped"])
        self.assertGreater(sums["hot", "time"], sum(span[1] for span in self.spans("hot")))

    def test_short_runs_are_counted(self):
        agent = self.look(options='min = "80ms"').running()
        _, log, reported = self.work(agent)
        agent.stop()
        sums = self.sums()
        for name, own in reported.items():
            self.assertEqual(sums[name, "calls"], own["calls"])
            self.assertEqual(len(self.spans(name)), own["calls"] - sums[name, "short"], name)
        self.assertGreaterEqual(sums["area", "short"], log["area"]["calls"] * 9 // 10)

    def test_a_program_that_is_killed_within_a_region(self):
        agent = self.look().running()
        self.until(agent, lambda sums: sums.get(("stays", "attached")) == 1, "attached region")
        child = self.start("stay")
        self.assertEqual(child.stdout.readline(), "there\n")
        child.send_signal(signal.SIGKILL)
        sums = self.until(agent, lambda sums: sums["stays", "orphans"] >= 1, "orphan")
        self.assertEqual((sums["stays", "orphans"], sums["stays", "calls"]), (1, 0))
        agent.stop()
        self.assertEqual(self.spans("stays"), [])

    def test_only_processes_of_a_name(self):
        other = self.path("another")
        os.link(self.binary, other)
        agent = self.look(options='processes = { "anoth*" }').running()
        self.until(agent, lambda sums: sums.get(("hot", "attached")) == 1, "attached region")
        self.start("hot", "1000").wait()
        self.start("hot", "300", binary=other).wait()
        self.until(agent, lambda sums: sums["hot", "calls"] >= 300, "calls of the other name")
        self.start("hot", "1000").wait()
        self.start("hot", "77", binary=other).wait()
        sums = self.until(agent, lambda sums: sums["hot", "calls"] >= 377, "further calls")
        agent.stop()
        self.assertEqual(sums["hot", "calls"], 377)
        self.assertEqual({span[2] for span in self.spans("hot")}, {"another"})
        self.assertEqual(len(self.spans("hot")), 377)

    def test_names_that_are_not_wanted_take_no_room(self):
        other = self.path("another")
        os.link(self.binary, other)
        agent = self.look(options='processes = { "anoth*" }').running()
        self.until(agent, lambda sums: sums.get(("hot", "attached")) == 1, "attached region")
        self.start("names", "3000").wait()
        self.until(agent, lambda sums: sums["hot", "missed"] > 1000, "runs beyond the names that there is room for")
        windows = self.windows()
        agent.wait_status(lambda _: self.windows() >= windows + 3)
        missed = self.sums()["hot", "missed"]
        self.start("hot", "300", binary=other).wait()
        sums = self.until(agent, lambda sums: sums["hot", "calls"] >= 300, "calls of the name that is wanted")
        agent.stop()
        self.assertEqual((sums["hot", "calls"], sums["hot", "dropped"], sums["hot", "short"]), (300, 0, 0))
        self.assertEqual(len(self.spans("hot")), 300)
        self.assertEqual(sums["hot", "missed"], missed)

    def windows(self):
        return sum(point.get("metric") == "region.attached" and point["tags"]["name"] == "hot" for point in so_far(self.output))

    def test_returns_beyond_those_that_the_kernel_keeps_of_a_thread(self):
        regions = ", ".join('{ name = "%s", binary = "%s", enter = "%s", leave = "return" }' % (name, self.binary, name) for name in ("dig", "hot"))
        agent = self.look(regions).running()
        self.until(agent, lambda sums: sums.get(("hot", "attached")) == 1, "attached region")
        self.start("deep", "63", "10").wait()  # with that of `hot` 64
        sums = self.until(agent, lambda sums: sums["dig", "calls"] >= 1 and sums["hot", "calls"] >= 11, "calls")
        self.assertEqual((sums["dig", "nested"], sums["hot", "missed"]), (62, 0))
        self.start("deep", "100", "10").wait()
        sums = self.until(agent, lambda sums: sums["dig", "calls"] >= 2 and sums["hot", "calls"] >= 12, "further calls")
        agent.stop()
        self.assertEqual((sums["dig", "calls"], sums["dig", "nested"], sums["dig", "missed"]), (2, 62 + 99, 0))
        self.assertEqual((sums["hot", "calls"], sums["hot", "missed"], sums["hot", "orphans"]), (12, 10, 0))

    def test_a_binary_comes_later_and_is_replaced(self):
        later = self.path("later")
        agent = self.look('{ name = "hot", binary = "%s", enter = "hot", leave = "return" }' % later).running()
        agent.wait_line("waiting for it")
        self.until(agent, lambda sums: sums.get(("hot", "attached")) == 0, "window")
        shutil.copy(self.binary, later + ".new")  # at once, as it is looked at meanwhile
        os.rename(later + ".new", later)
        agent.wait_line(": attached")
        self.start("hot", "50", binary=later).wait()
        self.until(agent, lambda sums: sums["hot", "calls"] >= 50, "calls")
        # As a package does it: the new one under another name first.
        shutil.copy(self.binary, later + ".new")
        inode = os.stat(later).st_ino
        os.rename(later + ".new", later)
        self.assertNotEqual(os.stat(later).st_ino, inode)
        agent.wait_line("also attached to the file that replaced its binary")
        self.start("hot", "60", binary=later).wait()
        sums = self.until(agent, lambda sums: sums["hot", "calls"] >= 110, "calls of the new one")
        self.assertEqual(sums["hot", "calls"], 110)
        # One that has the function no more.
        shutil.copy("/bin/true", later + ".new")
        os.rename(later + ".new", later)
        agent.wait_line('no function "hot" in ' + later)
        self.until(agent, lambda sums: sums["hot", "attached"] == 0, "region that is not seen")
        self.assertEqual(agent.stop(), 0)

    def test_they_can_be_tried(self):
        region = '{ { name = "hot", binary = "%s", enter = "hot", leave = "return" } }' % self.binary
        tried = subprocess.run([BINARY, "try", "uprobe", "regions=" + region, "--every", "100ms", "--windows", "1", "--format", "json"],
                               capture_output=True, text=True)
        self.assertEqual(tried.returncode, 0, tried.stderr)
        samples = [json.loads(line) for line in tried.stdout.splitlines()]
        self.assertIn(1, [sample["fields"].get("region.attached") for sample in samples], tried.stderr)

    def test_impossible_settings_are_reported(self):
        for region, text in (('binary = "%(binary)s", enter = "hot"', "%(binary)s has exceptions (C++, Rust): one that leaves hot would end the program"),
                             ('binary = "%(binary)s", enter = "hott"', 'no function "hott" in %(binary)s'),
                             ('binary = "%(binary)s", enter = "shapes::Shape::twice"', "2 functions \"shapes::Shape::twice\" in %(binary)s: "),
                             ('binary = "%(folder)s/stripped", enter = "hot"', "which has only exported names"),
                             ('binary = "%(folder)s/text", enter = "hot"', "%(folder)s/text is not a program or library"),
                             ('binary = "%(folder)s/go", enter = "hot"', "%(folder)s/go is a Go program"),
                             ('binary = "%(binary)s", enter = "hot", leave = "hot"', "enter and leave are the same place")):
            with self.subTest(region):
                agent = self.look(f'{{ name = "x", {region % self.places()} }}')
                agent.wait_line(text % self.places())
                agent.stop()

    def places(self):
        subprocess.run(["strip", "-o", self.path("stripped"), self.binary], check=True)
        with open(self.path("text"), "w") as file:
            file.write("no program\n")
        # The mark of Go's programs: a section that its linker makes.
        subprocess.run(["objcopy", "--add-section", ".note.go.buildid=" + self.path("text"), self.binary, self.path("go")], check=True)
        return {"binary": self.binary, "folder": self.folder}


if __name__ == "__main__":
    main()
