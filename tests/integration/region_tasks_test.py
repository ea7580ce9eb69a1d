# SPDX-License-Identifier: Apache-2.0
"""Runs of a function as tasks: their spans, CPU time and waits, compared with the program's own log of them."""

import collections
import os
import subprocess
import time
import unittest

from harness import BINARY, PATIENCE, AgentCase, main, so_far
from probes import obstacle

PROGRAM = os.environ.get("ATALAYA_PLANTED_RUNS", "build/release/tests/integration/planted_runs")
RUNS, EVERY = 8, 4  # of each of two threads
FREQUENCY = 499
URGENT = -10
REGIONS = """task_regions = {
  { name = "query", binary = "%(binary)s", enter = "query", leave = "return" },
  { name = "brief", binary = "%(binary)s", enter = "brief", leave = "return" } }"""


@unittest.skipIf(obstacle(), obstacle())
class RegionTasks(AgentCase):
    def setUp(self):
        super().setUp()
        self.samples, self.store = self.path("samples"), self.path("store.db")
        self.child = None

    def tearDown(self):
        if self.child:
            self.child.kill()
            self.child.communicate()
        super().tearDown()

    def agent(self, options):
        options += ", " + REGIONS % {"binary": os.path.abspath(PROGRAM)}
        return self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "profile" {{ every = "1s",
              a.source.perf {{ tasks = true, unwind = "fp", processes = {{ "planted_runs" }}, {options} }},
              a.sink.file {{ path = "{self.samples}", format = "samples" }}, a.sink.sqlite {{ path = "{self.store}", retain = "0s" }} }}""",
            preexec=lambda: os.nice(URGENT)).running()

    def windows(self, agent, more):
        """Waits for this number of windows after now."""
        before = time.time()
        agent.wait_status(lambda _: sum(sample["kind"] == "metrics" and sample["time"] / 1e9 > before
                                        for sample in so_far(self.samples)) >= more)

    def work(self, agent, *words):
        """The program's log: (thread, begin, end, CPU seconds, whether it is slow), by thread and begin."""
        self.child = subprocess.Popen([PROGRAM, str(RUNS), str(EVERY), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        os.setpriority(os.PRIO_PROCESS, self.child.pid, URGENT)
        self.windows(agent, 1)
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        runs = []
        for line in iter(self.child.stdout.readline, "done\n"):
            thread, begin, end, cpu, slow = line.split()
            runs.append((int(thread), int(begin), int(end), int(cpu) / 1e9, slow == "1"))
        self.windows(agent, 2)
        agent.stop()
        self.assertEqual(len(runs), 2 * RUNS)
        return sorted(runs)

    def spans(self, stage="query"):
        """By thread and begin in us."""
        spans = [sample for sample in so_far(self.samples) if sample["kind"] == "span" and sample["tags"]["stage"] == stage]
        found = {}
        for span in spans:
            name, thread, begin = span["tags"]["attempt"].split(".")
            self.assertEqual((name, span["text"], span["tags"]["process"], span["tags"]["pid"]),
                             (stage, "task", "planted_runs", str(self.child.pid)))
            found[int(thread), int(begin)] = span
        self.assertEqual(len(found), len(spans))
        return found

    def attempts(self, runs):
        """Of the runs, in their order: each begins and ends within its call."""
        found = self.spans()
        self.assertEqual(len(found), len(runs))
        for (thread, begin, end, _, _), place in zip(runs, sorted(found)):
            self.assertEqual(place[0], thread)
            self.assertGreaterEqual(place[1], begin // 1000)
            self.assertLessEqual(place[1] * 1000 + found[place]["duration"], end)
        return [found[place]["tags"]["attempt"] for place in sorted(found)]

    def stacks(self, profile="cpu", **tags):
        return [sample for sample in so_far(self.samples) if sample["kind"] == "stack" and sample["tags"]["profile"] == profile
                and sample["tags"]["pid"] == str(self.child.pid) and all(sample["tags"].get(k) == v for k, v in tags.items())]

    @staticmethod
    def sum(samples, field="profile.samples"):
        return sum(sample["fields"][field] for sample in samples)

    def flamegraph(self, *words):
        return subprocess.run([BINARY, "flamegraph", "--store", self.store, "--from", "-1h", *words], capture_output=True, text=True,
                              timeout=PATIENCE, check=True)

    def test_each_run_has_the_samples_of_its_thread_and_the_slow_ones_differ_in_the_planted_function(self):
        before = self.stolen()
        runs = self.work(self.agent(f"frequency = {FREQUENCY}"))
        stolen = self.stolen() - before
        attempts = self.attempts(runs)
        near = 0
        for attempt, (_, _, _, cpu, _) in zip(attempts, runs):
            seconds = self.sum(self.stacks(attempt=attempt)) / FREQUENCY
            tolerance = 0.15 * cpu + 0.05 + stolen  # chance of sampling: 4 deviations
            self.assertLess(seconds, cpu + tolerance)
            near += cpu if abs(seconds - cpu) < tolerance else 0
        self.assertGreaterEqual(near, 0.9 * sum(run[3] for run in runs))
        # Code of the region is in it, and other code is not: a sample may be taken while the probe itself works.
        inside, outside = ("query", "usual", "planted", "brief"), ("between",)
        own = [stack for stack in self.stacks() if set(stack["text"].split(";")) & set(inside)]
        self.assertLessEqual(self.sum([stack for stack in own if "stage" not in stack["tags"]]), 0.01 * self.sum(own) + 1)
        self.assertEqual([stack for stack in self.stacks() if "stage" in stack["tags"] and set(stack["text"].split(";")) & set(outside)], [])
        for stage in ("query", "brief"):
            others = {"query": "brief", "brief": "query"}[stage]
            self.assertEqual([stack for stack in self.stacks(stage=stage) if others in stack["text"].split(";")], [])
        # Tasks add up to no more than the region; less by the first 10 ms of each run.
        tasks, region = sum(self.sum(self.stacks(attempt=attempt)) for attempt in attempts), self.sum(self.stacks(stage="query"))
        self.assertLessEqual(tasks, region)
        self.assertGreaterEqual(tasks, region - len(runs) * 10)
        self.check_flamegraph(attempts, runs)

    def check_flamegraph(self, attempts, runs):
        own = ("--tag", f"pid={self.child.pid}", "--format", "folded")
        one = self.flamegraph("--task", attempts[0], *own).stdout
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in one.splitlines()), self.sum(self.stacks(attempt=attempts[0])))
        slow, usual = ([end - begin for _, begin, end, _, is_slow in runs if is_slow == wanted] for wanted in (True, False))
        if min(slow) < 3 * max(usual):
            self.skipTest("not compared: the host is so busy that usual runs take a third of the time of slow ones")
        compared = self.flamegraph("--stage", "query", "--slow-against-median", *own)
        self.assertIn(f"stage query has {sum(run[4] for run in runs)} slow tasks", compared.stderr)
        first = [line for line in compared.stderr.splitlines() if line.startswith("  +")][0]
        self.assertIn("planted", first, compared.stderr)

    def test_runs_that_are_too_short_are_no_tasks(self):
        runs = self.work(self.agent(f'frequency = {FREQUENCY}, task_min = "300ms"'))
        found = self.spans()
        for thread, begin, end, cpu, _ in runs:
            own = [place for place in found if place[0] == thread and begin // 1000 <= place[1] <= end // 1000]
            self.assertLessEqual(len(own), 1)
            if end - begin < 300e6:
                self.assertEqual(own, [])
            elif cpu > 0.4:  # not its time: the thread may wait for a CPU between its clock and the probe
                self.assertEqual(len(own), 1)
        tagged = {stack["tags"].get("attempt") for stack in self.stacks() if "stage" in stack["tags"]}
        self.assertLessEqual(tagged, {None, *(span["tags"]["attempt"] for span in found.values())})
        self.assertGreater(self.sum(self.stacks(stage="brief")), 0)

    def test_runs_beyond_the_limit_are_counted_and_keep_their_stacks_and_job(self):
        runs = self.work(self.agent(f"frequency = {FREQUENCY}, task_spans = 1"), "--app-id", "app-1")  # as an executor of Spark
        found = self.spans()
        for sample in [*found.values(), *self.stacks(stage="query")]:
            self.assertEqual(sample["tags"]["job"], "app-1")
        ends = collections.Counter((begin * 1000 + span["duration"]) // 10**9 for (_, begin), span in found.items())
        self.assertLessEqual(max(ends.values()), 2)  # several CPUs may start a second at once
        lost = sum(sample["fields"]["perf.tasks.lost"] for sample in so_far(self.samples) if sample["kind"] == "metrics")
        self.assertGreaterEqual(len(found) + lost, len(runs))  # brief runs on a busy host are lost, too
        attempts = {stack["tags"]["attempt"] for stack in self.stacks(stage="query") if "attempt" in stack["tags"]}
        self.assertEqual(len(attempts), len(runs))

    def test_waits_and_cpu_time_of_a_run_are_its_length(self):
        before = self.stolen()
        runs = self.work(self.agent('profile = "offcpu", min_wait = "0s", run_queue = true'))
        stolen = self.stolen() - before
        lengths = {span["tags"]["attempt"]: span["duration"] / 1e9 for span in self.spans().values()}
        # A wait that begins in the first 10 ms is the region's, not the task's: it may last longer, on a busy host.
        early = self.sum([stack for stack in self.stacks("offcpu", stage="query") if "attempt" not in stack["tags"]], "profile.ns") / 1e9
        found, slept = [], 0
        for attempt, (_, begin, end, cpu, _) in zip(self.attempts(runs), runs):
            waits = self.sum(self.stacks("offcpu", attempt=attempt), "profile.ns") / 1e9
            found.append(cpu + waits)
            self.assertLess(cpu + waits, 1.01 * (end - begin) / 1e9)
            # Interruptions between the program's clocks and the probes are of no task.
            self.assertGreater(cpu + waits, 0.99 * lengths[attempt] - stolen - early - 0.01)
            slept += waits > 0.04
        self.assertGreaterEqual(slept + early // 0.04, len(runs))  # each run sleeps once
        self.assertGreater(sum(found) + early, 0.99 * sum(lengths.values()) - stolen - 0.01 * len(runs))

    @staticmethod
    def stolen():
        """Seconds that the host of this machine took."""
        with open("/proc/stat") as file:
            words = next(line for line in file if line.startswith("cpu ")).split()
        return int(words[8]) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
