# SPDX-License-Identifier: Apache-2.0
"""A script has its name in every sample: of its first window, of the window in which it ends, and of those in between."""

import os
import subprocess
import sys
import time
from pathlib import Path

from harness import AgentCase, amount, main, so_far

JOBS = 6
SCRIPT = """
i=0
while [ $i -lt 400000 ]; do i=$((i + 1)); done
read line
"""

EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
EXECUTOR_SCRIPT = """
import subprocess, sys
subprocess.run([sys.argv[-1], "daemon.py"], check=True)
"""
DAEMON_SCRIPT = """
import os, time
def work(seconds):
    worker = os.fork()
    if worker == 0:
        while time.process_time() < seconds: pass
        os._exit(0)
    return worker
for worker in [work(0.8), work(0.8)]:
    print(worker, flush=True)
for _ in range(20): work(0.08)
while True:
    try: os.wait()
    except ChildProcessError: break
"""


class NamesInAllWindows(AgentCase):
    def check(self, backend):
        out, script = self.path("out.jsonl"), Path(self.path("nightly.sh"))
        script.write_text(SCRIPT)
        agent = self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "names" {{ every = "500ms", a.source.proc {{ host = false, cgroups = false, backend = "{backend}" }},
              a.translate.names {{ rules = require "atalaya.frameworks", wait = "1s" }},
              a.sink.file {{ path = "{out}", format = "samples" }} }}""")
        agent.wait_line("running")
        # Just after a reading, so that none comes between fork and exec.
        agent.wait_status(lambda _: len({sample["time"] for sample in so_far(out)}) >= 3)
        jobs = [subprocess.Popen(["sh", script], stdin=subprocess.PIPE) for _ in range(JOBS)]
        pids = {str(job.pid) for job in jobs}

        def seen(wanted):
            return {sample["tags"]["pid"] for sample in so_far(out) if sample["tags"].get("pid") in pids and wanted(sample)}

        agent.wait_status(lambda _: seen(lambda _: True) == pids)
        for job in jobs:
            job.communicate(b"end\n", timeout=60)
        ended = time.time_ns()
        agent.wait_status(lambda _: max(sample["time"] for sample in so_far(out)) > ended + 2 * 10**9)
        # Each end once, also of those that were still seen, as zombies, in the window that reports it.
        exits = [sample["tags"]["pid"] for sample in so_far(out)
                 if sample["tags"].get("pid") in pids for _ in range(sample["fields"].get("proc.exits", 0))]
        self.assertEqual(sorted(exits), sorted(pids))
        self.assertEqual(agent.stop(), 0)
        names = {sample["tags"]["process"] for sample in so_far(out) if sample["tags"].get("pid") in pids}
        self.assertEqual(names, {"nightly.sh"})

    def test_bpf(self):
        if os.geteuid() != 0 or not os.path.exists("/sys/kernel/btf/vmlinux"):
            self.skipTest("needs root and the kernel's type information")
        self.check("bpf")

    def test_procfs(self):
        if os.geteuid() != 0:
            self.skipTest("taskstats needs CAP_NET_ADMIN")
        self.check("procfs")

    def test_one_that_lived_within_a_window(self):
        """Its files are gone at the end of the window: they are read when it starts."""
        if os.geteuid() != 0 or not os.path.exists("/sys/kernel/btf/vmlinux"):
            self.skipTest("needs root and the kernel's type information")
        out, script = self.path("out.jsonl"), Path(self.path("nightly_job.py"))
        script.write_text("import time\nwhile time.process_time() < 0.8: pass\nprint(time.process_time())\n")
        agent = self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "names" {{ every = "10s", a.source.proc {{ host = false, cgroups = false }},
              a.translate.names {{ rules = require "atalaya.frameworks" }}, a.sink.file {{ path = "{out}", format = "samples" }} }}""")
        agent.wait_line("running")
        agent.wait_status(lambda _: any(sample["duration"] > 0 for sample in so_far(out)))
        job = subprocess.Popen([os.path.realpath(sys.executable), script], stdout=subprocess.PIPE, text=True)
        used = float(job.communicate(timeout=60)[0])
        pid = str(job.pid)
        agent.wait_status(lambda _: any(sample["tags"].get("pid") == pid and "proc.exits" in sample["fields"] for sample in so_far(out)))
        self.assertEqual(agent.stop(), 0)
        samples = [sample for sample in so_far(out) if sample["tags"].get("pid") == pid]
        self.assertEqual({sample["tags"]["process"] for sample in samples}, {"nightly_job.py"})
        counted = (amount(samples, "proc.cpu.user") + amount(samples, "proc.cpu.kernel")) / 100
        self.assertAlmostEqual(counted, used, delta=0.1 * used)

    def test_workers_that_lived_within_a_window(self):
        """Forks of a daemon that an executor started, as in PySpark, have the executor's tags, in series and in stacks."""
        if os.geteuid() != 0 or not os.path.exists("/sys/kernel/btf/vmlinux"):
            self.skipTest("needs root and the kernel's type information")
        out, folder = self.path("out.jsonl"), Path(self.path("executor"))
        folder.mkdir()
        (folder / "java").symlink_to(os.path.realpath(sys.executable))  # the kernel's name of the executor is java
        (folder / EXECUTOR).write_text(EXECUTOR_SCRIPT)
        (folder / "daemon.py").write_text(DAEMON_SCRIPT)
        agent = self.run_agent(f"""
            local a = require "atalaya"
            local sink = a.sink.file {{ path = "{out}", format = "samples" }}
            a.pipeline "names" {{ every = "10s", a.source.proc {{ host = false, cgroups = false }}, a.translate.names {{}}, sink }}
            a.pipeline "stacks" {{ every = "10s", a.source.perf {{}}, a.translate.names {{}}, sink }}""")
        agent.wait_line("running")
        agent.wait_status(lambda _: any(sample["duration"] > 0 for sample in so_far(out)))
        done = subprocess.run(["./java", EXECUTOR, "--executor-id", "3", "--app-id", "app-1", os.path.realpath(sys.executable)],
                              cwd=folder, stdout=subprocess.PIPE, text=True, timeout=60, check=True)
        workers = set(done.stdout.split())
        self.assertEqual(len(workers), 2)

        def of(metric):
            return [sample["tags"] for sample in so_far(out) if sample["tags"].get("pid") in workers and metric in sample["fields"]]

        agent.wait_status(lambda _: all({tags["pid"] for tags in of(metric)} == workers for metric in ("proc.exits", "profile.samples")))
        self.assertEqual(agent.stop(), 0)
        for metric in ("proc.exits", "profile.samples"):
            for tags in of(metric):
                self.assertEqual((metric, tags.get("application"), tags.get("executor")), (metric, "app-1", "3"))
        # Those that used less than half a second are a sum; if a window ends between them, at least one sum is half a second.
        small = [sample for sample in so_far(out) if "parent.pid" in sample["tags"] and sample["tags"]["process"].startswith("python")]
        self.assertIn("app-1", [sample["tags"].get("application") for sample in small])


if __name__ == "__main__":
    main()
