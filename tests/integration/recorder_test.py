# SPDX-License-Identifier: Apache-2.0
"""The flight recorder of a real agent: what it keeps is compared with all samples of the same sources, which another sink writes."""

import decimal
import json
import os
import stat
import subprocess
import sys
import time
import unittest

from harness import BINARY, PATIENCE, AgentCase, main, so_far
from kernel_test import Cgroup, obstacle

GROWS = """
import time
parts = []
while True:
    parts.append(bytearray(b"x" * (4 << 20)))
    time.sleep(0.1)
"""

# Has 40 MiB all the time, and works for a few milliseconds of each second.
RESTS = """
import time
part = bytearray(b"x" * (40 << 20))
while True:
    sum(range(100000))
    time.sleep(0.7)
"""
SECOND = 10**9


class Recorder(AgentCase):
    def setUp(self):
        super().setUp()
        self.store, self.recordings = self.path("atalaya.db"), self.path("recordings.db")

    def start(self, more="", function="", recorder="after = \"500ms\"", source="a.source.proc { cgroups = false }", every="100ms",
              store=""):
        agent = self.run_agent(f"""local a = require "atalaya"
            a.pipeline "all" {{ every = "{every}", {source}, a.sink.file {{ path = "{self.path("all")}", format = "samples" }} }}
            a.pipeline "fine" {{ a.from "all", {function} a.filter.recorder {{ {recorder} }},
              a.sink.file {{ path = "{self.path("kept")}", format = "samples" }},
              a.sink.sqlite {{ path = "{self.recordings}", retain = "0s", {store} }} }}
            {more}""")
        self.wait(lambda: len(self.times("all")) >= 15)
        return agent

    def wait(self, condition):
        until = time.monotonic() + PATIENCE
        while not (found := condition()):
            assert time.monotonic() < until, [recording for recording in self.spans("kept")]
            time.sleep(0.02)  # the file of another process
        return found

    def samples(self, file):
        return [sample for sample in so_far(self.path(file)) if sample["kind"] == "metrics"]

    def times(self, file):
        return {sample["time"] for sample in self.samples(file)}

    def spans(self, file, name="recording"):
        return [span for span in so_far(self.path(file)) if span["kind"] == "span" and span["text"] == name]

    def record(self, *arguments):
        return subprocess.run([BINARY, "record", "--folder", self.folder, *arguments], capture_output=True, text=True, timeout=PATIENCE)

    @staticmethod
    def bounds(recording):
        return recording["time"], recording["time"] + recording["duration"]

    def check(self, recording):
        """All samples of the range, each once, unchanged and nothing else in it; and the windows follow one another."""
        begin, end = self.bounds(recording)
        self.wait(lambda: max(self.times("all")) > end)  # the other sink
        inside = lambda samples: sorted(json.dumps(sample, sort_keys=True) for sample in samples if begin < sample["time"] <= end)
        self.assertEqual(inside(self.samples("kept")), inside(self.samples("all")))
        self.assertEqual(recording["fields"]["recorder.lost"], 0)
        windows = sorted({(sample["time"], sample["duration"]) for sample in self.samples("kept")
                          if begin < sample["time"] <= end and "sys.cpu.user" in sample["fields"]})
        for before, after in zip(windows, windows[1:]):
            self.assertEqual(after[0] - after[1], before[0], "a gap")
        return windows

    def test_nothing_is_kept_until_a_user_asks(self):
        agent = self.start()
        self.assertEqual(so_far(self.path("kept")), [])
        done = self.record("--last", "1s", "--cause", "slow page")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^main: recording of 1s\nIt ends [01] s after now\. Then, for Perfetto:\n"
                                      r"  atalaya trace --store RECORDINGS --recording -o recording.json\n$")
        recording, = self.wait(lambda: self.spans("kept"))
        self.assertEqual({key: recording["tags"][key] for key in ("recording", "cause")}, {"recording": "main", "cause": "slow page"})
        self.assertEqual(recording["duration"], 1_500_000_000)
        self.check(recording)
        self.assertTrue(all(self.bounds(recording)[0] < time_ns <= self.bounds(recording)[1] for time_ns in self.times("kept")))
        self.assert_balanced(agent.status())
        self.assertNotIn("has passed no sample", agent.errors())

    def test_a_store_of_recordings_and_one_file_for_perfetto(self):
        agent = self.start()
        self.record()
        recording, = self.wait(lambda: self.spans("kept"))
        self.assertEqual(agent.stop(), 0)
        begin, end = self.bounds(recording)
        done = subprocess.run([BINARY, "trace", "--store", self.recordings, "--recording"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        events = json.loads(done.stdout)["traceEvents"]
        self.assertIn("recording", {event.get("name") for event in events})
        values = [event for event in events if event.get("ph") == "C" and event["name"] == "proc.mem.resident"]
        self.assertGreater(len({event["ts"] for event in values}), 10)
        self.assertTrue(all(begin <= 1000 * event["ts"] <= end for event in values))
        self.assertIn("sys.mem.available", {event["name"] for event in events if event.get("ph") == "C"})

    def test_the_agent_writes_one_file_per_recording(self):
        traces = self.path("traces")
        agent = self.start(store=f'traces = {{ folder = "{traces}" }}')
        triggered_ns = time.time_ns()
        self.record("--cause", "slow page")
        recording, = self.wait(lambda: self.spans("kept"))
        begin, end = self.bounds(recording)
        name, = self.wait(lambda: os.path.isdir(traces) and [name for name in os.listdir(traces) if name.endswith(".json")])
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(traces, name)).st_mode), 0o640)
        with open(os.path.join(traces, name)) as file:
            events = json.load(file, parse_float=decimal.Decimal)["traceEvents"]  # microseconds since 1970 have more digits than a double
        spans = [event for event in events if event.get("ph") == "X" and event["name"] == "recording"]
        self.assertEqual([(1000 * span["ts"], 1000 * span["dur"]) for span in spans], [(begin, end - begin)])
        self.assertEqual(spans[0]["args"]["cause"], "slow page")
        # Each window of the recording, drawn from its start on. An instant has no start: it is drawn as a window of the usual length.
        shown = {1000 * event["ts"] for event in events if event.get("ph") == "C" and event["name"] == "sys.mem.available"}
        kept = {(sample["time"], sample["duration"]) for sample in self.samples("kept")
                if "sys.mem.available" in sample["fields"] and begin < sample["time"] <= end}
        windows = {time - duration for time, duration in kept if duration}
        self.assertGreater(len(windows), 0)
        self.assertLessEqual(windows, shown)
        self.assertEqual(len(shown), len(kept))
        self.assertGreaterEqual(len([start for start in shown if start < triggered_ns]), 10)
        self.assertGreaterEqual(len([start for start in shown if start > triggered_ns]), 3)
        self.assertIn("proc.mem.resident", {event["name"] for event in events if event.get("ph") == "C"})
        agent.wait_line(f"recording: {traces}/{name}")
        self.assertEqual(agent.stop(), 0)
        self.assertEqual(os.listdir(traces), [name])

    def test_a_folder_that_cannot_be_made_costs_no_sample(self):
        with open(self.path("traces"), "w") as file:
            file.write("a file")
        agent = self.start(store=f'traces = {{ folder = "{self.path("traces")}" }}')
        agent.wait_line("recordings have no files, until this folder can be made")
        self.record()
        self.wait(lambda: self.spans("kept"))
        agent.wait_line("; 1 without a file since the start. The recording is in the store: atalaya trace --recording writes it")
        self.check(self.spans("kept")[0])
        self.assert_balanced(agent.status())

    def test_the_store_answers_the_same_with_and_without_a_recording(self):
        self.start(more=f'a.pipeline "usual" {{ every = "1s", a.source.proc {{ cgroups = false }}, a.sink.sqlite {{ path = "{self.store}" }} }}')

        def ask(*arguments):
            done = subprocess.run([BINARY, *arguments, "--store", self.store, "--from", str(begin), "--to", str(end), "--format", "json"],
                                  capture_output=True, text=True, timeout=PATIENCE)
            return done.stdout if done.returncode == 0 else done.stderr

        def stored():
            done = subprocess.run([BINARY, "query", "--store", self.store, "--metric", "sys.cpu.user", "--from", "-1h", "--format", "json"],
                                  capture_output=True, text=True, timeout=PATIENCE)
            return json.loads(done.stdout) if done.returncode == 0 else []

        questions = (("query", "--metric", "*", "--aggregate", "sum"), ("query", "--metric", "proc.cpu.user", "--aggregate", "count"),
                     ("query", "--metric", "sys.*", "--every", "2s"), ("report", "--by", "process"))
        self.wait(lambda: stored() and len(next(iter(stored()))["dps"] if "dps" in stored()[0] else stored()[0]["points"]) >= 3)
        begin, end = int(time.time()) - 60, int(time.time()) - 1
        before = [ask(*question) for question in questions]
        self.assertTrue(all(before))
        self.record()
        self.wait(lambda: self.spans("kept"))
        self.assertGreater(len(self.times("kept")), 10)
        self.assertEqual([ask(*question) for question in questions], before)

    def test_an_idle_process_keeps_its_averages(self):
        """As recorder.lua has it: the recording has fewer samples of an idle process, and the averages are those of all its samples."""
        child = subprocess.Popen([sys.executable, "-c", RESTS])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        agent = self.start(function='a.filter.value { rest = "1s", ["proc.cpu.user"] = 0.1, ["proc.cpu.kernel"] = 0.1 },')
        self.wait(lambda: len(self.times("all")) >= 60)
        self.record()
        recording, = self.wait(lambda: self.spans("kept"))
        self.assertEqual(agent.stop(), 0)
        all_of_it, kept = ([sample for sample in self.samples(file) if sample["tags"].get("pid") == str(child.pid)
                            and sample["duration"] > 0] for file in ("all", "kept"))
        # Whole seconds: an idle process has its sample at their ends.
        first = -(-min(sample["time"] for sample in all_of_it) // SECOND) + 1
        last = (recording["time"] + recording["duration"]) // SECOND
        self.assertGreater(last - first, 2)
        self.assertLess(len(kept), len(all_of_it) / 2)
        for field in ("proc.mem.resident", "proc.cpu.user", "proc.threads"):
            expected = self.integral(all_of_it, field, first, last)
            self.assertAlmostEqual(self.integral(kept, field, first, last), expected, delta=0.01 * (last - first) + 1e-9, msg=field)
            shown = self.shown(field, child.pid, first, last)
            self.assertAlmostEqual(shown, expected / (last - first), delta=0.02, msg=field)

    @staticmethod
    def integral(samples, field, first, last):
        total = 0
        for sample in samples:
            begin = max(sample["time"] - sample["duration"], first * SECOND)
            total += sample["fields"].get(field, 0) * max(min(sample["time"], last * SECOND) - begin, 0) / SECOND
        return total

    def shown(self, field, pid, first, last):
        """The average that a user sees."""
        done = subprocess.run([BINARY, "query", "--store", self.recordings, "--metric", field, "--tag", f"pid={pid}", "--from", str(first),
                               "--to", str(last), "--every", "0all", "--format", "json"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        series, = json.loads(done.stdout)
        (_, value), = series["dps"]
        return value

    def test_alerts_of_another_pipeline_and_lua_start_recordings(self):
        rule = '{ name = "busy", metric = "sys.mem.total", above = 0, summary = "always" }'
        more = f"""a.pipeline "watched" {{ every = "200ms", a.source.proc {{ processes = false }},
                     a.translate.alerts {{ ["repeat"] = "1s", rules = {{ {rule} }} }}, a.filter.match {{ kind = "span" }},
                     a.sink.recorder {{ last = "500ms" }} }}"""
        self.start(more=more)
        recording, *_ = self.wait(lambda: self.spans("kept"))
        self.assertEqual(recording["tags"]["cause"], "alert=busy")
        self.check(recording)
        # The alert goes on and is repeated: that is no further trigger.
        until = max(self.times("all")) + 3 * 10**9
        self.wait(lambda: max(self.times("all")) > until)
        self.assertEqual(len(self.spans("kept")), 1)

    def test_a_tag_of_a_function_starts_a_recording(self):
        self.start(function=f'function(s) if s.tags.process == "wanted" then s.tags.record = "seen" end; return s end,')
        child = subprocess.Popen([sys.executable, "-c", "import ctypes, time; ctypes.CDLL(None).prctl(15, b'wanted'); time.sleep(2)"])
        child.wait(PATIENCE)  # as a zombie it would still be seen
        recording, *_ = self.wait(lambda: self.spans("kept"))
        self.assertEqual(recording["tags"]["cause"], "record=seen")

    def test_a_hundred_triggers_pass_each_sample_once(self):
        self.start(recorder='keep = "5s", after = "1s", size = "4 MiB"')
        for _ in range(100):
            self.assertEqual(self.record().returncode, 0)
        self.wait(lambda: self.spans("kept"))
        triggers = lambda: sum(recording["fields"]["recorder.triggers"] for recording in self.spans("kept"))
        self.wait(lambda: triggers() == 100)
        kept = [json.dumps(sample, sort_keys=True) for sample in self.samples("kept")]
        self.assertEqual(len(kept), len(set(kept)))
        known = {json.dumps(sample, sort_keys=True) for sample in self.samples("all")}
        self.assertLessEqual(set(kept), known)
        for recording in self.spans("kept"):
            self.check(recording)

    def test_without_a_recorder(self):
        done = self.record()
        self.assertEqual((done.returncode, done.stderr), (1, f"atalaya record: no recorder answers in {self.folder}; "
                                                             "run pipelines/recorder.lua, or name its folder with --folder\n"))

    @unittest.skipIf(obstacle(), obstacle())
    def test_the_seconds_before_an_oom_kill_have_the_growth_of_the_victim(self):
        try:
            cgroup = Cgroup(f"atalaya-recorder-{os.getpid()}-{time.monotonic_ns()}")
        except OSError as error:
            self.skipTest(f"no cgroup: {error}")
        self.addCleanup(cgroup.remove)
        cgroup.limit(memory=80 << 20)
        self.start(more="""a.pipeline "events" { every = "200ms", a.source.kernel { throttled = false }, a.filter.match { kind = "span" },
                             a.sink.recorder {} }""")
        child = cgroup.run(sys.executable, "-c", GROWS)
        child.wait(PATIENCE)
        # Another test of this host may have a kill of its own.
        recording = self.wait(lambda: [one for one in self.spans("kept") if one["tags"]["cause"] == "event=oom kill"
                                       and self.growth(child.pid, one)])[0]
        self.check(recording)
        growth = self.growth(child.pid, recording)
        self.assertGreater(len(growth), 5)
        self.assertGreater(growth[-1] - growth[0], 20)
        self.assertEqual(growth, sorted(growth))

    def growth(self, pid, recording):
        begin, end = self.bounds(recording)
        found = [(sample["time"], sample["fields"]["proc.mem.resident"]) for sample in self.samples("kept")
                 if sample["tags"].get("pid") == str(pid) and "proc.mem.resident" in sample["fields"] and begin < sample["time"] <= end]
        values = [value for _, value in sorted(found)]
        if not values:
            return []
        # Before, it is a copy of this process, and then an interpreter that starts.
        return [value for value in values[values.index(min(values)):] if value > 30]


if __name__ == "__main__":
    main()
