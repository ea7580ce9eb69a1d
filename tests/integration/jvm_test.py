# SPDX-License-Identifier: Apache-2.0
"""Real JVMs: their shared counters, as jstat has them; the functions that take their time; and those that do not answer."""

import ctypes
import glob
import json
import mmap
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

from clickhouse_servers import ZooKeeper
from harness import AgentCase, amount, forget_jvm, main, so_far

# Of programs and of agents: the tests wait for CPU time, however busy the host is.
URGENT = -10 if os.geteuid() == 0 else 0
# Of the processes: other tests, and other runs of this one, have separate JVMs, which are not touched.
NAME = os.environ.setdefault("ATALAYA_JVM_TEST_NAME", f"jvm-{os.getpid()}")
COLLECTORS = {"Serial": "Serial", "Parallel": "Parallel", "G1": "G1", "Z": "ZGC"}
CHURN = """
public class Churn {
  static volatile Object last;
  public static void main(String[] a) throws Exception {
    byte[][] kept = new byte[64][];
    for (int i = 0;; i++) {
      last = kept[i % 64] = new byte[100000];
      if (i == 20000) System.out.println("churned");
      if (i > 20000) Thread.sleep(1);
    }
  }
}
"""
IDLE = """
public class Idle {
  public static void main(String[] a) throws Exception {
    System.out.println("ready");
    System.in.read();
  }
}
"""
PAUSES = """
public class Pauses {
  static volatile Object last;
  public static void main(String[] a) throws Exception {
    byte[][] kept = new byte[64][];
    System.out.println("ready");
    System.in.read();
    for (int i = 0; i < 6000; i++) {
      last = kept[i % 64] = new byte[100000];
      if (i % 500 == 0) System.gc();
      if (i % 20 == 0) Thread.sleep(10);
    }
    System.out.println("paused");
    System.in.read();
  }
}
"""
# As BTrace does for fields with @Export, whatever its version calls the class.
EXPORTS = """
public class Exports {
  public static void main(String[] a) throws Exception {
    var perf = jdk.internal.perf.Perf.getPerf();
    var counter = perf.createLong("btrace.org/shop/Trace.requests", 3, 1, 7).order(java.nio.ByteOrder.nativeOrder());
    perf.createLong("btrace.Trace.balance", 3, 1, -5);
    perf.createString("btrace.Trace.name", 3, 5, "text", 16);
    for (int i = 0; a.length > 0 && i < 70; i++) perf.createLong("btrace.Many.f" + i, 3, 1, i);
    System.out.println("ready");
    System.in.read();
    counter.putLong(0, 8);
    System.in.read();
  }
}
"""
PERF = "--add-exports=java.base/jdk.internal.perf=ALL-UNNAMED"
COLUMNS = {"S0C": "heap.survivor0.capacity", "S1C": "heap.survivor1.capacity", "S0U": "heap.survivor0.used",
           "S1U": "heap.survivor1.used", "EC": "heap.eden.capacity", "EU": "heap.eden.used", "OC": "heap.old.capacity",
           "OU": "heap.old.used", "MC": "heap.metaspace.capacity", "MU": "heap.metaspace.used", "CCSC": "heap.classspace.capacity",
           "CCSU": "heap.classspace.used", "YGC": "gc.young.count", "YGCT": "gc.young.seconds", "FGC": "gc.full.count",
           "FGCT": "gc.full.seconds", "CGC": "gc.concurrent.count", "CGCT": "gc.concurrent.seconds", "GCT": "gc.seconds"}


def hot(weights, recursive):
    """A program of functions with these shares of its time; one of them calls itself."""
    functions = "".join(f"""
  static void f{i}(int n) {{ work(n); }}""" if i != recursive else f"""
  static void f{i}(int n) {{ deep(n, 20); }}
  static void deep(int n, int depth) {{ if (depth == 0) work{i}(n); else deep(n, depth - 1); }}
  static void work{i}(int n) {{ for (int i = 0; i < n; ++i) x = x * 3 + 1; }}""" for i in range(len(weights)))
    functions = functions.replace("{ work(n); }", "{ for (int i = 0; i < n; ++i) x = x * 3 + 1; }")
    calls = " ".join(f"f{i}({weight});" for i, weight in enumerate(weights))
    return f"public class Hot {{ static volatile long x;{functions}\n  public static void main(String[] a) {{ while (true) {{ {calls} }} }}\n}}"


def total(found, pid, field):
    return sum(sample["fields"].get(field, 0) for sample in found if sample["tags"].get("pid") == str(pid))


def of(found, pid, kind="metrics", tag=None):
    return [sample for sample in found if sample["kind"] == kind and sample["tags"].get("pid") == str(pid)
            and (tag is None or tag in sample["tags"])]


def resume(port):
    """Lets a JVM continue that waits for its debugger (Java Debug Wire Protocol: command 9, Resume, of the set VirtualMachine)."""
    with socket.create_connection(("127.0.0.1", port)) as peer:
        peer.sendall(b"JDWP-Handshake")
        greeting = b""
        while len(greeting) < 14:
            greeting += peer.recv(14 - len(greeting))
        peer.sendall(struct.pack(">IIBBB", 11, 1, 0, 1, 9))
        while peer.recv(4096).find(b"\x80") < 0:  # a reply
            pass


