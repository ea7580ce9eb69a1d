# SPDX-License-Identifier: Apache-2.0
"""CPU counters of real processes and cgroups (the kernel's own events, where there is no PMU), and the hardware of a host."""

import glob
import json
import os
import subprocess
import sys
import unittest

from harness import BINARY, AgentCase, amount, main, so_far

# Works on command, in a thread that it starts then, and prints the kernel's counts of that.
WORKER = """
import mmap, resource, sys, threading, time
def usage():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime, used.ru_minflt + used.ru_majflt, used.ru_nvcsw + used.ru_nivcsw
def work():
    until = time.thread_time() + 0.4
    pages = mmap.mmap(-1, 4096 * 6000)
    pages.madvise(mmap.MADV_NOHUGEPAGE)
    for page in range(6000): pages[4096 * page] = 1
    for _ in range(400): time.sleep(0.0005)
    while time.thread_time() < until: pass
print("ready", flush=True)
for line in sys.stdin:
    before = usage()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    print(*(b - a for a, b in zip(before, usage())), flush=True)
"""
PARTS = ("cpu", "faults", "switches")


def perf_tree():
    """Where cgroups can be made that perf events know."""
    unified = None
    with open("/proc/self/mountinfo") as file:
        for line in file:
            fields, _, rest = line.partition(" - ")
            kind, _, options = rest.split()[:3]
            if kind == "cgroup" and "perf_event" in options.split(","):
                return fields.split()[4]
            if kind == "cgroup2":
                unified = unified or fields.split()[4]
    return unified


