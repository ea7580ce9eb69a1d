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


if __name__ == "__main__":
    main()
