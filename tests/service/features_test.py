# SPDX-License-Identifier: Apache-2.0
"""Each feature with the capabilities of its drop-in and no others, as another user on this host: its visible effect exists, and is
missing without them. Features that need a separate host are in service_test.py."""

import collections
import contextlib
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from harness import BINARY, PATIENCE, AgentCase, forget_jvm, so_far  # noqa: E402
from kernel_test import HUNGRY, Cgroup  # noqa: E402

USER = 65534
REGIONS = os.environ.get("ATALAYA_REGIONS", "build/release/tests/integration/regions")
IN_THE_MACHINE = {"names-containers"}  # service_test.py
BUSY = "class Busy { static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); } public static void main(String[] a) { for (;;) fib(30); } }"
SLEEPER = "class Sleeper { public static void main(String[] a) throws Exception { System.out.println(); System.in.read(); } }"


def drop_in(atalaya, feature):
    done = subprocess.run([atalaya, "doctor", "--drop-in", feature], capture_output=True, text=True, check=True)
    return sorted(name.lower().removeprefix("cap_") for name in re.findall(r"(?m)^AmbientCapabilities=(\S+)$", done.stdout))


@unittest.skipUnless(os.geteuid() == 0, "only root can give single capabilities")
@unittest.skipUnless(shutil.which("setpriv"), "needs setpriv: apt-get install util-linux")
class Features(AgentCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="atalaya-test-")
        cls.addClassCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)  # a copy that the other user may run
        cls.atalaya = shutil.copy(BINARY, folder.name)
        shutil.copytree(os.path.join(os.path.dirname(os.path.abspath(BINARY)), "plugins"), os.path.join(folder.name, "plugins"))
        if "ATALAYA_LUA" in os.environ:  # the tree may be in a folder of root alone
            lua = shutil.copytree(os.environ["ATALAYA_LUA"], os.path.join(folder.name, "lua"))
            cls.enterClassContext(unittest.mock.patch.dict(os.environ, ATALAYA_LUA=lua))

    def as_user(self, names):
        given = ",".join(["-all", *("+" + name for name in names)])
        return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--inh-caps=" + given, "--ambient-caps=" + given,
                "--bounding-set=" + given, "--no-new-privs"]

    def windows(self, names, *stages, every="500ms"):
        """Output of the pipeline in two whole windows."""
        out = self.path("out")
        if os.path.exists(out):
            os.remove(out)
        os.chown(self.folder, USER, USER)
        lines = "".join(f"  {stage},\n" for stage in stages)
        agent = self.run_agent(f'local a = require "atalaya"\na.pipeline "test" {{\n  every = "{every}",\n{lines}'
                               f'  a.sink.file {{ path = "{out}" }},\n}}\n', "--drop", wrapper=self.as_user(names), binary=self.atalaya)
        agent.running()
        agent.wait_status(lambda status: len({point["timestamp"] for point in self.points(out)}) > 3)
        self.assertEqual(agent.stop(), 0, agent.errors())
        return self.points(out)

    @staticmethod
    def points(path):
        """But for spans, which have no timestamp."""
        return [point for point in so_far(path) if "timestamp" in point]

    def proc_bpf(self, names):
        if not os.path.exists("/sys/kernel/btf/vmlinux"):
            self.skipTest("the kernel has no BTF")
        done = subprocess.run([*self.as_user(names), self.atalaya, "try", "proc", "backend=bpf", "host=false", "cgroups=false", "--windows",
                               "2", "--format", "json"], capture_output=True, text=True, cwd="/")
        return done.returncode == 0 and '"proc.cpu.' in done.stdout

    def proc_exits(self, names):
        short = self.path("short-lived")
        if not os.path.exists(short):  # the last one of before may still run
            shutil.copy("/bin/true", short)
        ends = subprocess.Popen(["sh", "-c", f"while true; do {short}; done"])
        try:
            return any(point["tags"].get("process") == "short-lived" and "pid" not in point["tags"]
                       for point in self.windows(names, 'a.source.proc { host = false, cgroups = false, backend = "procfs" }'))
        finally:
            ends.kill()
            ends.wait()

    def names_starts(self, names):
        script = self.path("short.py")
        with open(script, "w") as file:
            file.write("import time\nwhile time.process_time() < 0.6: pass\n")
        with self.repeated(lambda: subprocess.run([os.path.realpath(sys.executable), script])):
            found = self.windows(names, 'a.source.proc { host = false, cgroups = false, backend = "procfs" }', "a.translate.names {}", every="3s")
        times, ended = collections.defaultdict(set), set()
        for point in found:
            if point["tags"].get("process") == "short.py":
                times[point["tags"]["pid"]].add(point["timestamp"])
                if point["metric"] == "proc.exits":
                    ended.add(point["tags"]["pid"])
        return any(len(times[pid]) == 1 for pid in ended)  # no pass saw it: it is in the window of its end only

    def proc_io(self, names):
        # A process of root that starts no child: that of the test does, and its own I/O is unknown in those windows.
        reads = "import time\nwhile True:\n  open('/proc/uptime').read()\n  time.sleep(0.05)"
        reader = subprocess.Popen([sys.executable, "-c", reads])
        try:
            return any(point["metric"].startswith("proc.io.") and point["tags"].get("pid") == str(reader.pid)
                       for point in self.windows(names, 'a.source.proc { host = false, cgroups = false, backend = "procfs" }'))
        finally:
            reader.kill()
            reader.wait()

    def net_bpf(self, names):
        if not os.path.exists("/sys/kernel/btf/vmlinux"):
            self.skipTest("the kernel has no BTF")
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
            taken, _ = server.accept()
            ended = threading.Event()

            def talk():
                while not ended.wait(0.1):
                    client.send(b"x" * 1000)
                    taken.recv(1000)
            talks = threading.Thread(target=talk)
            talks.start()
            try:
                found = self.windows(names, "a.source.net {}")
            finally:
                ended.set()
                talks.join()
                taken.close()
            port = str(server.getsockname()[1])
            return any(point["metric"] == "flow.out.bytes" and point["tags"].get("pid") == str(os.getpid()) and point["value"] > 0
                       and point["tags"].get("port") == port for point in found)

    @contextlib.contextmanager
    def repeated(self, action):
        ended = threading.Event()

        def repeat():
            while not ended.wait(0.2):
                action()
        thread = threading.Thread(target=repeat)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def kernel_log(self, names):
        for path, wanted in (("/proc/sys/debug/exception-trace", "1"), ("/proc/sys/kernel/dmesg_restrict", "1")):
            with open(path) as file:
                if file.read().strip() != wanted:
                    self.skipTest(path + " is not " + wanted)
        crash = [sys.executable, "-c", "import ctypes; ctypes.string_at(8)"]
        with self.repeated(lambda: subprocess.run(crash, stderr=subprocess.DEVNULL)):
            return any(point["metric"] == "kernel.crashes" for point in self.windows(names, "a.source.kernel {}", "a.source.self {}"))

    def kernel_bpf(self, names):
        if not os.path.exists("/sys/kernel/btf/vmlinux"):
            self.skipTest("the kernel has no BTF")
        cgroup = Cgroup(f"atalaya-feature-{os.getpid()}")
        try:
            cgroup.limit(memory=30 << 20)
            with self.repeated(lambda: cgroup.run(sys.executable, "-c", HUNGRY.format(threads=0)).wait()):
                return any(point["metric"] == "kernel.oom.kills" and "process" in point["tags"]
                           for point in self.windows(names, "a.source.kernel {}", "a.source.self {}"))
        finally:
            cgroup.remove()

    def net_peers(self, names):
        if not os.path.exists("/sys/kernel/btf/vmlinux"):
            self.skipTest("the kernel has no BTF")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            server.bind(("127.0.0.1", 0))

            def talk():
                client.sendto(b"x" * 1000, server.getsockname())
                server.recvfrom(1000)
            with self.repeated(talk):
                found = self.windows(names, "a.source.net { udp = true }", "a.source.self {}")
            port = str(server.getsockname()[1])
            return any(point["metric"] == "flow.out.bytes" and point["tags"].get("pid") == str(os.getpid()) and point["value"] > 0
                       and point["tags"].get("port") == port and point["tags"]["remote"] == "127.0.0.1" for point in found)

    def nat(self, names):
        if not os.path.exists("/proc/sys/net/netfilter/nf_conntrack_count"):
            self.skipTest("the kernel does not track connections")
        return any(point["metric"] == "nat.tracked" for point in self.windows(names, "a.source.nat {}", "a.source.self {}"))

    def names_jvms(self, names):
        if shutil.which("javac") is None:
            self.skipTest("needs javac: apt-get install default-jdk-headless")
        with open(self.path("Sleeper.java"), "w") as file:
            file.write(SLEEPER)
        subprocess.run(["javac", "-J-XX:TieredStopAtLevel=1", "-d", self.folder, self.path("Sleeper.java")], check=True)
        with open(self.path("options"), "w") as file:
            file.write(f"-cp {self.folder} Sleeper")
        # Its command line does not name its program.
        jvm = subprocess.Popen(["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "@" + self.path("options")], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
        try:
            jvm.stdout.readline()
            found = self.windows(names, 'a.source.proc { host = false, cgroups = false, backend = "procfs" }', "a.translate.names {}")
            return any(point["tags"].get("process") == "Sleeper" for point in found)
        finally:
            jvm.kill()
            jvm.communicate()
            forget_jvm(jvm.pid)

    def names_job_environment(self, names):
        """The environment of root's process, which has a job's number in it."""
        with subprocess.Popen(["sleep", "infinity"], env={"SLURM_JOB_ID": "777"}) as child:
            try:
                found = self.windows(names, 'a.source.proc { host = false, cgroups = false, backend = "procfs" }',
                                     'a.translate.names { job_environment = true, tags = { "job" } }')
                return any(point["tags"].get("pid") == str(child.pid) and point["tags"].get("job") == "777" for point in found)
            finally:
                child.kill()

    def btrace_logs(self, names):
        """A line of a log that only root may read."""
        out = self.path("spans")
        with open(self.path("log"), "w") as log:
            log.write("number = 1\n")
        os.chmod(self.path("log"), 0o600)
        if os.path.exists(out):
            os.remove(out)
        os.chown(self.folder, USER, USER)
        agent = self.run_agent(f'local a = require "atalaya"\na.pipeline "log" {{ a.source.btrace {{ path = "{self.path("log")}" }},\n'
                               f'  a.sink.file {{ path = "{out}" }} }}\n', "--drop", wrapper=self.as_user(names), binary=self.atalaya)
        agent.running()
        agent.wait_status(lambda status: self.points(out) or any("its lines wait" in line for line in agent.lines if line))
        self.assertEqual(agent.stop(), 0, agent.errors())
        return any(point["metric"] == "btrace.number" for point in self.points(out))

    def profile(self, names, *options, busy=(sys.executable, "-c", "while True: pass")):
        """Stacks that are seen while a process of root is busy."""
        process = subprocess.Popen(busy, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            done = subprocess.run([*self.as_user(names), self.atalaya, "try", "perf", *options, "--windows", "3", "--format", "json"],
                                  capture_output=True, text=True, cwd="/")
            return done.stdout if done.returncode == 0 else ""
        finally:
            process.kill()
            process.wait()
            forget_jvm(process.pid)

    def counters(self, names):
        done = subprocess.run([*self.as_user(names), self.atalaya, "try", "counters", "--windows", "2", "--format", "json"],
                              capture_output=True, text=True, cwd="/")
        return done.returncode == 0 and '"sys.counters.switches"' in done.stdout

    def perf(self, names):
        return "python3" in self.profile(names, "backend=ring")

    def perf_bpf(self, names):
        if not os.path.exists("/sys/kernel/btf/vmlinux"):
            self.skipTest("the kernel has no BTF")
        return "python3" in self.profile(names, "backend=bpf")

    def perf_symbols(self, names):
        return "_PyEval_EvalFrameDefault" in self.profile(names)

    def perf_kallsyms(self, names):
        found = self.profile(names, busy=("dd", "if=/dev/zero", "of=/dev/null", "bs=4k"))
        return re.search(r";\w*read\w*_\[k\]", found) is not None

    def perf_jvm(self, names):
        if shutil.which("javac") is None:
            self.skipTest("needs javac: apt-get install default-jdk-headless")
        with open(self.path("Busy.java"), "w") as file:
            file.write(BUSY)
        subprocess.run(["javac", "-d", self.folder, self.path("Busy.java")], check=True)
        java = ("java", "-XX:+PreserveFramePointer", "-cp", self.folder, "Busy")
        return "long Busy.fib(int)_[j]" in self.profile(names, "jvm_refresh=1s", busy=java)

    def jvm_others(self, names):
        if shutil.which("javac") is None:
            self.skipTest("needs javac: apt-get install default-jdk-headless")
        with open(self.path("Sleeper.java"), "w") as file:
            file.write(SLEEPER)
        subprocess.run(["javac", "-J-XX:TieredStopAtLevel=1", "-d", self.folder, self.path("Sleeper.java")], check=True)
        jvm = subprocess.Popen(["java", "-cp", self.folder, "Sleeper"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            jvm.stdout.readline()
            reported = {point["metric"] for point in self.windows(names, 'a.source.jvm { main = { "Sleeper" } }, a.source.self {}')
                    if point["tags"].get("pid") == str(jvm.pid) and "metric" in point and (point["metric"] != "jvm.profile.rate" or point["value"] > 0)}
            return {"jvm.heap.used", "jvm.profile.rate"} <= reported
        finally:
            jvm.kill()
            jvm.communicate()
            forget_jvm(jvm.pid)

    def perf_deleted(self, names):
        copy = shutil.copy("/bin/bash", self.path("copy"))
        return "execute_command" in self.profile(names, busy=(copy, "-c", 'rm "$0"; while :; do :; done', copy))

    def region(self, names, mode):
        """Whether a function is seen of a program that runs again and again."""
        if not os.path.exists("/sys/kernel/btf/vmlinux") or not os.path.exists("/sys/bus/event_source/devices/uprobe"):
            self.skipTest("the kernel has no BTF, or no uprobes")
        program = self.path(f"program-{mode:o}")
        if not os.path.exists(program):
            shutil.copy(REGIONS, program)
        os.chmod(program, mode)
        runs = subprocess.Popen(["sh", "-c", f"while {program} hot 3; do :; done"], stdout=subprocess.DEVNULL)
        try:
            regions = f'{{ name = "hot", binary = "{program}", enter = "hot", leave = "return" }}'
            return any(point["metric"] == "region.calls" and point["value"] > 0
                       for point in self.windows(names, f"a.source.uprobe {{ regions = {{ {regions} }} }}", "a.source.self {}"))
        finally:
            runs.kill()
            runs.wait()

    def uprobe(self, names):
        return self.region(names, 0o755)

    def uprobe_files(self, names):
        return self.region(names, 0o700)

    def machine(self):
        """A tree of a machine that measures, in files that only root may read."""
        tree = self.path("machine")
        zone, msr = os.path.join(tree, "sys/class/powercap/intel-rapl:0"), os.path.join(tree, "dev/cpu/0")
        if not os.path.exists(tree):
            for folder in (zone, msr, os.path.join(tree, "proc"), os.path.join(tree, "sys/devices/system/cpu/cpu0/topology")):
                os.makedirs(folder)
            os.symlink("/proc/stat", os.path.join(tree, "proc/stat"))
            for path, text in (("proc/cpuinfo", "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 85\n"),
                               ("sys/devices/system/cpu/online", "0\n"),
                               ("sys/devices/system/cpu/cpu0/topology/core_id", "0\n"),
                               ("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n"),
                               ("sys/class/powercap/intel-rapl:0/name", "package-0\n"),
                               ("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n"),
                               ("sys/class/powercap/intel-rapl:0/energy_uj", "1000000\n")):
                with open(os.path.join(tree, path), "w") as file:
                    file.write(text)
            with open(os.path.join(msr, "msr"), "wb") as file:  # a register's address is its place
                for address, value in ((0x606, 0xA0E03), (0x611, 1000)):
                    file.seek(address)
                    file.write(struct.pack("<Q", value))
            for path in (os.path.join(zone, "energy_uj"), os.path.join(msr, "msr")):
                os.chmod(path, 0o400)
        return tree

    @contextlib.contextmanager
    def measuring(self):
        """The same while it draws 20 W: an unchanged counter measures nothing."""
        tree, ended = self.machine(), threading.Event()

        def count():
            joules = 1
            while not ended.wait(0.05):
                joules += 1
                with open(os.path.join(tree, "sys/class/powercap/intel-rapl:0/energy_uj"), "r+") as file:
                    file.write(f"{joules}000000\n")
                with open(os.path.join(tree, "dev/cpu/0/msr"), "r+b") as file:
                    file.seek(0x611)
                    file.write(struct.pack("<Q", joules * 16384))
        counts = threading.Thread(target=count)
        counts.start()
        try:
            yield tree
        finally:
            ended.set()
            counts.join()

    def power(self, names, options, metric):
        with self.measuring() as tree:
            return any(point["metric"] == metric
                       for point in self.windows(names, f'a.source.power {{ root = "{tree}", {options} }}', "a.source.self {}"))

    def power_rapl(self, names):
        return self.power(names, 'rapl = "powercap"', "sys.cpu.energy")

    def power_msr(self, names):
        return self.power(names, 'rapl = "off"', "sys.cpu.mhz.tsc")

    def power_ipmi(self, names):
        if not os.path.exists("/dev/ipmi0"):
            self.skipTest("this host has no management controller")
        done = subprocess.run([*self.as_user(names), self.atalaya, "try", "power", "--windows", "2", "--format", "json"],
                              capture_output=True, text=True, cwd="/")
        return '"meter":"ipmi"' in done.stdout

    def energy(self, names, rapl):
        processes = 'a.source.proc { host = false, cgroups = false, backend = "procfs" }'
        with self.measuring() as tree:
            return any(point["metric"] == "sys.energy.packages" for point in
                       self.windows(names, processes, f'a.translate.energy {{ root = "{tree}", rapl = "{rapl}" }}'))

    def energy_rapl(self, names):
        return self.energy(names, "powercap")

    def energy_msr(self, names):
        return self.energy(names, "msr")

    @staticmethod
    def comes(seen, names):
        """Whether it is seen at last: a busy host may not get to it in the first windows."""
        until = time.monotonic() + PATIENCE
        while not seen(names):
            if time.monotonic() > until:
                return False
        return True

    def test_each_is_there_with_its_drop_in_and_not_without(self):
        features = json.loads(subprocess.run([self.atalaya, "doctor", "--format", "json"], capture_output=True, text=True).stdout)
        wanting = {feature["feature"] for feature in features if feature["drop_in"]} - IN_THE_MACHINE
        self.assertTrue(wanting)
        for feature in sorted(wanting):
            with self.subTest(feature=feature):
                seen = getattr(self, feature.replace("-", "_"), None)
                self.assertIsNotNone(seen, "add the visible effect of " + feature)
                self.assertTrue(self.comes(seen, drop_in(self.atalaya, feature)))
                self.assertFalse(seen([]))

    def test_only_plugins_installed_by_root_get_capabilities(self):
        plugins = self.path("plugins")
        os.mkdir(plugins)
        shutil.copy(os.path.join(os.path.dirname(self.atalaya), "plugins", "source_proc.so"), plugins)
        for path in (self.folder, plugins, os.path.join(plugins, "source_proc.so")):
            os.chown(path, USER, USER)
        agent = self.run_agent(f'local a = require "atalaya"\na.pipeline "test" {{ every = "500ms", a.source.proc {{}}, '
                               f'a.sink.file {{ path = "{self.path("out")}" }} }}', "--drop", "--plugins", plugins,
                               wrapper=self.as_user(["bpf", "perfmon"]), binary=self.atalaya)
        self.assertNotEqual(agent.join(), 0)
        self.assertIn("is not root's, so it gets no capabilities", agent.errors())


if __name__ == "__main__":
    unittest.main(verbosity=2)
