# SPDX-License-Identifier: Apache-2.0
"""Stacks of the tasks of a JVM whose threads have the names of Spark's, and of a program's own threads."""

import json
import os
import shutil
import subprocess
import time
import unittest

from harness import BINARY, PATIENCE, AgentCase, forget_jvm, main, so_far

HERE = os.path.dirname(os.path.abspath(__file__))
TASKS, SLOW = 16, 3
FREQUENCY = 499
URGENT = -10
# A thread that waits in known ways under its task's name; it prints its wall and CPU time.
WAITS = r"""
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <thread>

static double clock_of(clockid_t id) { timespec t; clock_gettime(id, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void burn(double seconds) { double end = clock_of(CLOCK_THREAD_CPUTIME_ID) + seconds; while (clock_of(CLOCK_THREAD_CPUTIME_ID) < end) {} }
static void nap(double seconds) { timespec t{0, (long)(seconds * 1e9)}; nanosleep(&t, nullptr); }
static void on_cpu_0() { cpu_set_t set; CPU_ZERO(&set); CPU_SET(0, &set); sched_setaffinity(0, sizeof set, &set); }
static std::mutex lock;
static volatile bool ends;

int main() {
  int ends_of_pipe[2];
  if (pipe(ends_of_pipe) != 0) return 1;
  getchar();
  std::thread rival([] { on_cpu_0(); while (!ends) {} });
  std::thread worker([&] {
    on_cpu_0();
    pthread_setname_np(pthread_self(), "query-7");
    double wall = clock_of(CLOCK_MONOTONIC), cpu = clock_of(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 20; ++i) {
      burn(0.02);
      nap(0.03);
      char byte;
      std::thread writer([&] { nap(0.03); (void)!write(ends_of_pipe[1], "x", 1); });
      (void)!read(ends_of_pipe[0], &byte, 1);
      writer.join();
      lock.lock();
      std::thread holder([&] { nap(0.03); lock.unlock(); });
      lock.lock();
      holder.join();
      lock.unlock();
    }
    wall = clock_of(CLOCK_MONOTONIC) - wall;
    cpu = clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
    pthread_setname_np(pthread_self(), "idle");
    printf("%d %.9f %.9f\n", getpid(), wall, cpu);
    fflush(stdout);
  });
  worker.join();
  ends = true;
  rival.join();
  getchar();
}
"""


