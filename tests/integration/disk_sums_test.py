# SPDX-License-Identifier: Apache-2.0
"""The kernel adds the I/O of a child to the parent that waits for it: a shell above many dd counts none of their bytes."""

import os
import subprocess
from pathlib import Path

from harness import AgentCase, main, so_far

DDS, MIB = 24, 4
SHELLS = f"""
if [ "$2" -gt 0 ]; then sh "$0" "$1" $(($2 - 1)); exit; fi  # each shell waits for the next one
i=0
while [ $i -lt {DDS} ]; do
  dd if=/dev/zero of="$1" bs=1M count={MIB} conv=fsync
  i=$((i + 1))
done
"""


def written_by_host():
    """MiB that all disks have written; stacked and RAM devices are not among them here."""
    sectors = 0
    for fields in map(str.split, Path("/proc/diskstats").read_text().splitlines()):
        if os.path.exists(f"/sys/block/{fields[2]}/device"):
            sectors += int(fields[9])
    return sectors / 2048


class DiskSums(AgentCase):
    def storm(self, backend):
        out, file = self.path("out.jsonl"), self.path("file")
        agent = self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "disk" {{ every = "250ms", a.source.proc {{ host = false, cgroups = false, backend = "{backend}" }},
              a.sink.file {{ path = "{out}", format = "samples" }} }}""")
        agent.wait_line("running")
        agent.wait_status(lambda _: len({sample["time"] for sample in so_far(out)}) >= 3)
        os.sync()
        before = written_by_host()
        script = Path(self.path("shells.sh"))
        script.write_text(SHELLS)
        subprocess.run(["sh", script, file, "3"], check=True, stderr=subprocess.DEVNULL, timeout=120)

        def of_dd():
            return sum(sample["fields"].get("proc.exits", 0) for sample in so_far(out) if sample["tags"]["process"] == "dd")

        agent.wait_status(lambda _: of_dd() >= DDS)
        written = written_by_host() - before
        self.assertEqual(agent.stop(), 0)
        return so_far(out), written

    def check(self, backend):
        samples, written = self.storm(backend)

        def sum_of(names):
            return sum(sample["fields"].get("proc.disk.writes.mb", 0) * sample["duration"] / 1e9
                       for sample in samples if sample["tags"]["process"] in names)

        self.assertLessEqual(sum_of({"sh", "dash", "bash"}), 0.1)
        self.assertAlmostEqual(sum_of({"dd"}), DDS * MIB, delta=0.01 * DDS * MIB)
        self.assertLessEqual(sum_of({"dd", "sh", "dash", "bash"}), 1.01 * written)

    def test_bpf(self):
        if os.geteuid() != 0 or not os.path.exists("/sys/kernel/btf/vmlinux"):
            self.skipTest("needs root and the kernel's type information")
        self.check("bpf")

    def test_procfs(self):
        if os.geteuid() != 0:
            self.skipTest("taskstats needs CAP_NET_ADMIN")
        self.check("procfs")


if __name__ == "__main__":
    main()
