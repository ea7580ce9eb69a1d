# SPDX-License-Identifier: Apache-2.0
"""A rate times the duration of its sample is the amount that the kernel counted, also where collections are late."""

import json
import os
import subprocess
import sys

from harness import BINARY, AgentCase, main

MIB = 2**20
# Writes on request, so that the process lives in the windows before and after.
WRITER = f"""
import os, sys
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for line in sys.stdin:
    for _ in range(int(line)):
        os.write(file, b"x" * {MIB})
        os.fsync(file)
    print("done", flush=True)
"""
# Uses both cores, so that collections come late.
BURNER = "while True: pass"


class Amounts(AgentCase):
    def check(self, every):
        store = self.path("store.db")
        agent = self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "disk" {{ every = "{every}", a.source.proc {{ host = false, cgroups = false, backend = "procfs" }},
              a.sink.sqlite {{ path = "{store}" }} }}""")
        agent.wait_line("running")
        writer = subprocess.Popen([sys.executable, "-c", WRITER, self.path("file")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True)
        burners = [subprocess.Popen([sys.executable, "-c", BURNER]) for _ in range(2 * (os.cpu_count() or 1))]
        self.addCleanup(self.end, [writer, *burners])
        self.wait_total(agent, store, writer.pid, 0)  # the counters were read before the first byte
        written = 0
        for mib in (7, 1, 25):
            writer.stdin.write(f"{mib}\n")
            writer.stdin.flush()
            self.assertEqual(writer.stdout.readline(), "done\n")
            written += mib
        self.wait_total(agent, store, writer.pid, 0.99 * written)
        self.assertEqual(agent.stop(), 0)
        self.assertAlmostEqual(self.total(store, writer.pid), written, delta=0.01 * written)

    def end(self, processes):
        for process in processes:
            process.kill()
            process.communicate()

    def total(self, store, pid):
        """None: the process has no sample yet."""
        out = subprocess.run([BINARY, "query", "--store", store, "--metric", "proc.disk.writes.mb", "--tag", f"pid={pid}", "--total",
                              "--format", "json"], capture_output=True, text=True)
        if out.returncode != 0:
            return None
        series = json.loads(out.stdout)
        return series[0]["dps"][0][1] if series else None

    def wait_total(self, agent, store, pid, amount):
        def arrived(_):
            total = self.total(store, pid)
            return total is not None and total >= amount
        agent.wait_status(arrived)

    def test_windows_of_200_ms(self):
        self.check("200ms")

    def test_windows_of_1_s(self):
        self.check("1s")


if __name__ == "__main__":
    main()
