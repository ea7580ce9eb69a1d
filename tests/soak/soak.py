# SPDX-License-Identifier: Apache-2.0
"""./dev soak [SECONDS]: process churn, reloads with good and bad files, log rotation; the ledger must balance and memory stay flat."""

import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
from harness import AgentCase, main  # noqa: E402

SECONDS = float(os.environ.get("ATALAYA_SOAK_SECONDS", "1800"))

LUA = """
local a = require "atalaya"
local store = a.sink.sqlite {{ path = "{folder}/s.db", max_size = "64 MiB" }}
a.pipeline "host" {{ every = "500ms", a.source.proc {{ processes = false }}, store }}
a.pipeline "processes" {{ every = "500ms", a.source.proc {{ host = false, cgroups = false }}, store,
  a.sink.file {{ path = "{folder}/f.jsonl", rotate_size = "4 MiB", keep = 2 }} }}
a.pipeline "names" {{ a.from "processes", a.translate.aggregate {{ by = {{ "process" }} }},
  function(s) s.tags.round = "{round}" return s end, a.filter.top {{ by = "proc.cpu.user", k = 5 }}, store }}
a.pipeline "self" {{ every = "1s", a.source.self {{}}, store }}
"""


class Soak(AgentCase):
    def usage(self, agent):
        with open(f"/proc/{agent.process.pid}/statm") as file:
            resident = int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
        return resident, len(os.listdir(f"/proc/{agent.process.pid}/fd"))

    def test_flat_and_balanced(self):
        churn = subprocess.Popen(["sh", "-c", "while :; do /bin/true & /bin/true & /bin/true & wait; done"])
        try:
            agent = self.run_agent(LUA.format(folder=self.folder, round=0)).running()
            begin, figures, reloads = time.monotonic(), [], 0
            while time.monotonic() - begin < SECONDS:
                time.sleep(1)
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
            quarter = len(figures) // 4
            early, late = max(figures[quarter:2 * quarter]), max(figures[-quarter:])
            print(f"{len(figures)} s, {reloads} good and {reloads} bad reloads, RSS {early[0]:.1f} -> {late[0]:.1f} MiB, "
                  f"descriptors {early[1]} -> {late[1]}")
            self.assertLessEqual(late[0], early[0] * 1.05 + 1, "memory grows")
            self.assertEqual(agent.stop(), 0)
        finally:
            churn.kill()
            churn.wait()


if __name__ == "__main__":
    main()
