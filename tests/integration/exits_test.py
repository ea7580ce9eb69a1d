# SPDX-License-Identifier: Apache-2.0
"""Processes that live for milliseconds are all counted, under their name and their parent's, with the CPU time they used."""

import ctypes
import json
import os
import resource
import tempfile
import time

from harness import AgentCase, amount, main, so_far

PR_SET_NAME = 15
CHILDREN, BURN = 300, 0.003  # seconds of CPU each
MIB = 1 << 20
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


def use_in_window(folder, name, pairs):
    """Processes of 0.3 s of CPU time, two at a time, that write 1 MiB each; returns the CPU seconds that the kernel charged them."""
    receive, send = os.pipe()
    parent = os.fork()
    if parent == 0:
        for _ in range(pairs):
            children = [os.fork(), 0]
            children[1] = os.fork() if children[0] else 0
            if not all(children):
                set_name(name)
                with open(os.path.join(folder, f"written.{os.getpid()}"), "wb") as file:
                    file.write(b"x" * MIB)
                    file.flush()
                    os.fsync(file.fileno())
                while time.process_time() < 0.3:
                    pass
                os._exit(0)
            for child in children:
                os.waitpid(child, 0)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        os.write(send, json.dumps(used.ru_utime + used.ru_stime).encode())
        os._exit(0)
    os.close(send)
    with os.fdopen(receive) as file:
        used = json.load(file)
    os.waitpid(parent, 0)
    return used


def total_exits(samples):
    return sum(sample["fields"].get("proc.exits", 0) for sample in samples)


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
        counted = (amount(of_children(), "proc.cpu.user") + amount(of_children(), "proc.cpu.kernel")) / 100
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

    def test_a_long_window_has_all_of_short_processes(self):
        """They end at the beginning of a window of 20 s."""
        if os.geteuid() != 0 or not os.path.exists("/sys/kernel/btf/vmlinux"):
            self.skipTest("needs root and the kernel's type information")
        name = f"short {os.getpid()}"  # other runs have others
        least = {"bpf": 0.99, "procfs": 0.95}  # taskstats lacks the last tick of each
        out = {backend: self.path(backend + ".jsonl") for backend in least}
        agent = self.run_agent('local a = require "atalaya"\n' + "".join(f"""
            a.pipeline "{backend}" {{ every = "20s", a.source.proc {{ host = false, cgroups = false, backend = "{backend}" }},
              a.sink.file {{ path = "{path}", format = "samples" }} }}""" for backend, path in out.items()))
        agent.wait_line("running")
        agent.wait_status(lambda _: all(any(sample["duration"] > 0 for sample in so_far(path)) for path in out.values()))
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:  # on a disk, where /tmp is in memory
            used = use_in_window(folder, name, pairs=10)

        def ended(backend):
            return [sample for sample in so_far(out[backend]) if sample["tags"]["process"] == name]

        agent.wait_status(lambda _: all(total_exits(ended(backend)) >= 20 for backend in out))
        self.assertEqual(agent.stop(), 0)
        for backend, path in out.items():
            with self.subTest(backend):
                self.assertEqual(total_exits(ended(backend)), 20)
                self.assertEqual(sum(sample["fields"].get("proc.exits.lost", 0) for sample in so_far(path)), 0)
                counted = (amount(ended(backend), "proc.cpu.user") + amount(ended(backend), "proc.cpu.kernel")) / 100
                self.assertGreaterEqual(counted, least[backend] * used)
                self.assertLessEqual(counted, 1.01 * used)
                written = amount(ended(backend), "proc.disk.writes.mb")
                self.assertGreaterEqual(written, 0.99 * 20)
                self.assertLessEqual(written, 1.1 * 20)  # and blocks of the file system


if __name__ == "__main__":
    main()
