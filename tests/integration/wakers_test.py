# SPDX-License-Identifier: Apache-2.0
"""Bursts of the source perf: each wait has an owner, and the waits of a thread and its CPU time are its wall time."""

import os
import re
import subprocess
import unittest

from harness import BINARY, PATIENCE, AgentCase, main, so_far

PROGRAM = os.environ.get("ATALAYA_PLANTED_WAITS", "build/release/tests/integration/planted_waits")
ROUNDS, TURNS, TURN = 10, 20, 0.02  # as in planted_waits.cpp
BURST = 12  # seconds
URGENT = -10


@unittest.skipUnless(os.geteuid() == 0, "sampling other processes takes root")
class Wakers(AgentCase):
    def setUp(self):
        super().setUp()
        self.samples, self.store, self.children = self.path("samples"), self.path("store.db"), []

    def tearDown(self):
        for child in self.children:
            child.kill()
            child.communicate()
        super().tearDown()

    def start(self, name, *words):
        """A copy of the program of this name."""
        os.link(PROGRAM, self.path(name)) if os.stat(PROGRAM).st_dev == os.stat(self.folder).st_dev else \
            subprocess.run(["cp", PROGRAM, self.path(name)], check=True)
        child = subprocess.Popen([self.path(name), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.children.append(child)
        os.setpriority(os.PRIO_PROCESS, child.pid, URGENT)
        return child

    def agent(self):
        return self.run_agent(f"""
            local a = require "atalaya"
            local store = a.sink.sqlite {{ path = "{self.store}", retain = "0s" }}
            a.pipeline "profile" {{ every = "1s",
              a.source.perf {{ wakers = "{BURST}s", wakers_every = "1h", max_stacks = 65536, tasks = true, task_names = {{ "~^round-(?P<task>[a-z0-9]+)$" }} }},
              a.sink.file {{ path = "{self.samples}", format = "samples" }}, store }}
            a.pipeline "flows" {{ every = "1s", a.source.net {{}}, store }}""",
            preexec=lambda: os.nice(URGENT)).running()

    def accounts(self):
        return [sample["fields"] for sample in so_far(self.samples) if sample["kind"] == "metrics" and "perf.burst.time" in sample["fields"]]

    def waits(self):
        return [sample for sample in so_far(self.samples) if sample["kind"] == "stack" and sample["tags"]["profile"] == "waker"]

    def owners(self, task):
        """Seconds by owner."""
        owners = {}
        for sample in self.waits():
            if sample["tags"].get("task") == task:
                owner = sample["tags"]["owner"]
                owners[owner] = owners.get(owner, 0) + sample["fields"]["profile.ns"] / 1e9
        return owners

    def first_owner(self, task):
        """Of the waits for others than a CPU: this machine may be busy."""
        owners = {owner: seconds for owner, seconds in self.owners(task).items() if owner != "a CPU"}
        return max(owners, key=owners.get), owners

    def table(self, task):
        done = subprocess.run([BINARY, "flamegraph", "--store", self.store, "--profile", "waker", "--task", task, "--by", "owner",
                               "--format", "table"], capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    @staticmethod
    def uncounted():
        """Seconds in which a thread may be on a CPU without running: taken by the host of this machine, or by interrupts."""
        with open("/proc/stat") as file:
            words = next(line for line in file if line.startswith("cpu ")).split()
        return sum(int(word) for word in words[6:9]) / os.sysconf("SC_CLK_TCK")

    def disk(self):
        """The disk of the test's folder; "": unknown."""
        device = os.stat(self.folder).st_dev
        link = f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"
        if not os.path.exists(link):
            return ""
        path = os.path.realpath(link)
        return os.path.basename(os.path.dirname(path) if os.path.exists(path + "/partition") else path)

    def test_waits_have_owners_and_add_up(self):
        agent = self.agent()
        server = self.start("slowpeer", "serve")
        port = server.stdout.readline().strip()
        child = self.start("planted", "wait", self.folder, port)
        agent.wait_status(lambda _: len(self.accounts()) >= 2)
        before = self.uncounted()
        child.stdin.write("\n")
        child.stdin.flush()
        wall, cpu = (float(word) for word in child.stdout.readline().split())
        uncounted = self.uncounted() - before
        agent.wait_status(lambda _: any(account["perf.burst.time"] > 0 for account in self.accounts()))
        agent.wait_status(lambda _: self.accounts()[-1]["perf.burst.time"] == 0)
        agent.stop()

        # The ledger of the bursts.
        burst = sum(account["perf.burst.time"] for account in self.accounts()) / 1e9
        self.assertGreaterEqual(burst, BURST)
        total = {name: sum(account[f"perf.burst.{name}"] for account in self.accounts()) for name in ("waits", "lost", "filtered", "unfollowed")}
        self.assertEqual(total["waits"], total["lost"] + total["filtered"] + sum(sample["fields"]["profile.samples"] for sample in self.waits()))
        self.assertTrue(all(sample["tags"].get("owner") and sample["tags"].get("reason") for sample in self.waits()))

        # The law: waits and CPU time are wall time. Other processes of a busy machine may fill the kernel's map.
        owners = self.owners("sum")
        parts = sum(owners.values()) + cpu
        self.assertLess(parts, 1.01 * wall, owners)
        if total["lost"] + total["unfollowed"] == 0:
            self.assertGreater(parts, 0.99 * wall - uncounted, owners)
        self.assertGreater(owners.get("a timer", 0), 0.9 * TURNS * TURN, owners)
        self.assertGreater(owners.get(f"partner of planted-{child.pid}", 0), 0, owners)

        # Each of the planted owners, 10 of 10.
        for i in range(ROUNDS):
            first, owners = self.first_owner(f"lock{i}")
            self.assertEqual(first, f"holder{i} of planted-{child.pid}", owners)
            self.assertLessEqual(sum(owners.values()), burst)
            first, owners = self.first_owner(f"peer{i}")
            self.assertEqual(first, f"127.0.0.1:{port}", owners)
            self.assertRegex(self.table(f"peer{i}")[0] + self.table(f"peer{i}")[-1], rf"slowpeer-{server.pid} \(127\.0\.0\.1:{port}\)")
            first, owners = self.first_owner(f"disk{i}")
            self.assertTrue(first.startswith("disk"), owners)
            if self.disk():
                self.assertEqual(first, f"disk {self.disk()}", owners)
        # The holder's code.
        codes = [sample["text"] for sample in self.waits() if re.fullmatch("lock[0-9]", sample["tags"].get("task", ""))]
        self.assertTrue(any("[woken by];" in code for code in codes), codes)

    def test_without_bpf_bursts_are_missing_and_reported(self):
        agent = self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "profile" {{ every = "100ms", a.source.perf {{ backend = "ring", wakers = "1s" }},
              a.sink.file {{ path = "{self.samples}", format = "samples" }} }}""").running()
        agent.wait_line("wakers requires BPF")
        agent.wait_status(lambda _: any("perf.samples" in sample["fields"] for sample in so_far(self.samples)))
        agent.stop()
        self.assertEqual(self.accounts(), [])


if __name__ == "__main__":
    main()
