# SPDX-License-Identifier: Apache-2.0
"""Known loads are measured within 2 %: CPU and memory by stress-ng, disk by direct writes."""

import mmap
import os
import shutil
import signal
import subprocess
import unittest

from harness import AgentCase, amount, main, so_far

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


class Loads(AgentCase):
    def start_agent(self):
        self.out = self.path("out.jsonl")
        agent = self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "load" {{ every = "1s", a.source.proc {{ host = false, cgroups = false }},
              a.sink.file {{ path = "{self.out}", format = "samples" }} }}""").running()
        # Two windows in, rates flow: processes born from now on are seen from their birth.
        self.wait_windows(agent, 3)
        return agent

    def wait_windows(self, agent, count):
        """Until `count` more windows have been written."""
        have = self.windows()
        agent.wait_status(lambda status: self.windows() >= have + count)

    def windows(self):
        return len({sample["time"] for sample in self.samples()}) if os.path.exists(self.out) else 0

    def samples(self):
        return so_far(self.out)

    def of(self, pid):
        return [sample for sample in self.samples() if sample["tags"].get("pid") == str(pid)]

    def check(self, pid, names, done):
        """Whether the amounts of the process sum up to that, within 2 %."""
        shown = sum(amount(self.of(pid), name) for name in names)
        self.assertLessEqual(shown, 1.02 * done)
        self.assertGreaterEqual(shown, 0.98 * done)

    @unittest.skipUnless(shutil.which("stress-ng"), "stress-ng is not installed")
    def test_cpu_and_memory_of_stress_ng(self):
        agent = self.start_agent()
        load = subprocess.Popen(["stress-ng", "--quiet", "--cpu", "1", "--vm", "1", "--vm-bytes", "200m", "--vm-keep", "--vm-hang", "0", "--timeout", "60"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            agent.wait_status(lambda status: any(cpu_seconds(pid) > 4 for pid in children(load.pid)))
            workers = children(load.pid)
            grown = [worker for pid in workers for worker in [pid, *children(pid)]]
            for pid in grown:
                os.kill(pid, signal.SIGSTOP)
            self.wait_windows(agent, 3)  # their use until now is in
            busiest = max(grown, key=cpu_seconds)
            used = cpu_seconds(busiest)
            self.check(busiest, ("proc.cpu.user", "proc.cpu.kernel"), 100 * used)

            def resident(pid):
                with open(f"/proc/{pid}/statm") as file:
                    return int(file.read().split()[1]) * mmap.PAGESIZE / 2**20
            largest = max(grown, key=resident)
            self.assertGreater(resident(largest), 190)
            self.assertAlmostEqual(self.of(largest)[-1]["fields"]["proc.mem.resident"] / resident(largest), 1, delta=0.02)
        finally:
            os.killpg(load.pid, signal.SIGKILL)
            load.wait()
        self.assertEqual(agent.stop(), 0)

    def test_bytes_written_by_a_process(self):
        agent = self.start_agent()
        block = mmap.mmap(-1, 2**20)
        target = os.path.join(os.getcwd(), ".load-test")
        file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_DSYNC)
        try:
            for _ in range(5):
                for _ in range(10):
                    os.write(file, block)
                self.wait_windows(agent, 1)
            self.wait_windows(agent, 2)
            self.check(os.getpid(), ("proc.disk.writes.mb",), 50)
        finally:
            os.close(file)
            os.unlink(target)
        self.assertEqual(agent.stop(), 0)


if __name__ == "__main__":
    main()