@unittest.skipUnless(shutil.which("javac") and shutil.which("java"), "needs a JDK: apt-get install default-jdk-headless")
class JvmCase(AgentCase):
    def setUp(self):
        super().setUp()
        self.output = self.path("samples")
        os.symlink(os.path.realpath(shutil.which("java")), self.path(NAME))

    def end(self, child):
        child.kill()
        child.wait()
        forget_jvm(child.pid)
        for stream in (child.stdin, child.stdout):
            if stream:
                stream.close()

    def start(self, *command, urgent=True, **options):
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options)
        forget_jvm(child.pid)  # which was killed, and had the same number
        self.addCleanup(self.end, child)
        if urgent and URGENT:
            os.setpriority(os.PRIO_PROCESS, child.pid, URGENT)
        return child

    def java(self, name, text, *options):
        if not os.path.exists(self.path(name + ".class")):
            with open(self.path(name + ".java"), "w") as file:
                file.write(text)
            subprocess.run(["javac", "-J-XX:TieredStopAtLevel=1", *[option for option in options if option == PERF], "-d", self.folder, self.path(name + ".java")], check=True)
        return [self.path(NAME), "-Xmx64m", *options, "-cp", self.folder, name]

    def idle(self, *options, **more):
        child = self.start(*self.java("Idle", IDLE, *options), **more)
        self.assertEqual(child.stdout.readline(), b"ready\n")
        return child

    def watch(self, options="", every="500ms", more="", process=NAME, **agent):
        return self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "jvm" {{ every = "{every}", a.source.jvm {{ processes = {{ "{process}" }}, {options} }}, {more}
              a.sink.file {{ path = "{self.output}", format = "samples" }} }}""",
                              preexec=lambda: os.nice(URGENT), **agent).running()

    def until(self, agent, condition, description):
        """Waits for windows until the condition on all samples holds, and returns them."""
        try:
            agent.wait_status(lambda _: condition(so_far(self.output)))
        except AssertionError:
            raise AssertionError(f"no {description} in {json.dumps(so_far(self.output)[-20:], indent=1)}\n{agent.errors()}") from None
        return so_far(self.output)

    @staticmethod
    def windows(found):
        return sum("jvm.count" in sample["fields"] for sample in found)

    @staticmethod
    def said_nothing(child):
        """A JVM that is signalled and does not know why prints its threads."""
        os.set_blocking(child.stdout.fileno(), False)
        return not child.stdout.read()


class Shared(JvmCase):
    def test_columns_are_those_of_jstat(self):
        for option, name in COLLECTORS.items():
            with self.subTest(collector=option):
                self.output = self.path("samples-" + option)
                child = self.start(*self.java("Churn", CHURN, f"-XX:+Use{option}GC"))
                self.assertEqual(child.stdout.readline(), b"churned\n")
                child.send_signal(signal.SIGSTOP)
                agent = self.watch("profile = false")
                found = self.until(agent, lambda all: len(of(all, child.pid)) > 1 and of(all, child.pid, "span"), "readings")
                lines = subprocess.run(["jstat", "-gc", str(child.pid)], capture_output=True, text=True, check=True).stdout.split("\n")
                agent.stop()
                reported = dict(zip(lines[0].split(), lines[1].split()))
                self.assertEqual(sorted(reported), sorted(COLUMNS))
                fields = of(found, child.pid)[-1]["fields"]
                for column, text in reported.items():
                    self.assert_same(column, text, fields.get("jvm." + COLUMNS[column]))
                self.assertGreater(fields["jvm.gc.seconds"], 0)
                self.assertEqual(of(found, child.pid, "span")[0]["tags"]["collector"], name)
                child.kill()

    def assert_same(self, column, text, value):
        if text == "-":
            return self.assertIsNone(value, column)
        self.assertIsNotNone(value, column)
        if column.endswith("T"):
            return self.assertAlmostEqual(float(text), value, delta=0.00051, msg=column)
        if "." in text:
            return self.assertEqual(text, f"{value / 1024:.1f}", column)
        return self.assertEqual(text, str(value), column)

    def test_the_first_reading_has_no_rates_and_later_ones_add_up(self):
        child = self.start(*self.java("Churn", CHURN, "-XX:+UseSerialGC"))
        agent = self.watch("profile = false")
        found = self.until(agent, lambda all: total(all, child.pid, "jvm.gc.young.collections") > 20, "collections")
        readings = of([sample for sample in found if not sample["tags"].keys() & {"cause", "quality"}], child.pid)
        before = {}
        for sample in readings:
            reading = sample["fields"]
            if sample["duration"] == 0:
                self.assertFalse([name for name in reading if name.startswith("jvm.") and name.endswith((".collections", ".time", ".events", ".started"))])
                before = reading
                continue
            self.assertEqual(reading["jvm.gc.young.count"] - before.get("jvm.gc.young.count", 0),  # absent: it began in this window
                             reading["jvm.gc.young.collections"])
            self.assertEqual(reading["jvm.heap.used"], sum(reading[f"jvm.heap.{space}.used"] for space in ("eden", "survivor0", "survivor1", "old")))
            self.assertGreaterEqual(reading["jvm.threads.live"], reading["jvm.threads.daemon"])
            # A JVM that starts makes its counters one after another: one that the reading before lacked leaves a gap.
            if not before or all(name in before for name in reading if name.startswith("jvm.gc.") and name.endswith(".seconds")):
                self.assertLessEqual(reading["jvm.gc.time"], 101)
            before = reading
        causes = {sample["tags"]["cause"] for sample in of(found, child.pid, tag="cause")}
        self.assertIn("Allocation Failure", causes)

    def test_pauses_are_those_of_the_collectors_own_log(self):
        for option in ("G1", "Serial", "Parallel"):
            with self.subTest(collector=option):
                log = self.path("gc-" + option)
                self.output = self.path("samples-" + option)
                child = self.start(*self.java("Pauses", PAUSES, f"-XX:+Use{option}GC", f"-Xlog:gc:file={log}"))
                self.assertEqual(child.stdout.readline(), b"ready\n")
                earlier = len(self.pauses_in(log))
                agent = self.watch("profile = false")
                self.until(agent, lambda all: any("jvm.gc.pauses" in sample["fields"] for sample in of(all, child.pid)), "windows")
                child.stdin.write(b"\n")
                child.stdin.flush()
                self.assertEqual(child.stdout.readline(), b"paused\n")
                # A concurrent cycle of G1 may go on, and pause, when the program has ended its work.
                found = self.until(agent, lambda all: total(all, child.pid, "jvm.gc.pauses") == len(self.pauses_in(log)) - earlier, "pauses")
                agent.stop()
                logged = self.pauses_in(log)[earlier:]
                child.kill()
                self.assertEqual(total(found, child.pid, "jvm.gc.pauses"), len(logged))
                self.assert_pauses(of(found, child.pid), logged)

    @staticmethod
    def pauses_in(log):
        with open(log) as lines:
            return [float(line.split()[-1].removesuffix("ms")) for line in lines if " Pause " in line and line.rstrip().endswith("ms")]

    def assert_pauses(self, samples, logged):
        """The log's clock starts a little before that of the counters and ends a little after it; no pause is longer than the log's."""
        windows = [sample["fields"] for sample in samples if "jvm.gc.pauses" in sample["fields"]]
        paused = sum(fields["jvm.gc.pauses"] * fields.get("jvm.gc.pause.mean", 0) for fields in windows)
        self.assertLessEqual(paused, sum(logged) + 0.01 * len(logged))
        self.assertGreaterEqual(paused, sum(logged) / 2)
        longest = [sample for sample in samples if "jvm.gc.pause.max" in sample["fields"]]
        self.assertLessEqual(max(sample["fields"]["jvm.gc.pause.max"] for sample in longest), max(logged) + 0.01)
        means = {sample["time"]: sample["fields"]["jvm.gc.pause.mean"] for sample in samples if "jvm.gc.pause.mean" in sample["fields"]}
        self.assertEqual(sorted(means), sorted(sample["time"] for sample in longest))
        for sample in longest:
            self.assertGreaterEqual(sample["fields"]["jvm.gc.pause.max"], means[sample["time"]] - 0.001)
            self.assertIn(sample["tags"].get("quality"), (None, "bound"))
        for fields in windows:
            self.assertEqual("jvm.gc.pause.mean" in fields, fields["jvm.gc.pauses"] > 0)
            if fields["jvm.gc.pauses"] == 1:
                self.assertEqual(fields["jvm.gc.pause.max"], fields["jvm.gc.pause.mean"])

    @unittest.skipUnless(shutil.which("strace"), "needs strace: apt-get install strace")
    def test_without_profile_no_jvm_is_called(self):
        child = self.idle()
        self.assertEqual(self.calls(child, "profile = false"), [])
        self.assertNotEqual(self.calls(child, ""), [])

    def calls(self, child, options):
        """How the agent reaches for other processes while it looks at the JVM."""
        self.output, trace = self.path("samples-" + options), self.path("trace")
        wrapper = ["strace", "-D", "-f", "-e", "trace=connect,kill,tkill,pidfd_send_signal,ptrace", "-o", trace]
        agent = self.watch(options, wrapper=wrapper)
        agent.wrapper = []  # of the agent only
        found = self.until(agent, lambda all: len(of(all, child.pid)) > 3, "readings")
        agent.stop()
        names = {name for sample in found for name in sample["fields"]}
        self.assertEqual(any(".profile." in name for name in names), not options)
        with open(trace, errors="replace") as file:
            return [line for line in file if "(" in line and agent.socket not in line]  # whether another agent has that

    def test_the_span_of_a_jvm_grows_until_it_ends_and_has_no_secrets(self):
        child = self.idle("-Dpassword=hunter2", "-XX:+UseSerialGC", "-XX:OnError=hunter2")
        agent = self.watch("flags = true")
        self.until(agent, lambda all: len(of(all, child.pid, "span")) > 2, "spans")
        child.kill()
        child.wait()
        windows = self.windows(so_far(self.output))
        found = self.until(agent, lambda all: self.windows(all) > windows + 3, "windows")
        spans = of(found, child.pid, "span")
        first, last = spans[0], spans[-1]
        self.assertLess(last["time"] + last["duration"], found[-1]["time"])
        self.assertEqual(sorted(span["duration"] for span in spans), [span["duration"] for span in spans])
        self.assertEqual(first["text"], "jvm")
        self.assertEqual((first["time"], first["tags"]), (last["time"], last["tags"]))
        self.assertGreater(first["duration"], 0)
        self.assertTrue(last["tags"]["version"])
        self.assertEqual(last["tags"]["flags"], "-Xmx64m -XX:+UseSerialGC")
        self.assertNotIn("hunter2", json.dumps(found))

    def test_a_jvm_that_takes_many_windows_to_start_has_its_span_and_version(self):
        child = self.start(*self.java("Idle", IDLE, "-agentlib:jdwp=transport=dt_socket,server=y,suspend=y,address=127.0.0.1:0"))
        port = int(child.stdout.readline().rsplit(b" ", 1)[1])  # "Listening for ...": it waits for the debugger before it has started
        agent = self.watch()
        found = self.until(agent, lambda all: len(of(all, child.pid)) > 3, "windows")
        self.assertEqual(of(found, child.pid, "span"), [])
        resume(port)
        self.assertIn(b"ready\n", iter(child.stdout.readline, b""))
        found = self.until(agent, lambda all: of(all, child.pid, "span"), "span")
        span = of(found, child.pid, "span")[-1]
        self.assertTrue(span["tags"]["version"])
        self.assertGreater(span["time"] + span["duration"], time.time() * 1e9 - 60e9)

    def exporting(self, *arguments):
        child = self.start(*self.java("Exports", EXPORTS, PERF), *arguments)
        self.assertEqual(child.stdout.readline(), b"ready\n")
        return child

    def test_fields_that_btrace_scripts_export(self):
        child = self.exporting()
        agent = self.watch("profile = false")
        requests, balance = "btrace.org.shop.Trace.requests", "btrace.Trace.balance"
        found = self.until(agent, lambda all: of(all, child.pid), "reading")
        exports = {name: value for name, value in of(found, child.pid)[0]["fields"].items() if name.startswith("btrace.")}
        self.assertEqual(exports, {requests: 7, balance: -5})
        child.stdin.write(b"\n")
        child.stdin.flush()
        self.until(agent, lambda all: of(all, child.pid)[-1]["fields"].get(requests) == 8, "new value")
        self.assertNotIn("left out", agent.errors())

    def test_a_jvm_that_exports_too_much_is_cut_off_and_reported_once(self):
        child = self.exporting("many")
        agent = self.watch("profile = false")
        agent.wait_line("exports more than 64 fields of BTrace scripts")
        found = self.until(agent, lambda all: len(of(all, child.pid)) > 2, "readings")
        for sample in of(found, child.pid):
            if sample["kind"] == "metrics" and not sample["tags"].keys() & {"cause", "quality"}:
                self.assertEqual(sum(name.startswith("btrace.") for name in sample["fields"]), 64)
        self.assertEqual(agent.errors().count("left out"), 1)

    def test_only_the_wanted(self):
        one, two = self.idle(), self.start(*self.java("Churn", CHURN))
        agent = self.watch('main = { "Idle" }')
        found = self.until(agent, lambda all: len(of(all, one.pid)) > 2, "readings")
        self.assertEqual(of(found, two.pid), [])


class Profile(JvmCase):
    def check_shares(self, weights, recursive, cpu_seconds, delta, **options):
        child = self.start(*self.java("Hot", hot([weight * 2000 for weight in weights], recursive), "-XX:-UseOnStackReplacement",
                                      "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Hot::*"))
        agent = self.watch("budget = 10, top = 100", **options)
        dumps = (200 / delta) ** 2  # delta is four standard deviations then, where a share is a half

        def dumped(all):
            return amount(of(all, child.pid), "jvm.profile.rate")
        for part in range(5, 101, 5):
            def enough(all):
                seconds = total(all, child.pid, "profile.ns") / 2e9  # each stack, and as an exemplar
                return seconds >= cpu_seconds * part / 100 and dumped(all) >= dumps * part / 100
            self.until(agent, enough, f"{part} % of {cpu_seconds} s of CPU time and of {dumps:.0f} dumps")
        agent.stop()
        found = so_far(self.output)  # windows that are whole
        times = {}
        for sample in of(found, child.pid, tag="function"):
            if sample["kind"] == "metrics":
                name = sample["tags"]["function"].replace("work", "f")
                times[name] = times.get(name, 0) + sample["fields"]["jvm.function.self"]
        all = sum(times.values())
        shares = [100 * times.get(f"Hot f{i}", 0) / all for i in range(len(weights))]
        print(" ".join(f"{share:.1f}" for share in shares), file=sys.stderr)
        for i, weight in enumerate(weights):
            self.assertAlmostEqual(shares[i], 100 * weight / sum(weights), delta=delta, msg=f"f{i}")
        return found, child, shares

    def test_functions_rank_by_their_own_time(self):
        weights = [50, 25, 12, 5, 4, 2, 1, 1]
        found, child, shares = self.check_shares(weights, 1, cpu_seconds=5, delta=8)
        self.assertEqual(sorted(range(len(weights)), key=lambda i: -shares[i])[:3], [0, 1, 2])
        self.check_traces(found, child)

    def check_traces(self, found, child):
        """One function calls itself: its stack is deep, and its time counts once."""
        functions = [sample for sample in of(found, child.pid, tag="function") + of(found, child.pid, "stack", "function")
                     if sample["tags"]["function"] == "Hot work1"]
        trace = next(sample["text"] for sample in functions if sample["kind"] == "metrics").split("\n")
        self.assertRegex(trace[0], r"^Hot work1 \(Hot\.java:\d+\)$")
        self.assertEqual(len([line for line in trace if line.startswith("Hot deep (")]), 21)
        self.assertRegex(trace[-1], r"^Hot main \(Hot\.java:\d+\)$")
        exemplar = next(sample for sample in functions if sample["kind"] == "stack")
        self.assertEqual(exemplar["text"].split(";"), trace[::-1])
        self.assertEqual((exemplar["tags"]["profile"], exemplar["tags"]["bias"]), ("exemplar", "safepoint"))
        stack = ";".join(["Hot.main_[j]", "Hot.f1_[j]", *["Hot.deep_[j]"] * 21, "Hot.work1_[j]"])
        walls = [sample for sample in of(found, child.pid, "stack") if sample["tags"]["profile"] == "wall"]
        self.assertIn(stack, [sample["text"] for sample in walls])
        self.assertEqual({sample["tags"]["bias"] for sample in walls}, {"safepoint"})
        self.check_sums(found, child)

    def check_sums(self, found, child):
        """In each window for itself the stacks are the CPU time, and no two samples are of the same entity."""
        stacks, cpu, seen = {}, {}, set()
        for sample in of(found, child.pid):
            if "jvm.profile.cpu" in sample["fields"]:
                cpu[sample["time"]] = sample["fields"]["jvm.profile.cpu"]
        for sample in [sample for sample in found if sample["kind"] != "span"]:
            identity = (sample["time"], sample["kind"], sample.get("text") if sample["kind"] == "stack" else "", *sorted(sample["tags"].items()))
            self.assertNotIn(identity, seen)
            seen.add(identity)
            if sample["tags"].get("profile") == "wall" and sample["tags"]["pid"] == str(child.pid):
                stacks[sample["time"]] = stacks.get(sample["time"], 0) + sample["fields"]["profile.ns"]
        lengths = self.lengths(found, child)
        self.assertGreater(len(lengths), 2)
        for end, length in lengths.items():
            self.assertAlmostEqual(100 * stacks[end] / length, cpu[end], delta=max(2, cpu[end] / 2))

    @staticmethod
    def lengths(found, child):
        """Of each window, ns, as the source has measured it: the dearest function's time by its share of the window."""
        shares = {(sample["time"], sample["tags"]["function"]): sample["fields"]["jvm.function.self"]
                  for sample in of(found, child.pid, tag="function")}
        lengths = {}
        for sample in of(found, child.pid, "stack", "function"):  # the dearest one is the first
            end, function = sample["time"], sample["tags"]["function"]
            if end not in lengths:
                lengths[end] = sample["fields"]["profile.ns"] / shares[end, function]
        return lengths

    @unittest.skipUnless("ATALAYA_FULL" in os.environ, "takes minutes: ./dev test --full")
    def test_fifty_functions(self):
        weights = [round(100 / 1.09 ** i) for i in range(50)]
        _, _, shares = self.check_shares(weights, 3, cpu_seconds=60, delta=2.5, every="2s")
        ranks = sorted(range(50), key=lambda i: -shares[i])
        different = sum((ranks.index(i) - i) ** 2 for i in range(50))
        correlation = 1 - 6 * different / (50 * (50 ** 2 - 1))
        print(f"rank correlation {correlation:.3f}", file=sys.stderr)
        self.assertGreater(correlation, 0.9)

    def test_a_thread_that_waits_in_native_code_does_not_run(self):
        text = """
public class Accept {
  static void accept(java.net.ServerSocket server) { try { server.accept(); } catch (Exception e) { } }
  public static void main(String[] a) throws Exception {
    java.net.ServerSocket server = new java.net.ServerSocket(0);
    accept(server);
  }
}"""
        child = self.start(*self.java("Accept", text))
        agent = self.watch('threads = "all"')
        found = self.until(agent, lambda all: any("Accept.accept_[j]" in sample.get("text", "") for sample in of(all, child.pid, "stack")), "wait")
        self.assertEqual([sample for sample in of(found, child.pid, tag="function") if "accept" in sample["tags"]["function"].lower()], [])
        waits = [sample["fields"] for sample in of(found, child.pid, "stack") if "Accept.accept_[j]" in sample["text"]]
        self.assertEqual({fields["profile.cpu"] for fields in waits}, {0})
        self.assertGreater(waits[0]["profile.ns"], 0)
        self.assertGreater(max(sample["fields"].get("jvm.threads.native", 0) for sample in of(found, child.pid)), 0)

    def test_a_jvm_that_lives_for_less_than_a_window_is_reported(self):
        text = """
public class Brief {
  static volatile long x;
  static void work(long end) { while (System.nanoTime() < end) x = x * 3 + 1; }
  public static void main(String[] a) { work(System.nanoTime() + 6_000_000_000L); }
}"""
        command = self.java("Brief", text, "-XX:TieredStopAtLevel=1")
        agent = self.watch('main = { "Brief" }, budget = 50', every="12s")
        self.until(agent, lambda all: self.windows(all) > 1, "window")  # another one has just begun
        child = self.start(*command)
        child.wait()
        found = self.until(agent, lambda all: of(all, child.pid, "span"), "span")
        names = {sample["tags"]["function"] for sample in of(found, child.pid, tag="function")}
        self.assertTrue(names & {"Brief work", "java.lang.System nanoTime"}, names)
        reported = next(sample["fields"] for sample in of(found, child.pid) if "jvm.profile.rate" in sample["fields"])
        self.assertGreater(reported["jvm.profile.cpu"], 5)  # in all of the window
        self.assertIn("jvm.heap.used", reported)
        span = of(found, child.pid, "span")[-1]
        self.assertGreater(span["duration"], 1e9)
        self.assertLess(span["duration"], 12e9)

    def test_without_stacks_none_of_any_kind_is_emitted(self):
        child = self.start(*self.java("Churn", CHURN))
        agent = self.watch("stacks = 0, budget = 10")
        found = self.until(agent, lambda all: of(all, child.pid, tag="function"), "functions")
        self.assertEqual(of(found, child.pid, "stack"), [])

    @unittest.skipUnless(shutil.which("localedef") and os.path.exists("/usr/share/i18n/locales/de_DE"), "needs locales: apt-get install locales")
    def test_a_jvm_whose_locale_has_decimal_commas_reports_its_cpu_time(self):
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", self.path("de_DE.UTF-8")], check=True)
        child = self.start(*self.java("Hot", hot([2000, 1000], 0)), env=dict(os.environ, LOCPATH=self.folder, LC_ALL="de_DE.UTF-8"))
        agent = self.watch("budget = 10")
        found = self.until(agent, lambda all: total(all, child.pid, "jvm.profile.cpu") > 100, "CPU time")
        self.assertEqual([sample for sample in of(found, child.pid) if "quality" in sample["tags"]], [])

    @unittest.skipUnless(ZooKeeper.there, "needs zookeeper: apt-get install zookeeper")
    def test_zookeeper(self):
        supervisor = ZooKeeper(self.folder).start()
        self.addCleanup(supervisor.stop)
        pid = supervisor.process.pid
        agent = self.watch('main = { "*.QuorumPeerMain" }', more="a.translate.names { rules = {} },", process="java")
        found = self.until(agent, lambda all: of(all, pid, "span") and sum(
            sample["fields"].get("jvm.profile.rate", 0) > 0 and "jvm.threads.waiting" in sample["fields"] for sample in of(all, pid)) > 1, "profile")
        self.assertEqual(of(found, pid)[-1]["tags"]["process"], "QuorumPeerMain")
        self.assertEqual(of(found, pid, "span")[0]["tags"]["process"], "QuorumPeerMain")

    @unittest.skipUnless("ATALAYA_FULL" in os.environ, "takes minutes: ./dev test --full")
    def test_the_budget_holds(self):
        """Five JVMs with 40 threads each: CPU time that they and the agent spend on dumps, by the kernel's clocks of the threads that do it."""
        text = """
public class Many {
  static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
  static volatile long x;
  public static void main(String[] a) throws Exception {
    for (int i = 0; i < 40; ++i) new Thread(() -> { for (;;) { x = fib(15); try { Thread.sleep(50); } catch (Exception e) { } } }).start();
    System.out.println("ready");
  }
}"""
        children = [self.start(*self.java("Many", text)) for _ in range(5)]
        for child in children:
            child.stdout.readline()
        idle = self.spent(children)
        begin = self.clock()
        threading.Event().wait(20)
        before = self.spent(children)
        at_rest = (before - idle) / (self.clock() - begin)
        agent = self.watch(every="2s")
        def windows(count):
            return lambda all: sum("jvm.count" in sample["fields"] for sample in all) >= count
        self.until(agent, windows(3), "windows")
        before, begin = self.spent(children, agent.process.pid), self.clock()
        self.until(agent, windows(13), "windows")
        self.until(agent, windows(23), "windows")
        spent = (self.spent(children, agent.process.pid) - before) / (self.clock() - begin) - at_rest
        found = so_far(self.output)
        reported = sum(sample["fields"].get("jvm.profile.cost", 0) for child in children for sample in of(found, child.pid)) / sum(
            "jvm.source.cost" in sample["fields"] for sample in found)
        rate = sum(sample["fields"].get("jvm.profile.rate", 0) for child in children for sample in of(found, child.pid)[-5:]) / 25
        print(f"spent {100 * spent:.2f} % of a core, reported {reported:.2f} %, at rest {100 * at_rest:.2f} %, {rate:.1f} Hz each", file=sys.stderr)
        self.assertLess(100 * spent, 2.2)
        self.assertLess(reported, 2.2)

    @staticmethod
    def clock():
        with open("/proc/uptime") as file:
            return float(file.read().split()[0])

    @staticmethod
    def spent(children, agent=None):
        """CPU seconds of the threads that make dumps, and of the agent's."""
        total = 0
        wanted = {child.pid: ("VM Thread", "Attach Listener") for child in children}
        if agent:
            wanted[agent] = ("jvm",)
        for pid, names in wanted.items():
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/comm") as file:
                    if file.read().strip() not in names:
                        continue
                with open(f"/proc/{pid}/task/{task}/schedstat") as file:
                    total += int(file.read().split()[0]) / 1e9
        return total


