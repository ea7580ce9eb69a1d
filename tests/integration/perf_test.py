# SPDX-License-Identifier: Apache-2.0
"""Where real programs spend their time: C++ without frame pointers, a JVM, processes that have ended, a separate container."""

import json
import os
import shutil
import subprocess
import sys
import unittest

from harness import AgentCase, forget_jvm, main, so_far

# Of programs and of agents: the tests wait for samples, and there are none without a CPU, however busy the host is.
URGENT = -10
# A round takes microseconds: one of milliseconds beats with the samples, which then meet the same functions again and again.
CPP = r"""
#include <cstdint>
volatile uint64_t x;
static void work(int n) { for (int i = 0; i < n; ++i) x = x * 3 + 1; }
extern "C" __attribute__((noinline)) void sixty() { work(6000); x = x + 1; }
namespace shop { struct Cart { __attribute__((noinline)) void thirty(int) { work(3000); x = x + 1; } }; }
__attribute__((noinline)) static void ten() { work(1000); x = x + 1; }
int main() { shop::Cart cart; for (;;) { sixty(); cart.thirty(1); ten(); } }
"""
JAVA = """
public class W {
  static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
  public static void main(String[] a) { long x = 0; while (true) x += fib(30); }
}
"""
SHARES = """
public class S {
  static volatile long x;
  static void work(int n) { for (int i = 0; i < n; ++i) x = x * 3 + 1; }
  static void sixty() { work(600000); x = x + 1; }
  static void thirty() { work(300000); x = x + 1; }
  static void ten() { work(100000); x = x + 1; }
  public static void main(String[] a) { while (true) { sixty(); thirty(); ten(); } }
}
"""


def stacks(path):
    """The STACK samples of a file of samples."""
    return [sample for sample in so_far(path) if sample["kind"] == "stack"]


def accounts(path):
    return [sample["fields"] for sample in so_far(path) if sample["kind"] == "metrics"]


