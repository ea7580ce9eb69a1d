# SPDX-License-Identifier: Apache-2.0
"""Events of the kernel, by real ones: OOM kills and throttling in a cgroup, a segmentation fault, a remount. The kernel's own counters are the oracle."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from harness import PATIENCE, AgentCase, main, so_far

V1 = os.path.isdir("/sys/fs/cgroup/memory")
HUNGRY = "import threading, time\nfor _ in range({threads}): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n" \
         "x = bytearray(200 << 20)"


def obstacle():
    if os.geteuid() != 0:
        return "needs root"
    if not os.access("/sys/fs/cgroup", os.W_OK):
        return "cgroups are read-only"
    return None


def crash(program):
    """Runs a copy of Python at this path, which ends by a segmentation fault; returns its pid."""
    shutil.copy(sys.executable, program)
    child = subprocess.Popen([program, "-c", "import ctypes; ctypes.string_at(8)"], stderr=subprocess.DEVNULL,
                             env=dict(os.environ, PYTHONHOME=sys.prefix))
    assert child.wait(PATIENCE) == -signal.SIGSEGV
    return child.pid


def mounted_tmpfs(case):
    """The folder of a file system that is unmounted when the test ends."""
    folder = case.path("mounted")
    os.mkdir(folder)
    subprocess.run(["mount", "-t", "tmpfs", "atalaya-test", folder], check=True)
    case.addCleanup(subprocess.run, ["umount", folder], check=True)
    return folder


class Cgroup:
    """A cgroup with limits, of version 1 or 2."""

    def __init__(self, name):
        tops = ("/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpu") if V1 else ("/sys/fs/cgroup",)
        self.path = f"/{name}"
        self.folders = [f"{top}/{name}" for top in tops]
        for folder in self.folders:
            os.mkdir(folder)

    def write(self, folder, name, text):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)

    def limit(self, memory=None, cpu=None):
        memory_folder, cpu_folder = self.folders[0], self.folders[-1]
        if memory:
            self.write(memory_folder, "memory.limit_in_bytes" if V1 else "memory.max", str(memory))
        if memory and not V1:
            with contextlib.suppress(FileNotFoundError):
                self.write(memory_folder, "memory.swap.max", "0")
        if cpu:  # in us of 100 ms
            self.write(cpu_folder, *(("cpu.cfs_quota_us", str(cpu)) if V1 else ("cpu.max", f"{cpu} 100000")))

    def run(self, *command):
        def enter():
            for folder in self.folders:
                self.write(folder, "cgroup.procs", str(os.getpid()))
        return subprocess.Popen(command, preexec_fn=enter, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def counts(self, file, folder):
        with open(os.path.join(folder, file)) as text:
            return {words[0]: int(words[1]) for words in map(str.split, text) if len(words) == 2}

    def kills(self):
        return self.counts("memory.oom_control" if V1 else "memory.events", self.folders[0])["oom_kill"]

    def throttled(self):
        """ns, periods"""
        counts = self.counts("cpu.stat", self.folders[-1])
        return counts["throttled_time"] if V1 else counts["throttled_usec"] * 1000, counts["nr_throttled"]

    def remove(self):
        until = time.monotonic() + PATIENCE
        for folder in self.folders:
            while os.path.isdir(folder):
                with contextlib.suppress(OSError):  # an ended process leaves it a moment later
                    os.rmdir(folder)
                assert time.monotonic() < until, folder
                time.sleep(0.01)


@unittest.skipIf(obstacle(), obstacle())
class Kernel(AgentCase):
    def setUp(self):
        super().setUp()
        self.output = self.path("samples")
        try:
            self.cgroup = Cgroup(f"atalaya-{os.getpid()}-{len(os.listdir('/proc'))}-{time.monotonic_ns()}")
        except OSError as error:
            self.skipTest(f"no cgroup: {error}")
        self.addCleanup(self.cgroup.remove)

    def start(self, options="", every="200ms", wrapper=()):
        agent = self.run_agent(f"""local a = require "atalaya"
            a.pipeline "events" {{ every = "{every}", a.source.kernel {{ {options} }}, a.source.self {{}},
              a.sink.file {{ path = "{self.output}", format = "samples" }} }}""", wrapper=wrapper)
        self.windows(2)
        return agent

    def samples(self, kind="metrics"):
        return [sample for sample in so_far(self.output) if sample["kind"] == kind]

    def events(self, name, **tags):
        return [span for span in self.samples("span") if span["tags"].get("event") == name
                and all(span["tags"].get(key) == value for key, value in tags.items())]

    def sum(self, metric, **tags):
        return sum(sample["fields"].get(metric, 0) for sample in self.samples()
                   if all(sample["tags"].get(key) == value for key, value in tags.items()))

    def wait(self, condition):
        until = time.monotonic() + PATIENCE
        while not (found := condition()):
            assert time.monotonic() < until, self.samples("span")
            time.sleep(0.02)  # the file of another process
        return found

    def windows(self, more):
        """Waits for this number of further windows."""
        def times():
            return {sample["time"] for sample in self.samples() if "self.cpu" in str(sample["fields"])}
        before = len(times())
        self.wait(lambda: len(times()) >= before + more)

    def exhaust(self, threads=0):
        child = self.cgroup.run(sys.executable, "-c", HUNGRY.format(threads=threads))
        self.assertEqual(child.wait(PATIENCE), -signal.SIGKILL)
        return child.pid

    def root_without_log(self):
        """The host's root without a log."""
        root = self.path("root")
        os.mkdir(root)
        for name in ("proc", "sys"):
            os.symlink("/" + name, os.path.join(root, name))
        return root

    def check_kills(self, pids, process):
        self.windows(3)
        victims = self.events("oom kill", cgroup=self.cgroup.path)
        self.assertEqual(len(victims), self.cgroup.kills())
        self.assertEqual(self.sum("kernel.oom.kills", cgroup=self.cgroup.path), self.cgroup.kills())
        self.assertEqual(sorted(victim["tags"].get("pid") for victim in victims), sorted(map(str, pids)))
        for victim in victims:
            self.assertEqual(victim["tags"]["process"], process)
            self.assertGreater(victim["fields"]["kernel.oom.memory"], 20)  # of 30 MiB, and its files
            self.assertLess(victim["fields"]["kernel.oom.memory"], 60)
            self.assertLess(abs(victim["time"] - time.time_ns()), PATIENCE * 10**9)

    def process_name(self):
        return os.path.basename(os.path.realpath(sys.executable))[:15]

    def exhaust_repeatedly(self):
        self.cgroup.limit(memory=30 << 20)
        # With threads: the kernel may choose each of a process that is about to end.
        pids = [self.exhaust(threads) for threads in (0, 8, 0)]
        self.wait(lambda: len(self.events("oom kill", cgroup=self.cgroup.path)) >= len(pids))
        return pids

    def names(self):
        return {self.process_name(), os.path.basename(sys.executable)[:15]}

    def assert_victims(self, pids):
        found = {victim["tags"]["process"] for victim in self.events("oom kill", cgroup=self.cgroup.path)}
        self.assertTrue(found <= self.names(), found)
        self.check_kills(pids, found.pop())

    def test_each_oom_kill_is_an_event_with_its_victim(self):
        self.start()
        self.assert_victims(self.exhaust_repeatedly())

    @unittest.skipUnless(os.path.exists("/sys/kernel/btf/vmlinux"), "no BTF")
    @unittest.skipIf(os.readlink("/proc/self/ns/pid") != "pid:[4026531836]", "in a pid namespace of its own")
    def test_oom_kills_by_the_hook_alone(self):
        agent = self.start(f'root = "{self.root_without_log()}"')
        agent.wait_line("crashes are absent: run as root or add CAP_SYSLOG (drop-in kernel-log)")
        self.assert_victims(self.exhaust_repeatedly())

    def test_oom_kills_by_the_log_alone(self):
        self.start(wrapper=("unshare", "--pid", "--fork", "--kill-child"))  # there, pids of BPF are not those of the agent
        self.assert_victims(self.exhaust_repeatedly())

    def test_without_log_and_hook_the_cgroup_is_known(self):
        agent = self.start(f'root = "{self.root_without_log()}"', wrapper=("unshare", "--pid", "--fork", "--kill-child"))
        agent.wait_line("OOM kills have no names of victims")
        self.exhaust_repeatedly()
        self.windows(2)
        victims = self.events("oom kill", cgroup=self.cgroup.path)
        self.assertEqual(len(victims), self.cgroup.kills())
        self.assertTrue(all("pid" not in victim["tags"] and "process" not in victim["tags"] for victim in victims))
        self.assertEqual(self.sum("kernel.oom.kills", cgroup=self.cgroup.path), self.cgroup.kills())
        self.assertFalse(any("process" in sample["tags"] for sample in self.samples() if "kernel.oom.kills" in sample["fields"]))

    def test_a_segmentation_fault(self):
        with open("/proc/sys/debug/exception-trace") as file:
            if file.read().strip() != "1":
                self.skipTest("debug.exception-trace is 0: the kernel does not log crashes")
        self.start()
        name = f"crash{os.getpid()}"[:15]
        pid = crash(self.path(name))
        event, = self.wait(lambda: self.events("crash", process=name))
        self.assertEqual((event["tags"]["pid"], event["tags"]["kind"]), (str(pid), "segfault"))
        self.windows(1)
        self.assertEqual(self.sum("kernel.crashes", process=name), 1)
        self.assertEqual(self.sum("kernel.log.lost"), 0)

    def test_a_program_cannot_invent_events(self):
        self.start()
        with open("/dev/kmsg", "w") as log:
            log.write("<3>atalayafake[7]: segfault at 8 ip 0 sp 0 error 6 in fake[0+1]")
        self.windows(2)
        self.assertEqual(self.events("crash", process="atalayafake"), [])

    def test_throttled_time_is_the_kernels(self):
        self.start()
        self.cgroup.limit(cpu=10000)
        self.windows(2)
        before = self.cgroup.throttled()
        child = self.cgroup.run(sys.executable, "-c", "while True: pass")
        self.wait(lambda: self.sum("kernel.throttled.periods", cgroup=self.cgroup.path) > 5)
        child.kill()
        child.wait()
        self.windows(3)
        after = self.cgroup.throttled()
        change = after[0] - before[0], after[1] - before[1]
        self.assertEqual((self.sum("kernel.throttled.time", cgroup=self.cgroup.path), self.sum("kernel.throttled.periods", cgroup=self.cgroup.path)), change)
        last = {}  # a span replaces an earlier one with the same start
        for span in self.events("throttled", cgroup=self.cgroup.path):
            last[span["time"]] = span["fields"]
        self.assertEqual(tuple(sum(fields[name] for fields in last.values()) for name in ("kernel.throttled.time", "kernel.throttled.periods")), change)

    def test_a_file_system_that_becomes_read_only(self):
        folder = mounted_tmpfs(self)
        self.start()
        self.assertEqual(self.events("read-only", mount=folder), [])
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        event, = self.wait(lambda: self.events("read-only", mount=folder))
        self.assertEqual(event["tags"]["disk"], "atalaya-test")
        self.windows(2)
        self.assertEqual(len(self.events("read-only", mount=folder)), 1)
        self.assertGreaterEqual(self.sum("kernel.fs.readonly", mount=folder), 2)
        subprocess.run(["mount", "-o", "remount,rw", folder], check=True)
        self.windows(2)
        count = self.sum("kernel.fs.readonly", mount=folder)
        self.windows(2)
        self.assertEqual(self.sum("kernel.fs.readonly", mount=folder), count)


if __name__ == "__main__":
    main()