class VirtualThreads(JvmCase):
    """With each installed JDK: before 21 the program's threads are ordinary ones."""
    TEXT = """
public class Sleepy {
  static volatile long x;
  static void burn() { for (int i = 0; i < 100_000; ++i) x = x * 3 + 1; }
  static void work() { for (;;) { burn(); try { Thread.sleep(3); } catch (InterruptedException e) { return; } } }
  public static void main(String[] a) throws Exception {
    for (int i = 0; i < 6; ++i) {
      try { Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable) Sleepy::work); }
      catch (NoSuchMethodException e) { new Thread(Sleepy::work).start(); }
    }
    System.out.println("ready");
    System.in.read();
  }
}"""

    @staticmethod
    def jdks():
        return sorted({os.path.dirname(os.path.realpath(path)) for path in glob.glob("/usr/lib/jvm/*/bin/javac") + [shutil.which("javac")]})

    @staticmethod
    def taken(pid):
        """CPU seconds of a process, as the kernel counts ticks."""
        with open(f"/proc/{pid}/stat") as file:
            return sum(int(field) for field in file.read().rpartition(")")[2].split()[11:13]) / os.sysconf("SC_CLK_TCK")

    def test_dumps_never_have_more_cpu_time_than_the_process(self):
        for jdk in self.jdks():
            with self.subTest(jdk=jdk):
                self.check_jdk(jdk)

    def check_jdk(self, jdk):
        folder, java = self.path(jdk.replace("/", "_")), os.path.join(jdk, "java")
        os.mkdir(folder)
        self.output = os.path.join(folder, "samples")
        with open(os.path.join(folder, "Sleepy.java"), "w") as file:
            file.write(self.TEXT)
        subprocess.run([os.path.join(jdk, "javac"), "-d", folder, os.path.join(folder, "Sleepy.java")], check=True)
        link = os.path.join(folder, NAME)
        os.symlink(java, link)
        child = self.start(link, "-Xmx64m", "-cp", folder, "Sleepy")
        self.assertEqual(child.stdout.readline(), b"ready\n")
        before = self.taken(child.pid)
        agent = self.watch("budget = 10", every="1s")

        def seconds(found, field):
            return amount(of(found, child.pid), field) / 100
        found = self.until(agent, lambda all: seconds(all, "jvm.profile.cpu") > 1.5, "CPU time")
        taken = self.taken(child.pid) - before
        agent.stop()
        child.kill()
        print(f"{jdk}: dumps {seconds(found, 'jvm.profile.cpu'):.2f} s, /proc {taken:.2f} s", file=sys.stderr)
        self.assertLess(seconds(found, "jvm.profile.cpu"), taken + 0.05)
        self.assertLess(seconds(found, "jvm.profile.excess"), 0.05)
        own = sum(sample["fields"]["profile.ns"] for sample in of(found, child.pid, "stack", "function")) / 1e9
        self.assertLess(own, taken + 0.05)
        functions = {sample["tags"]["function"] for sample in of(found, child.pid, tag="function")}
        self.assertTrue(functions & {"Sleepy burn", "Sleepy work"}, functions)