@unittest.skipUnless(os.geteuid() == 0, "sampling other processes takes root")
class Perf(AgentCase):
    def setUp(self):
        super().setUp()
        self.children = []
        self.output = self.path("samples")

    def tearDown(self):
        for child in self.children:
            child.kill()
            child.wait()
            forget_jvm(child.pid)
        super().tearDown()

    def start(self, *command, stdout=subprocess.DEVNULL, **options):
        child = subprocess.Popen(command, stdout=stdout, stderr=subprocess.DEVNULL, **options)
        forget_jvm(child.pid)  # which was killed, and had the same number
        self.children.append(child)
        os.setpriority(os.PRIO_PROCESS, child.pid, URGENT)
        return child

    def program(self, *flags):
        compiler = shutil.which("g++") or shutil.which("clang++")
        if not compiler:
            self.skipTest("no compiler")
        with open(self.path("w.cpp"), "w") as file:
            file.write(CPP)
        subprocess.run([compiler, "-O2", *flags, "-o", self.path("shares"), self.path("w.cpp")], check=True)
        return self.path("shares")

    def java(self, *options, name="W", text=JAVA):
        if not (shutil.which("javac") and shutil.which("java")):
            self.skipTest("no JDK")
        with open(self.path(name + ".java"), "w") as file:
            file.write(text)
        subprocess.run(["javac", "-d", self.folder, self.path(name + ".java")], check=True)
        return [shutil.which("java"), *options, "-cp", self.folder, name]

    def sample(self, options, every="1s"):
        return self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "profile" {{ every = "{every}", a.source.perf {{ {options} }},
              a.sink.file {{ path = "{self.output}", format = "samples" }} }}""", preexec=lambda: os.nice(URGENT)).running()

    def until(self, agent, condition, description):
        """Waits for windows until the condition on all stacks holds."""
        def holds(_):
            return condition(stacks(self.output))
        try:
            agent.wait_status(holds)
        except AssertionError:
            raise AssertionError(f"no {description} in {json.dumps(stacks(self.output)[-20:], indent=1)}\n{agent.errors()}") from None

    @staticmethod
    def count(samples, pid, part=""):
        return sum(sample["fields"]["profile.samples"] for sample in samples
                   if sample["tags"]["pid"] == str(pid) and part in sample["text"])

    def check_shares(self, options, *flags):
        child = self.start(self.program(*flags))
        agent = self.sample(f'frequency = 499, processes = {{ "shares" }}, {options}')
        self.until(agent, lambda all: self.count(all, child.pid) >= 2000, "2000 samples of the program")
        agent.stop()
        all = stacks(self.output)
        parts = self.check_parts(all, child.pid, 5, sixty=";sixty", thirty=";shop::Cart::thirty", ten=";ten")
        self.assertGreater(parts, 0.95 * self.count(all, child.pid))
        self.assertEqual({sample["tags"]["process"] for sample in all}, {"shares"})
        for sample in all:
            self.assertFalse(sample["text"].startswith("shares"), sample)  # whose it is say the tags
            self.assertEqual(sample["tags"]["profile"], "cpu")
        return all, child

    def check_parts(self, all, pid, delta, **functions):
        counts = {name: self.count(all, pid, text) for name, text in functions.items()}
        measured = {name: 100 * count / sum(counts.values()) for name, count in counts.items()}
        print(", ".join(f"{name} {share:.2f} %" for name, share in measured.items()), file=sys.stderr)
        for name, share in (("sixty", 60), ("thirty", 30), ("ten", 10)):
            self.assertAlmostEqual(measured[name], share, delta=delta, msg=name)
        return sum(counts.values())

    @unittest.skipUnless("ATALAYA_FULL" in os.environ, "takes minutes: ./dev test --full")
    def test_shares_after_a_minute_at_the_default_rate(self):
        program = self.start(self.program("-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"))
        options = ("-XX:+PreserveFramePointer", "-XX:-UseOnStackReplacement", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,S::*")
        jvm = self.start(*self.java(*options, name="S", text=SHARES))
        agent = self.sample('processes = { "shares", "java" }', every="10s")
        for windows in range(1, 8):
            agent.wait_status(lambda _: os.path.exists(self.output) and len(accounts(self.output)) >= windows)
        agent.stop()
        all = stacks(self.output)
        parts = self.check_parts(all, program.pid, 2, sixty=";sixty", thirty=";shop::Cart::thirty", ten=";ten")
        self.assertGreater(parts, 0.95 * self.count(all, program.pid))
        # The first window has data from before the JVM was queried.
        parts = self.check_parts(all, jvm.pid, 2, sixty="void S.sixty()", thirty="void S.thirty()", ten="void S.ten()")
        self.assertGreater(parts, 0.75 * self.count(all, jvm.pid))

    def test_stacks_are_whole_by_default_with_and_without_frame_pointers(self):
        for flags in ((), ("-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer")):
            with self.subTest(flags=flags):
                self.output = self.path("whole" + "".join(flags))
                all, child = self.check_shares("", *flags)
                self.assertGreaterEqual(self.count(all, child.pid, ";main;"), 0.95 * self.count(all, child.pid))

    def test_shares_by_frame_pointers(self):
        self.check_shares('unwind = "fp"', "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer")

    def test_shares_by_tables_and_every_stack_whole(self):
        all, child = self.check_shares('unwind = "dwarf"')
        whole = self.count(all, child.pid, ";main;")
        self.assertGreaterEqual(whole, 0.95 * self.count(all, child.pid))

    def test_shares_without_bpf(self):
        all, _ = self.check_shares('backend = "ring"', "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer")
        for account in accounts(self.output):
            self.assertNotIn("perf.cpu.kernel", account)

    def test_files_of_the_reference_begin_with_the_process(self):
        child = self.start(self.program())
        agent = self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "profile" {{ every = "1s", a.source.perf {{ frequency = 499, processes = {{ "shares" }} }},
              a.sink.file {{ path = "{self.output}", format = "jsonlines" }} }}""").running()
        name = f"shares-{child.pid}"
        agent.wait_status(lambda _: os.path.exists(self.output) and name in self.said(self.output))
        agent.stop()
        with open(self.output) as file:
            texts = [line["stack"] for line in map(json.loads, file) if "stack" in line]
        self.assertTrue([text for text in texts if text.startswith(name + ";")], texts)
        self.assertEqual([text for text in texts if name in text.split(";")[1:]], [])

    def check_sums(self):
        """In each window for itself; and no two samples are of the same entity."""
        expected, given, seen = {}, {}, set()
        with open(self.output) as file:
            for sample in map(json.loads, file):
                fields, time = sample["fields"], sample["time"]
                if sample["kind"] == "metrics":
                    expected[time] = fields["perf.samples"] - fields["perf.lost"] - fields["perf.filtered"]
                    continue
                given[time] = given.get(time, 0) + fields["profile.samples"]
                identity = (time, sample["text"], *sorted(sample["tags"].items()))
                self.assertNotIn(identity, seen)
                seen.add(identity)
        self.assertGreater(len(expected), 1)
        self.assertEqual({time: count for time, count in expected.items() if count > 0}, given)

    def test_samples_add_up(self):
        for options in ("", 'unwind = "dwarf"', 'backend = "ring"', 'profile = "both"'):
            with self.subTest(options=options):
                self.output = self.path("samples-" + options.replace('"', ""))
                child = self.start(self.program())
                agent = self.sample(f"frequency = 499, {options}")
                self.until(agent, lambda all: self.count(all, child.pid) >= 500 and len(accounts(self.output)) > 2, "sample")
                agent.stop()
                self.check_sums()
                child.kill()

    def test_exec_makes_no_second_sample_of_the_same_entity(self):
        """A program that becomes itself again and again has the same name and number, and the same stacks."""
        again = "import os, sys, time\nend = time.monotonic() + 0.2\nwhile time.monotonic() < end: pass\nos.execv(sys.argv[1], sys.argv[1:])"
        script = self.path("again.py")
        with open(script, "w") as file:
            file.write("import sys\nsys.argv.insert(1, sys.executable)\nsys.argv.insert(2, __file__)\ndel sys.argv[3:]\n" + again)
        child = self.start(sys.executable, script)
        agent = self.sample("frequency = 499", every="2s")
        self.until(agent, lambda all: self.count(all, child.pid) >= 500 and len(accounts(self.output)) > 2, "sample")
        agent.stop()
        self.assertIsNone(child.poll())
        self.check_sums()

    def test_java_names(self):
        child, said = self.start_java("-XX:+PreserveFramePointer")
        agent = self.sample('tags = { "runtime" }, processes = { "java" }, jvm_refresh = "1s"')
        self.until(agent, lambda all: self.count(all, child.pid, "long W.fib(int)_[j];long W.fib(int)_[j]") > 0, "Java function")
        self.assertEqual({sample["tags"].get("runtime") for sample in stacks(self.output)
                          if sample["tags"]["pid"] == str(child.pid) and "W.fib" in sample["text"]}, {"jvm"})
        self.assertIsNone(child.poll())
        self.assertEqual(self.said(said), "")

    def test_java_names_of_another_user(self):
        os.chmod(self.folder, 0o755)
        child, said = self.start_java("-XX:+PreserveFramePointer", user=65534, group=65534, extra_groups=[])
        agent = self.sample('processes = { "java" }, jvm_refresh = "1s"')
        self.until(agent, lambda all: self.count(all, child.pid, "long W.fib(int)_[j]") > 0, "Java function")
        self.assertEqual(self.said(said), "")
        self.assertFalse(os.path.exists(f"/tmp/.attach_pid{child.pid}"))

    def start_java(self, *options, **more):
        """With its output, which has to be empty: a JVM that is signalled and does not know why prints its threads."""
        said = self.path("said")
        with open(said, "w") as file:
            child = self.start(*self.java(*options), stdout=file, **more)
        return child, said

    @staticmethod
    def said(path):
        with open(path) as file:
            return file.read()

    def test_java_in_a_container(self):
        """In separate namespaces of processes and files, with another number and another /tmp."""
        java = self.java("-XX:+PreserveFramePointer")
        shared = self.path("tmp")
        os.mkdir(shared)
        script = 'mount --bind "$0" /tmp && exec "$@"'
        outer = ["unshare", "--pid", "--fork", "--kill-child", "--mount", "sh", "-c", script, shared]
        if subprocess.run([*outer, "true"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no namespaces here")
        # Its program is in a /tmp that it does not see.
        classes = os.path.join(shared, "W.class")
        shutil.copy(self.path("W.class"), classes)
        java[java.index(self.folder)] = "/tmp"
        self.start(*outer, *java)
        agent = self.sample('processes = { "java" }, jvm_refresh = "1s"')
        self.until(agent, lambda all: any("long W.fib(int)_[j]" in sample["text"] for sample in all), "Java function")
        self.assertIn("perf-1.map", os.listdir(shared))

    def check_refusal(self, line, *options):
        child, said = self.start_java("-XX:+PreserveFramePointer", *options)
        agent = self.sample('processes = { "java" }, jvm_refresh = "1s"')
        agent.wait_line(line)
        self.until(agent, lambda all: self.count(all, child.pid) > 0 and
                   sum(account["perf.jvm.failures"] for account in accounts(self.output)) > 1, "second refusal")
        self.assertIsNone(child.poll())
        self.assertFalse(os.path.exists(f"/tmp/.attach_pid{child.pid}"))
        self.assertEqual(self.said(said), "")

    def test_a_jvm_that_takes_no_commands_is_left_alone(self):
        self.check_refusal("accepts no commands (-XX:+DisableAttachMechanism)", "-XX:+DisableAttachMechanism")

    def test_a_jvm_that_does_not_say_whether_it_takes_commands_is_left_alone(self):
        self.check_refusal("does not report whether it accepts commands (-XX:-UsePerfData?)", "-XX:-UsePerfData")

    def test_an_unselected_jvm_is_not_called(self):
        child, said = self.start_java("-XX:+PreserveFramePointer")
        agent = self.sample('cgroups = { "/none" }, jvm_refresh = "1s"')
        self.until(agent, lambda _: sum(account["perf.filtered"] for account in accounts(self.output)) > 500, "filtered sample")
        self.assertFalse(os.path.exists(f"/tmp/.java_pid{child.pid}"))
        self.assertEqual(stacks(self.output), [])

    def test_a_process_that_has_ended_keeps_its_names(self):
        program = self.program("-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer")
        agent = self.sample('frequency = 499, processes = { "shares" }', every="3s")
        self.until(agent, lambda _: len(accounts(self.output)) > 0, "first window")
        child = self.start("prlimit", "--cpu=1:1", program)  # a second of CPU time, however long that takes
        child.wait()
        self.until(agent, lambda all: any(";sixty" in sample["text"] for sample in all), "function of a process that has ended")

    def test_waiting(self):
        child = self.start(sys.executable, "-c", "import time\nwhile True: time.sleep(0.05)")
        agent = self.sample('profile = "offcpu"')
        def waited(all):
            return [sample for sample in all if sample["tags"]["pid"] == str(child.pid) and "nanosleep" in sample["text"]]
        self.until(agent, waited, "wait of the sleeper")
        for sample in waited(stacks(self.output)):
            self.assertEqual(sample["tags"]["profile"], "offcpu")
            each = sample["fields"]["profile.ns"] / sample["fields"]["profile.samples"]
            self.assertGreaterEqual(each, 0.049e9)

    def test_the_end_of_a_thread_is_no_wait(self):
        """Its number goes to a new thread, which takes over nothing."""
        agent = self.sample('profile = "offcpu", min_wait = "0s"')
        agent.wait_status(lambda _: os.path.exists(self.output) and len(accounts(self.output)) > 0)
        old = self.start("true").pid
        self.children[-1].wait()
        child = self.with_number(old)
        self.until(agent, lambda all: self.count(all, child.pid, "nanosleep") > 5, "wait of the new process")
        for sample in stacks(self.output):
            self.assertNotIn("do_task_dead", sample["text"])
            self.assertNotIn("bpf_trace_run", sample["text"])

    def with_number(self, number):
        """A process with this number: the kernel lets root choose the next one."""
        sleeper = "import time\nwhile True: time.sleep(0.05)"
        for _ in range(50):
            try:
                with open("/proc/sys/kernel/ns_last_pid", "w") as file:
                    file.write(str(number - 1))
            except OSError as error:
                self.skipTest(f"numbers cannot be chosen: {error}")
            child = self.start(sys.executable, "-c", sleeper)
            if child.pid == number:
                return child
            child.kill()
            child.wait()
        self.skipTest("others were always faster")

    def test_yielding_is_no_wait(self):
        yielder = "import os\nos.sched_setaffinity(0, {0})\nwhile True: os.sched_yield()"
        yielders = [self.start(sys.executable, "-c", yielder) for _ in range(2)]
        sleeper = self.start(sys.executable, "-c", "import time\nwhile True: time.sleep(0.05)")
        agent = self.sample('profile = "offcpu", min_wait = "0s"')
        self.until(agent, lambda all: self.count(all, sleeper.pid, "nanosleep") > 20, "wait of the sleeper")
        pids = {str(child.pid) for child in yielders}  # others of this host may be stopped while they yield
        self.assertEqual([sample for sample in stacks(self.output)
                          if sample["tags"].get("pid") in pids and "sched_yield" in sample["text"]], [])
        self.assertTrue(all(child.poll() is None for child in yielders))


main()
