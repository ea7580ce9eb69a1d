# SPDX-License-Identifier: Apache-2.0
"""./dev soak [SECONDS]: process churn, reloads with good and bad files, log rotation; the ledger balances, memory is flat."""

import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
from harness import BINARY, AgentCase, main  # noqa: E402

SECONDS = float(os.environ.get("ATALAYA_SOAK_SECONDS", "1800"))
FORK_STORM = os.path.join(os.path.dirname(BINARY), "tests", "bench", "fork_storm")
# 200 processes a second that are born and end, a fourth of them by way of exec.
CHURN = [FORK_STORM, "--seconds", str(int(SECONDS) + 3600), "--rate", "200", "--burn-us", "500"]

LUA = """
local a = require "atalaya"
local store = a.sink.sqlite {{ path = "{folder}/s.db", max_size = "64 MiB" }}
a.pipeline "host" {{ every = "500ms", a.source.proc {{ processes = false }}, store }}
a.pipeline "processes" {{ every = "500ms", a.source.proc {{ backend = "auto", host = false, cgroups = false }},
  a.translate.names {{}}, store,
  a.sink.file {{ path = "{folder}/f.jsonl", rotate_size = "4 MiB", keep = 2 }} }}
a.pipeline "names" {{ a.from "processes", a.translate.aggregate {{ by = {{ "process" }} }},
  function(s) s.tags.round = "{round}" return s end, a.filter.top {{ by = "proc.cpu.user", k = 5 }}, store }}
a.pipeline "self" {{ every = "1s", a.source.self {{}}, store }}
"""


class Soak(AgentCase):
    def usage(self, agent):
        """Resident MiB, open descriptors, and how many processes the host has, as these have a share in the memory."""
        with open(f"/proc/{agent.process.pid}/statm") as file:
            resident = int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
        return resident, len(os.listdir(f"/proc/{agent.process.pid}/fd")), sum(name.isdigit() for name in os.listdir("/proc"))

    def test_flat_and_balanced(self):
        churn = subprocess.Popen(CHURN, stdout=subprocess.DEVNULL)
        try:
            agent = self.run_agent(LUA.format(folder=self.folder, round=0)).running()
            begin, figures, reloads = time.monotonic(), [], 0
            while time.monotonic() - begin < SECONDS:
                time.sleep(1)
                self.assertIsNone(churn.poll(), "the churn ended")
                self.assert_balanced(agent.status())
                figures.append(self.usage(agent))
                if len(figures) % 10 == 0:
                    reloads += 1
                    agent.write(LUA.format(folder=self.folder, round=reloads))
                    agent.reload()
                    agent.wait_line("reloaded", reloads)
                    agent.write("this is no Lua")
                    agent.reload()
                    agent.wait_line("the old file runs on", reloads)
            print(f"{len(figures)} s, {reloads} good and {reloads} bad reloads")
            self.assert_flat(figures[len(figures) // 4:])
            self.assertEqual(agent.stop(), 0)
        finally:
            churn.kill()
            churn.wait()

    def assert_flat(self, figures):
        """After the warm-up: the line through what is resident hardly rises, however long it is, and descriptors stay."""
        resident, descriptors, processes = zip(*figures)
        rise = statistics.linear_regression(range(len(resident)), resident).slope * (len(resident) - 1)
        print(f"RSS {resident[0]:.1f} -> {resident[-1]:.1f} MiB, its trend {rise:+.2f} MiB in {len(resident)} s, "
              f"most {max(resident):.1f}; descriptors {descriptors[0]} -> {descriptors[-1]}; "
              f"the host had {min(processes)} to {max(processes)} processes")
        self.assertLess(max(processes), 2 * processes[0], "processes came, and memory with them; use a quiet host")
        self.assertLessEqual(rise, 0.03 * resident[0] + 0.5, "memory grows")
        before, after = statistics.median(descriptors[:9]), statistics.median(descriptors[-9:])
        self.assertLessEqual(after, before, "descriptors are left open")


if __name__ == "__main__":
    main()