class Refusals(JvmCase):
    def check_left_alone(self, child, agent, line):
        agent.wait_line(line)
        found = self.until(agent, lambda all: len(of(all, child.pid)) > 3, "readings")
        self.assertEqual(total(found, child.pid, "jvm.profile.failures"), 1)  # and not again for a while
        self.assertIsNone(child.poll())
        self.assertTrue(self.said_nothing(child))
        self.assertFalse(os.path.exists(f"/tmp/.attach_pid{child.pid}"))
        return found

    def test_a_jvm_that_takes_no_commands_is_left_alone(self):
        child = self.idle("-XX:+DisableAttachMechanism")
        found = self.check_left_alone(child, self.watch(), "accepts no commands (-XX:+DisableAttachMechanism)")
        self.assertIn("jvm.heap.used", of(found, child.pid)[-1]["fields"])

    def test_a_jvm_that_shares_nothing_is_left_alone(self):
        child = self.idle("-XX:-UsePerfData")
        agent = self.watch()
        found = self.until(agent, lambda all: any(sample["fields"].get("jvm.unshared") for sample in all), "JVM that shares nothing")
        agent.wait_line("does not report whether it accepts commands")
        self.assertTrue(self.said_nothing(child))

    def test_a_stopped_jvm_is_queried_again_when_it_continues(self):
        stopped, other = self.idle(), self.idle()
        agent = self.watch()
        self.until(agent, lambda all: total(all, stopped.pid, "jvm.profile.rate") > 0, "dumps")
        stopped.send_signal(signal.SIGSTOP)
        found = self.until(agent, lambda all: total(all, stopped.pid, "jvm.profile.skipped") > 1, "skipped dumps")
        self.assertLessEqual(total(found, stopped.pid, "jvm.profile.failures"), 1)  # one may have been on its way
        before = total(found, other.pid, "jvm.profile.rate")
        self.until(agent, lambda all: total(all, other.pid, "jvm.profile.rate") > before, "dumps of the other")
        stopped.send_signal(signal.SIGCONT)
        rate = total(so_far(self.output), stopped.pid, "jvm.profile.rate")
        self.until(agent, lambda all: total(all, stopped.pid, "jvm.profile.rate") > rate, "dumps again")

    def test_a_socket_that_is_left_over_is_no_hindrance(self):
        """Of a JVM that was killed and had the same number."""
        child = self.idle()
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(f"/tmp/.java_pid{child.pid}")
        agent = self.watch()
        found = self.until(agent, lambda all: total(all, child.pid, "jvm.profile.rate") > 0, "dumps")
        self.assertEqual(total(found, child.pid, "jvm.profile.failures"), 0)
        self.assertTrue(self.said_nothing(child))

    def check_pretender(self, behaviour, line):
        """A process that looks like a JVM, and answers like none: it costs one failure, and the others are still sampled."""
        pretender = self.start(sys.executable, __file__, "--pretend", behaviour, self.folder, urgent=False)
        pretender.stdin.write(b"begin\n")
        pretender.stdin.flush()
        self.assertEqual(pretender.stdout.readline(), b"ready\n")
        other = self.idle()
        agent = self.watch('timeout = "%s"' % ("2s" if behaviour == "hang" else "10s"))
        agent.wait_line(line)
        found = self.until(agent, lambda all: total(all, pretender.pid, "jvm.profile.failures") > 0 and len(of(all, pretender.pid)) > 3
                           and total(all, other.pid, "jvm.profile.rate") > 0, "failure")
        self.assertEqual(total(found, pretender.pid, "jvm.profile.failures"), 1)
        self.assertEqual(total(found, other.pid, "jvm.profile.failures"), 0)
        self.assertIsNone(pretender.poll())

    @unittest.skipUnless(os.geteuid() == 0 and "ATALAYA_FULL" in os.environ, "takes a minute, as root: ./dev test --full")
    def test_many_jvms_of_one_user_leave_slots_for_others(self):
        os.chmod(self.folder, 0o755)
        folder = self.path("crowd")
        os.mkdir(folder, 0o777)
        os.chmod(folder, 0o777)
        crowd = self.start(sys.executable, __file__, "--crowd", "260", folder, urgent=False)
        for _ in range(260):
            self.assertEqual(crowd.stdout.readline(), b"mapped\n")
        agent = self.watch(every="4s")
        agent.wait_line("more than 256 JVMs")
        child = self.idle()
        self.until(agent, lambda all: total(all, child.pid, "jvm.profile.rate") > 0, "dumps")

    def test_a_jvm_that_does_not_answer_costs_one_timeout(self):
        self.check_pretender("hang", "does not answer")

    def test_a_jvm_that_dies_while_it_answers_costs_one_failure(self):
        self.check_pretender("half", "sent an incomplete answer")

    def test_a_jvm_that_answers_without_end_is_cut_off(self):
        self.check_pretender("flood", "sent an answer of more than")

    def test_a_jvm_that_is_killed_is_forgotten(self):
        child, other = self.idle(), self.idle()
        agent = self.watch()
        self.until(agent, lambda all: total(all, child.pid, "jvm.profile.rate") > 0, "dumps")
        child.kill()
        child.wait()
        windows = self.windows(so_far(self.output))
        found = self.until(agent, lambda all: self.windows(all) > windows + 2, "windows")
        self.assertEqual(total(found, child.pid, "jvm.profile.failures"), 0)
        self.assertEqual([sample for sample in found if sample["time"] == found[-1]["time"] and sample["tags"].get("pid") == str(child.pid)], [])
        self.assertGreater(total(found, other.pid, "jvm.profile.rate"), 0)

    def test_a_jvm_that_is_killed_is_reported_once_more_at_most(self):
        """Also if the test does not look for a while: a stopped JVM gets no second request."""
        child = self.idle()
        agent = self.watch(every="100ms")
        child.send_signal(signal.SIGSTOP)
        self.until(agent, lambda all: total(all, child.pid, "jvm.profile.skipped") > 0, "skipped dump")
        child.kill()
        child.wait()
        killed, windows = time.time_ns(), self.windows(so_far(self.output))
        found = self.until(agent, lambda all: self.windows(all) > windows + 12, "windows")
        after = {sample["time"] for sample in of(found, child.pid) if sample["time"] > killed}
        self.assertLessEqual(len(after), 1)

    @unittest.skipUnless(os.geteuid() == 0, "other users take root")
    def test_a_jvm_of_another_user(self):
        os.chmod(self.folder, 0o755)
        self.java("Idle", IDLE)
        child = self.idle(user=65534, group=65534, extra_groups=[])
        agent = self.watch()
        found = self.until(agent, lambda all: total(all, child.pid, "jvm.profile.rate") > 0, "dumps")
        self.assertIn("jvm.heap.used", of(found, child.pid)[-1]["fields"])
        self.assertTrue(self.said_nothing(child))

    @unittest.skipUnless(os.geteuid() == 0, "namespaces take root")
    def test_a_jvm_in_a_container(self):
        """In separate namespaces of processes and files, with another number and another /tmp."""
        java = self.java("Idle", IDLE)
        shared = self.path("tmp")
        os.mkdir(shared)
        outer = ["unshare", "--pid", "--fork", "--kill-child", "--mount", "sh", "-c", 'mount --bind "$0" /tmp && exec "$@"', shared]
        if subprocess.run([*outer, "true"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no namespaces here")
        shutil.copy(self.path("Idle.class"), shared)
        java[0], java[java.index(self.folder)] = shutil.which("java"), "/tmp"
        child = self.start(*outer, *java)
        self.assertEqual(child.stdout.readline(), b"ready\n")
        agent = self.watch('main = { "Idle" }', process="java")
        found = self.until(agent, lambda all: any(sample["fields"].get("jvm.profile.rate", 0) > 0 and "jvm.heap.used" in sample["fields"]
                                                  for sample in all), "dumps")
        self.assertIn(".java_pid1", os.listdir(shared))
        self.assertEqual(sum(sample["fields"].get("jvm.profile.failures", 0) for sample in found), 0)


def map_files(folder):
    """Those of a JVM, which make this process look like one."""
    with open("/proc/self/comm", "w") as file:
        file.write(NAME)
    library = os.path.join(folder, "libjvm.so")
    shared = os.path.join(folder, "hsperfdata_pretender", str(os.getpid()))
    os.makedirs(os.path.dirname(shared), exist_ok=True)
    name = b"sun.rt.createVmEndTime\0"
    value_at = (20 + len(name) + 7) // 8 * 8
    entry = struct.pack("<IIIcBBBI", value_at + 8, 20, 0, b"J", 0, 1, 3, value_at) + name
    entry = entry.ljust(value_at, b"\0") + struct.pack("<q", 7)
    maps = []
    for path, content in ((library, b"x"), (shared, b"\xca\xfe\xc0\xc0\1\2\0\1" + bytes(16) + struct.pack("<II", 32, 1) + entry)):
        with open(path, "wb") as file:
            file.write(content)
        with open(path, "rb") as file:
            maps.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return maps


def pretend_crowd(count, folder):
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    ctypes.CDLL(None).prctl(4, 1)  # dumpable: it may write its own name
    for _ in range(count):
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # with its parent
            maps = map_files(os.path.join(folder, str(os.getpid())))
            os.write(1, b"mapped\n")
            signal.pause()
            del maps
    signal.pause()


def pretend(behaviour, folder):
    """Listens on a JVM's socket."""
    maps = map_files(folder)
    sys.stdin.readline()  # files that another one of this number left are gone then
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"/tmp/.java_pid{os.getpid()}")
        server.listen()
        print("ready", flush=True)
        kept = []
        while True:
            client, _ = server.accept()
            client.recv(4096)
            if behaviour == "half":
                client.sendall(b'0\nFull thread dump\n\n"main" #1 tid=0x1 nid=0x1 runnable\n   java.lang.Thread.State: RUN')
                client.close()
            elif behaviour == "flood":
                try:
                    while True:
                        client.sendall(b"0\n" * 65536)
                except OSError:
                    client.close()
            else:
                kept.append(client)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--pretend"]:
        pretend(sys.argv[2], sys.argv[3])
    elif sys.argv[1:2] == ["--crowd"]:
        pretend_crowd(int(sys.argv[2]), sys.argv[3])
    else:
        main()
