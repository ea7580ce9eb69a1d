# SPDX-License-Identifier: Apache-2.0
"""Stacks of tasks against the CPU times of their event log, with the JVM of integration.tasks, whose threads have Spark's names.

tasks_bench.py ATALAYA [RUNS]: RUNS runs (default 10) with planted slow tasks, and as many healthy ones: the share of task time whose
CPU time by samples is within 5 % of the log's, how often the planted function is first in the comparison of slow tasks with median
ones, and how often a healthy stage has no difference.
"""

import os
import sys

os.environ["ATALAYA"] = os.path.abspath(sys.argv[1])
os.environ.setdefault("ATALAYA_LUA", os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lua")))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from tasks_test import SLOW, Tasks  # noqa: E402

FREQUENCY, NEAR, GOAL = 999, 0.05, 95  # Hz, part, per cent of the task time


class Run(Tasks):
    def runTest(self):
        """Not a test: a case needs a method."""

    def measure(self, slow):
        """Seconds of all tasks by the log, of those whose samples agree with it, of all by samples; and the comparison."""
        self.setUp()
        try:
            pool = self.pool(slow)
            agent = self.agent(f'frequency = {FREQUENCY}, processes = {{ "java" }}')
            self.windows(agent, 1)  # the first one has no samples: it begins in the middle
            tasks = self.run_pool(agent, pool)
            self.history(tasks)
            seconds = {number: self.sum(self.stacks(pool.pid, attempt=number)) / FREQUENCY for number in tasks}
            near = sum(task[3] for number, task in tasks.items() if abs(seconds[number] - task[3]) <= NEAR * task[3])
            words = ("--stage", "2", "--slow-against-median", "--tag", f"pid={pool.pid}", "--format", "folded")
            return sum(task[3] for task in tasks.values()), near, sum(seconds.values()), self.flamegraph(*words).stderr
        finally:
            self.tearDown()
            self.doCleanups()


def verdict(text):
    """The first function that slow tasks have more of; "": no difference."""
    if "no difference" in text:
        return ""
    return next((line for line in text.splitlines() if line.startswith("  +")), "(none)")


def main():
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    every = near = planted = healthy = 0
    for number in range(runs):
        for slow in (SLOW, -1):
            all_seconds, near_seconds, sampled, text = Run().measure(slow)
            every, near = every + all_seconds, near + near_seconds
            first = verdict(text)
            planted += slow >= 0 and "void TaskPool.planted()" in first
            healthy += slow < 0 and first == ""
            print(f"  {number} {'planted' if slow >= 0 else 'healthy'}: {100 * near_seconds / all_seconds:.1f} % of {all_seconds:.1f} s of "
                  f"CPU time within 5 %, samples are {100 * sampled / all_seconds:.1f} % of it; {first.strip() or 'no difference'}", flush=True)
    share = 100 * near / every
    print(f"CPU time of tasks: {share:.1f} % of the task time is within 5 % of the log; goal at least {GOAL} %: "
          f"{'pass' if share >= GOAL else 'FAIL'}")
    print(f"planted function first: {planted} of {runs}; healthy stage without difference: {healthy} of {runs}")


main()