@unittest.skipUnless(os.geteuid() == 0, "counting other processes takes root")
class Counters(AgentCase):
    def setUp(self):
        super().setUp()
        self.output = self.path("samples")
        self.children = []
        # A separate name, by which the source finds it.
        self.name = f"w{os.getpid()}"
        os.symlink(sys.executable, self.path(self.name))

    def tearDown(self):
        for child in self.children:
            child.kill()
            child.communicate()
        super().tearDown()

    def worker(self):
        child = subprocess.Popen([self.path(self.name), "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.children.append(child)
        self.assertEqual(child.stdout.readline(), "ready\n")
        return child

    def work(self, child):
        child.stdin.write("\n")
        child.stdin.flush()
        return dict(zip(PARTS, map(float, child.stdout.readline().split())))

    def count(self, options):
        return self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "counters" {{ every = "500ms", a.source.counters {{ {options} }},
              a.sink.file {{ path = "{self.output}", format = "samples" }} }}""").running()

    def of(self, family, tags):
        return [sample for sample in so_far(self.output) if tags.items() <= sample["tags"].items()
                and any(name.startswith(family) for name in sample["fields"])]

    def until(self, agent, condition, description):
        try:
            agent.wait_status(lambda _: condition())
        except AssertionError as error:
            raise AssertionError(f"never {description}: {json.dumps(so_far(self.output)[-10:], indent=1)}\n{error}") from None

    def more(self, agent, family, tags):
        """Waits for two windows more."""
        before = len(self.of(family, tags))
        self.until(agent, lambda: len(self.of(family, tags)) >= before + 2, "two windows more")

    def check(self, family, tags, since, wanted):
        """CPU seconds, faults and switches in all windows from that number on; little is added to the work."""
        chosen = self.of(family, tags)[since:]
        for part in PARTS:
            unit = 100 if part == "cpu" else 1
            counted = amount(chosen, f"{family}.{part}") / unit
            self.assertLessEqual(counted, 1.05 * wanted[part] + 0.02, part)
            self.assertGreaterEqual(counted, 0.95 * wanted[part] - 0.02, part)

    def test_processes_and_the_threads_they_start(self):
        child, tags = self.worker(), {}
        agent = self.count(f'processes = {{ "{self.name}" }}')
        tags = {"pid": str(child.pid), "process": self.name}
        self.more(agent, "proc.counters", tags)
        since = len(self.of("proc.counters", tags))
        wanted = self.work(child)
        self.more(agent, "proc.counters", tags)
        self.check("proc.counters", tags, since, wanted)
        # Another, which ends at once after its work: also its last moments are reported, and then it is gone.
        second = self.worker()
        tags = {"pid": str(second.pid)}
        self.more(agent, "proc.counters", tags)
        since = len(self.of("proc.counters", tags))
        wanted = self.work(second)
        second.kill()
        second.communicate()
        self.more(agent, "proc.counters", {"pid": str(child.pid)})
        gone = len(self.of("proc.counters", tags))
        self.check("proc.counters", tags, since, wanted)
        self.more(agent, "proc.counters", {"pid": str(child.pid)})
        self.assertEqual(len(self.of("proc.counters", tags)), gone)
        host = self.of("sys.counters", {})
        self.assertTrue(host)
        self.assertTrue(all(sample["fields"]["sys.counters.switches"] > 0 for sample in host))
        self.assertNotIn("core", host[0]["tags"])
        if not glob.glob("/sys/bus/event_source/devices/cpu*"):
            self.assertIn("has no hardware counters", agent.errors())
            self.assertNotIn("sys.counters.ipc", host[-1]["fields"])
        self.assert_balanced(agent.status())
        self.assertEqual(agent.stop(), 0)

    def test_each_core(self):
        agent = self.count('cores = true, groups = { "software" }')
        cores = {str(cpu) for cpu in os.sched_getaffinity(0)}
        self.until(agent, lambda: cores <= {sample["tags"].get("core") for sample in self.of("sys.counters", {})}, "all cores")
        agent.stop()

    def cgroup(self, path):
        """A new one, that is gone in the end."""
        try:
            os.mkdir(path)
        except OSError as error:
            self.skipTest(f"no cgroup can be made: {error}")
        self.addCleanup(lambda: os.path.exists(path) and os.rmdir(path))

    @staticmethod
    def move(child, cgroup):
        with open(cgroup + "/cgroup.procs", "w") as file:
            file.write(str(child.pid))

    def test_cgroups_until_they_vanish(self):
        tree = perf_tree()
        if tree is None:
            self.skipTest("no tree of cgroups for perf events")
        path = f"/atalaya-test-{os.getpid()}"
        tags, others = {"cgroup": path}, {"cgroup": path + "b"}
        self.cgroup(tree + path)
        child = self.worker()
        self.move(child, tree + path)
        agent = self.count(f'host = false, cgroups = {{ "{path}*" }}')
        self.more(agent, "cgroup.counters", tags)
        since = len(self.of("cgroup.counters", tags))
        wanted = self.work(child)
        self.more(agent, "cgroup.counters", tags)
        self.check("cgroup.counters", tags, since, wanted)
        # One goes, another comes.
        self.cgroup(tree + path + "b")
        self.move(child, tree + path + "b")
        os.rmdir(tree + path)
        self.more(agent, "cgroup.counters", others)
        gone = len(self.of("cgroup.counters", tags))
        self.more(agent, "cgroup.counters", others)
        self.assertEqual(len(self.of("cgroup.counters", tags)), gone)
        self.move(child, tree)
        agent.stop()

    def test_without_privileges_it_reports_the_fix(self):
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", os.path.abspath(BINARY),
                               "try", "counters", "--windows", "1"], capture_output=True, text=True, cwd="/")
        if "Permission denied" not in done.stderr and "failed to execute" in done.stderr:
            self.skipTest("nobody may not run " + BINARY)
        if "make the plugin folder readable" in done.stderr:
            self.skipTest("nobody may not read the plugins of " + BINARY)
        with open("/proc/sys/kernel/perf_event_paranoid") as file:
            if int(file.read()) < 1:
                self.skipTest("this kernel lets everyone count")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("run as root or grant CAP_PERFMON", done.stderr)


class Inventory(AgentCase):
    """A host's tree that changes while it is looked at."""

    def setUp(self):
        super().setUp()
        self.output = self.path("samples")
        self.put("proc/cpuinfo", "processor\t: 0\nmodel name\t: Test CPU\nflags\t\t: fpu\n")
        self.put("proc/meminfo", "MemTotal:       1024 kB\n")
        self.put("proc/sys/kernel/osrelease", "6.1.0-1\n")
        self.put("sys/devices/system/cpu/online", "0\n")
        self.put("sys/block/sda/size", "2048\n")
        self.put("sys/class/net/lo/mtu", "65536\n")
        self.site("3")

    def put(self, name, text):
        path = os.path.join(self.path("root"), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "w") as file:
            file.write(text)
        os.rename(path + ".new", path)  # at once, as it is looked at meanwhile

    def site(self, replication):
        self.put("etc/hadoop/hdfs-site.xml", f"""<configuration>
          <property><name>dfs.replication</name><value>{replication}</value></property>
          <property><name>dfs.secret.key</name><value>hunter2</value></property>
          <property><name>dfs.url</name><value>http://user:hunter2@host/</value></property></configuration>""")

    def run_inventory(self):
        return self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "inventory" {{ every = "200ms",
              a.source.inventory {{ root = "{self.path("root")}", keys = {{ "*" }} }},
              a.sink.file {{ path = "{self.output}", format = "samples" }}, a.sink.sqlite {{ path = "{self.path("store.db")}" }} }}""").running()

    def spans(self, fact):
        """By (value, start): the reported lengths, in order."""
        found = {}
        for sample in so_far(self.output):
            if sample["kind"] == "span" and sample["tags"]["fact"] == fact:
                self.assertEqual(sample["text"], "fact")
                found.setdefault((sample["tags"]["value"], sample["time"]), []).append(sample["duration"])
        return found

    def test_changes_are_events_and_secrets_are_not_sent(self):
        fact = "config./etc/hadoop/hdfs-site.xml:dfs.replication"
        agent = self.run_inventory()
        agent.wait_status(lambda _: self.spans(fact))
        self.site("2")
        agent.wait_status(lambda _: len(self.spans(fact)) == 2)
        agent.stop()
        (first, begun), (second, changed) = sorted(self.spans(fact), key=lambda key: key[1])
        self.assertEqual((first, second), ("3", "2"))
        self.assertEqual(self.spans(fact), {("3", begun): [-1, changed - begun], ("2", changed): [-1]})
        self.assertEqual(set(key[0] for key in self.spans("cpu.model")), {"Test CPU"})
        # While the agent is down one thing changes and another does not.
        self.put("proc/sys/kernel/osrelease", "6.1.0-2\n")
        os.remove(self.output)
        agent = self.run_inventory()
        agent.wait_status(lambda _: len(self.spans("kernel.release")) == 2)
        agent.stop()
        self.assertEqual(self.spans(fact), {("2", changed): [-1]})
        self.assertEqual({key[0]: lengths[-1] < 0 for key, lengths in self.spans("kernel.release").items()},
                         {"6.1.0-1": False, "6.1.0-2": True})
        with open(self.output) as file:
            text = file.read()
        self.assertNotIn("hunter2", text)
        self.assertIn("http://***@host/", text)
        self.assertIn('"fact.number":1048576', text.replace(" ", ""))
        rows = subprocess.run([BINARY, "sql", "--store", self.path("store.db"), "--format", "json",
                               "SELECT json_extract(e.tags, '$.value') AS value, duration_ns FROM spans s JOIN entities e ON e.id = s.entity "
                               f"WHERE json_extract(e.tags, '$.fact') = '{fact}' ORDER BY start_ns"], capture_output=True, text=True)
        self.assertEqual(rows.returncode, 0, rows.stderr)
        self.assertEqual([(row["value"], row["duration_ns"]) for row in json.loads(rows.stdout)], [("3", changed - begun), ("2", -1)])


if __name__ == "__main__":
    main()
