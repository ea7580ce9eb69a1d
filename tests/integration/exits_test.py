# SPDX-License-Identifier: Apache-2.0
"""Processes that live for milliseconds are all counted, under their name and their parent's, with the CPU time they used."""

import ctypes
import os
import time

from harness import AgentCase, main, so_far

PR_SET_NAME = 15
CHILDREN, BURN = 300, 0.003  # seconds of CPU each
libc = ctypes.CDLL(None, use_errno=True)


def set_name(name):
    libc.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def use_cpu_in_children():
    """Forks the children one after another from a separate process, and returns the CPU seconds that they report."""
    receive, send = os.pipe()
    parent = os.fork()
    if parent == 0:
        set_name("storm parent")
        for _ in range(CHILDREN):
            child = os.fork()
            if child == 0:
                set_name("short (one)")
                while time.process_time() < BURN:
                    pass
                os.write(send, time.process_time_ns().to_bytes(8, "little"))
                os._exit(0)
            os.waitpid(child, 0)
        os._exit(0)
    os.close(send)
    received = b""
    while chunk := os.read(receive, 65536):
        received += chunk
    os.close(receive)
    os.waitpid(parent, 0)
    assert len(received) == 8 * CHILDREN
    return sum(int.from_bytes(received[i:i + 8], "little") for i in range(0, len(received), 8)) / 1e9


class Exits(AgentCase):
    def run_storm(self, backend):
        out = self.path("out.jsonl")
        agent = self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "exits" {{ every = "250ms", a.source.proc {{ host = false, cgroups = false, backend = "{backend}" }},
              a.sink.file {{ path = "{out}", format = "samples" }} }}""")
        agent.wait_line("running")

        agent.wait_status(lambda _: len({sample["time"] for sample in so_far(out)}) >= 3)
        used = use_cpu_in_children()

        def of_children():
            return [sample for sample in so_far(out) if sample["tags"]["process"] == "short (one)"]

        agent.wait_status(lambda _: sum(sample["fields"].get("proc.exits", 0) for sample in of_children()) >= CHILDREN)
        self.assertEqual(agent.stop(), 0)
        ended = [sample for sample in of_children() if "proc.exits" in sample["fields"]]
        self.assertEqual(sum(sample["fields"]["proc.exits"] for sample in ended), CHILDREN)
        # One that a pass saw ends in its own series.
        self.assertEqual({sample["tags"].get("parent") for sample in ended if "pid" not in sample["tags"]}, {"storm parent"})
        counted = sum((sample["fields"].get("proc.cpu.user", 0) + sample["fields"].get("proc.cpu.kernel", 0)) / 100
                      * sample["duration"] / 1e9 for sample in of_children())
        lost = sum(sample["fields"].get("proc.exits.lost", 0) for sample in so_far(out))
        self.assertEqual(lost, 0)
        return agent, used, counted

    def test_bpf_counts_every_one_with_its_last_moment(self):
        if os.geteuid() != 0 or not os.path.exists("/sys/kernel/btf/vmlinux"):
            self.skipTest("needs root and the kernel's type information")
        _, used, counted = self.run_storm("bpf")
        # CPU time after they read the clock, and before, in the fork, counts too.
        self.assertGreaterEqual(counted, 0.99 * used)
        self.assertLessEqual(counted, 2 * used)

    def test_without_bpf_taskstats_reports_every_exit(self):
        if os.geteuid() != 0:
            self.skipTest("taskstats needs CAP_NET_ADMIN")
        agent, used, counted = self.run_storm("procfs")
        self.assertNotIn("have no samples", agent.errors())
        self.assertLessEqual(counted, 2 * used)


if __name__ == "__main__":
    main()