@unittest.skipUnless(os.geteuid() == 0, "sampling other processes takes root")
class Tasks(AgentCase):
    def setUp(self):
        super().setUp()
        self.children = []
        self.samples, self.store = self.path("samples"), self.path("store.db")

    def tearDown(self):
        for child in self.children:
            child.kill()
            child.communicate()
            forget_jvm(child.pid)
        super().tearDown()

    def start(self, *command):
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.children.append(child)
        os.setpriority(os.PRIO_PROCESS, child.pid, URGENT)
        return child

    def pool(self, slow=SLOW):
        if not (shutil.which("javac") and shutil.which("java")):
            self.skipTest("no JDK")
        subprocess.run(["javac", "-d", self.folder, os.path.join(HERE, "TaskPool.java")], check=True)
        child = self.start(shutil.which("java"), "-XX:+PreserveFramePointer", "-XX:CompileCommand=quiet",
                           "-XX:CompileCommand=dontinline,TaskPool::*", "-XX:-UseOnStackReplacement", "-cp", self.folder, "TaskPool", "2", str(TASKS), str(slow))
        self.assertEqual(child.stdout.readline(), "ready\n")
        return child

    def agent(self, options):
        return self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "profile" {{ every = "1s", a.source.perf {{ tasks = true, jvm_refresh = "1s", {options} }},
              a.sink.file {{ path = "{self.samples}", format = "samples" }}, a.sink.sqlite {{ path = "{self.store}", retain = "0s" }} }}""",
            preexec=lambda: os.nice(URGENT)).running()

    def windows(self, agent, more):
        """Waits for this number of windows after now."""
        before = time.time()
        agent.wait_status(lambda _: sum(sample["kind"] == "metrics" and sample["time"] / 1e9 > before
                                        for sample in so_far(self.samples)) >= more)

    def run_pool(self, agent, pool):
        """The tasks: attempt -> (start, end, CPU seconds)."""
        self.windows(agent, 1)  # an agent that is running may still load its BPF programs
        pool.stdin.write("\n")
        pool.stdin.flush()
        tasks = {}
        for line in iter(pool.stdout.readline, "done\n"):
            index, number, begin, end, cpu = line.split()
            tasks[number] = (int(index), int(begin) / 1e3, int(end) / 1e3, int(cpu) / 1e9)
        self.windows(agent, 2)
        agent.stop()
        self.assertEqual(len(tasks), TASKS)
        return tasks

    def history(self, tasks):
        """The event log of these tasks, in the store. A busy host makes some of them longer: there, each takes its CPU time only."""
        begin = int(1e3 * min(task[1] for task in tasks.values()))
        end = int(1e3 * max(task[2] for task in tasks.values()))
        events = [{"Event": "SparkListenerApplicationStart", "App Name": "pool", "App ID": "app-1", "Timestamp": begin - 10}]
        for number, (index, first, _, cpu) in sorted(tasks.items()):
            info = {"Task ID": int(number), "Index": index, "Attempt": 0, "Launch Time": int(first * 1e3), "Executor ID": "1",
                    "Host": "n1", "Locality": "NO_PREF", "Finish Time": int((first + cpu) * 1e3), "Failed": False, "Killed": False}
            events.append({"Event": "SparkListenerTaskEnd", "Stage ID": 2, "Stage Attempt ID": 0, "Task Type": "ResultTask",
                           "Task End Reason": {"Reason": "Success"}, "Task Info": info})
        events.append({"Event": "SparkListenerApplicationEnd", "Timestamp": end + 10})
        os.makedirs(self.path("logs"), exist_ok=True)
        with open(self.path("logs/app-1"), "w") as file:
            file.writelines(json.dumps(event, separators=(",", ":")) + "\n" for event in events)
        self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "jobs" {{ a.source.hadoop {{ path = "{self.path("logs")}", follow = false }},
              a.sink.sqlite {{ path = "{self.store}", retain = "0s" }} }}""").join()

    def flamegraph(self, *words, status=0):
        done = subprocess.run([BINARY, "flamegraph", "--store", self.store, "--from", "-1h", *words], capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def stacks(self, pid=None, profile="cpu", **tags):
        return [sample for sample in so_far(self.samples) if sample["kind"] == "stack" and sample["tags"]["profile"] == profile
                and (pid is None or sample["tags"]["pid"] == str(pid)) and all(sample["tags"].get(k) == v for k, v in tags.items())]

    def dump_interval(self, pool, tasks):
        """The mean time between thread dumps while the tasks ran."""
        begin, end = min(task[1] for task in tasks.values()), max(task[2] for task in tasks.values())
        rates = [sample["fields"]["jvm.profile.rate"] for sample in so_far(self.samples)
                 if "jvm.profile.rate" in sample.get("fields", {}) and sample["tags"]["pid"] == str(pool.pid)
                 and begin < sample["time"] / 1e9 < end]
        return len(rates) / sum(rates) if sum(rates) > 0 else float("inf")

    @staticmethod
    def stolen():
        """Seconds that the host of this machine took from CPU 0."""
        with open("/proc/stat") as file:
            words = next(line for line in file if line.startswith("cpu0 ")).split()
        return int(words[8]) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def sum(samples, field="profile.samples"):
        return sum(sample["fields"][field] for sample in samples)

    def test_each_task_has_the_cpu_time_of_its_thread_and_the_slow_ones_differ_in_the_planted_function(self):
        pool = self.pool()
        agent = self.agent(f'frequency = {FREQUENCY}, processes = {{ "java" }}')
        before = self.stolen()
        tasks = self.run_pool(agent, pool)
        stolen = self.stolen() - before  # the kernel counts it as CPU time, but takes no samples
        near, found = 0, {}
        for number, (index, begin, _, cpu) in tasks.items():
            own = self.stacks(pool.pid, attempt=number)
            self.assertLessEqual({(s["tags"]["stage"], s["tags"]["task"]) for s in own}, {("2", f"2.{index}")})
            seconds = self.sum(own) / FREQUENCY
            self.assertLess(seconds, cpu * 1.15 + 0.05)  # chance of sampling: 4 deviations
            near += cpu if seconds > cpu * 0.85 - 0.05 - stolen else 0
            found[number] = (begin, cpu, seconds)
        self.assertGreaterEqual(near, 0.9 * sum(task[3] for task in tasks.values()), (found, stolen))
        all = self.sum(self.stacks(pool.pid))
        rest = self.sum([s for s in self.stacks(pool.pid) if "attempt" not in s["tags"]])
        self.assertEqual(sum(self.sum(self.stacks(pool.pid, attempt=number)) for number in tasks) + rest, all)
        self.history(tasks)
        slow = [number for number, task in tasks.items() if task[0] % 8 == SLOW]
        own = ("--tag", f"pid={pool.pid}", "--format", "folded")  # other JVMs of this host may have such tasks
        one = self.flamegraph("--task", slow[0], *own).stdout
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in one.splitlines()), self.sum(self.stacks(pool.pid, attempt=slow[0])))
        self.assertEqual(self.flamegraph("--task", f"2.{SLOW}", *own).stdout, one)
        compared = self.flamegraph("--stage", "2", "--slow-against-median", *own)
        self.assertIn(f"stage 2 has {len(slow)} slow tasks", compared.stderr)
        # The lambda that calls it has its samples, and may have one of its own.
        first = [line for line in compared.stderr.splitlines() if line.startswith("  +") and "$$Lambda" not in line][0]
        self.assertIn("void TaskPool.planted()", first)
        self.assertIn("planted", compared.stdout)
        self.assertIn("no stacks of task 999", self.flamegraph("--task", "999", status=1).stderr)
        self.assertIn("no job in this range has ended tasks of this stage",
                      self.flamegraph("--stage", "7", "--slow-against-median", status=2).stderr)

    def test_thread_dumps_have_the_task_of_their_thread(self):
        pool = self.pool()
        agent = self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "dumps" {{ every = "1s", a.source.jvm {{ tasks = true, processes = {{ "java" }}, budget = 50 }},
              a.sink.file {{ path = "{self.samples}", format = "samples" }}, a.sink.sqlite {{ path = "{self.store}", retain = "0s" }} }}""",
            preexec=lambda: os.nice(URGENT)).running()
        tasks = self.run_pool(agent, pool)
        known, planted, interval = 0, [], self.dump_interval(pool, tasks)
        for number, (index, _, _, cpu) in tasks.items():
            own = self.stacks(pool.pid, "wall", attempt=number)
            self.assertLessEqual({(s["tags"]["stage"], s["tags"]["task"]) for s in own}, {("2", f"2.{index}")})
            seconds = self.sum(own, "profile.ns") / 1e9
            self.assertLess(seconds, cpu + 0.05)  # the time in which it got its name is of no task
            known += seconds
            if any("TaskPool.planted" in s["text"] for s in own):
                planted.append(number)
                self.assertEqual(index % 8, SLOW)
            elif index % 8 == SLOW and interval < 0.2:
                self.assertLess(seconds, 1)  # no dump was later than its usual part
        if interval < 0.2:  # of the shortest task of 0.6 s, the time between its first and last dump is known
            self.assertGreater(known, 0.3 * sum(task[3] for task in tasks.values()))
        if not planted and interval >= 0.2:
            self.skipTest(f"no planted function seen: a dump takes so long here that there is one in {interval:.1f} s")
        slow = planted[0]
        folded = self.flamegraph("--profile", "wall", "--task", slow, "--tag", f"pid={pool.pid}", "--format", "folded").stdout
        self.assertIn("TaskPool.planted", folded)

    def test_a_healthy_stage_has_no_difference(self):
        pool = self.pool(slow=-1)
        agent = self.agent('processes = { "java" }')
        self.history(self.run_pool(agent, pool))
        done = self.flamegraph("--stage", "2", "--slow-against-median", "-o", self.path("none.svg"))
        self.assertIn("no difference: stage 2 has no slow task among its 16", done.stderr)
        self.assertFalse(os.path.exists(self.path("none.svg")))

    def test_waits_by_reason_and_cpu_time_add_up_to_the_wall_time_of_the_thread(self):
        compiler = shutil.which("g++") or shutil.which("clang++")
        if not compiler:
            self.skipTest("no compiler")
        with open(self.path("waits.cpp"), "w") as file:
            file.write(WAITS)
        subprocess.run([compiler, "-O1", "-pthread", "-o", self.path("waits"), self.path("waits.cpp")], check=True)
        agent = self.agent('profile = "offcpu", min_wait = "0s", run_queue = true, tags = { "reason" }, processes = { "waits" }, '
                           'task_names = { "~^query-(?P<task>[0-9]+)$" }')
        self.windows(agent, 1)
        child = self.start(self.path("waits"))
        before = self.stolen()
        child.stdin.write("\n")
        child.stdin.flush()
        pid, wall, cpu = child.stdout.readline().split()
        stolen = self.stolen() - before
        self.windows(agent, 2)
        agent.stop()
        self.assertEqual({sample["fields"]["perf.lost"] for sample in so_far(self.samples) if sample["kind"] == "metrics"}, {0})
        reasons = {}
        for sample in self.stacks(pid, "offcpu", task="7"):
            reason = sample["tags"]["reason"]
            reasons[reason] = reasons.get(reason, 0) + sample["fields"]["profile.ns"] / 1e9
        parts = float(cpu) + sum(reasons.values())
        # A thread that runs on a virtual CPU that does not run neither waits nor takes CPU time.
        self.assertLess(parts, 1.01 * float(wall), reasons)
        self.assertGreater(parts, 0.99 * float(wall) - stolen, reasons)
        for reason, seconds in (("sleep", 0.6), ("pipe", 0.6), ("futex", 0.6)):  # at least; a busy host makes them longer
            self.assertGreater(reasons.get(reason, 0), 0.9 * seconds, reasons)
        self.assertGreater(reasons.get("run queue", 0), 0.05, reasons)
        folded = self.flamegraph("--profile", "offcpu", "--task", "7", "--by", "reason", "--format", "folded").stdout
        self.assertEqual({line.split(";")[0] for line in folded.splitlines()}, set(reasons))
        self.assertIn("[waiting for a CPU]", {sample["text"].split(";")[-1] for sample in self.stacks(pid, "offcpu", reason="run queue")})


if __name__ == "__main__":
    main()
