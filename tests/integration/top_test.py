# SPDX-License-Identifier: Apache-2.0
"""The command top: one window for scripts, live and from a store, and the screen of a terminal under real keys."""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
import unittest

from harness import BINARY, PATIENCE, AgentCase, main
from questions import T0, WRITES, QueryCase

SPIN = [sys.executable, "-c", "while True: pass"]


def table(text):
    """{pid: cells} of a printed window, and its heading."""
    title, heading, *lines = text.splitlines()
    return title, heading, {line.split()[0]: line.split() for line in lines}


class Terminal:
    """A terminal of 80 columns and 24 lines."""

    def __init__(self, *words):
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm", LC_ALL="C.UTF-8")
            os.execv(BINARY, [BINARY, *words])
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.text = ""

    def wait(self, pattern):
        """Text that came since the last call, until the pattern is in it, without control sequences."""
        until = time.monotonic() + PATIENCE
        while not re.search(pattern, self.text):
            ready, _, _ = select.select([self.end], [], [], max(until - time.monotonic(), 0))
            try:
                piece = os.read(self.end, 65536) if ready else b""
            except OSError:  # it has ended
                piece = b""
            if not piece:
                raise AssertionError(f"no {pattern!r} in {self.text!r}")
            self.text += re.sub(r"\x1b(\[[0-9;?]*[a-zA-Z]|[()][A-Z0-9]|[=>78])", " ", piece.decode(errors="replace"))
        found, self.text = self.text, ""
        return found

    def type(self, keys):
        os.write(self.end, keys.encode())

    def status(self):
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if select.select([self.end], [], [], 0.1)[0]:
                try:
                    os.read(self.end, 65536)
                except OSError:
                    pass
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                os.close(self.end)
                return os.waitstatus_to_exitcode(status)
        raise AssertionError("top does not end")


class Live(AgentCase):
    def setUp(self):
        super().setUp()
        self.child = subprocess.Popen(SPIN)
        self.addCleanup(self.child.wait)
        self.addCleanup(self.child.kill)

    def once(self, *words):
        done = subprocess.run([BINARY, "top", "--once", *words], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_once_has_each_process_and_no_more_than_the_machine(self):
        title, heading, rows = table(self.once())
        self.assertIn(str(self.child.pid), rows)
        self.assertGreater(float(rows[str(self.child.pid)][2]), 0)
        # A pass that is interrupted reads the last processes later, and so more than a window of them: not three times in a row.
        titles = [title] + [table(self.once())[0] for _ in range(2)]
        cpu = min(float(re.search(r"CPU (\d+)%", one).group(1)) for one in titles)
        self.assertLessEqual(cpu, 100 * os.cpu_count() * 1.05 + 1)  # ticks
        self.assertEqual(heading.split()[:3], ["PID", "PROCESS", "*CPU%"])

    def test_once_as_json_sorted_and_limited(self):
        found = json.loads(self.once("--format", "json", "--sort", "memory", "--top", "5"))
        memory = [process["memory"] for process in found["processes"]]
        self.assertEqual(len(memory), 5)
        self.assertEqual(memory, sorted(memory, reverse=True))
        with open(f"/proc/{self.child.pid}/statm") as file:
            resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        found = json.loads(self.once("--format", "json", "--filter", os.path.basename(sys.executable) + "*"))
        own = [process for process in found["processes"] if process.get("pid") == str(self.child.pid)]  # ended ones have none
        self.assertEqual(len(own), 1)
        self.assertLess(abs(own[0]["memory"] - resident), 4 * 2**20)

    def test_keys_on_a_terminal(self):
        screen = Terminal("top")
        screen.wait(r"\*CPU%")
        screen.type("m")
        screen.wait(r"\*")  # a terminal gets only the characters that change
        screen.type("/python")
        screen.wait("filter")
        screen.type("\n")
        screen.type("q")
        self.assertEqual(screen.status(), 0)

    def test_nothing_is_left_behind(self):
        folder = self.path("temporary")
        os.mkdir(folder)
        subprocess.run([BINARY, "top", "--once"], capture_output=True, timeout=PATIENCE, env=dict(os.environ, TMPDIR=folder), check=True)
        self.assertEqual(os.listdir(folder), [])

    def test_refused_arguments(self):
        for words, said in ((["--every", "1ms"], "at least 100ms"), (["--format", "json"], "needs --once"), (["--tag", "host=a"], "add --at"),
                            (["--filter", "~("], "--filter ~("), (["--sort", "age"], "age"), (["--at", "soon"], "--at soon")):
            done = subprocess.run([BINARY, "top", *words, "--store", self.path("none.db")], capture_output=True, text=True, timeout=PATIENCE)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(said, done.stderr)


class Replay(QueryCase):
    """The windows of the reference's example: instants have no window, so this one has samples with theirs."""

    def setUp(self):
        super().setUp()
        lines = []
        for (host, process, pid), values in WRITES.items():
            for i, value in enumerate(values):
                lines.append({"kind": "metrics", "time": (T0 + 10 * (i + 1)) * 10**9, "duration": 10**10,
                              "tags": {"host": host, "process": process, "pid": str(pid)},
                              "fields": {"proc.cpu.user": 10.0 * (i + 1), "proc.disk.writes.mb": float(value)}})
        subprocess.run(["curl", "-sf", "--data-binary", "@-", self.hub + "/api/jsonlines"], check=True, timeout=PATIENCE,
                       input="\n".join(json.dumps(line) for line in lines).encode())

    def window(self, second, *words):
        return json.loads(self.atalaya("top", "--at", str(T0 + second), "--once", "--format", "json", *words))

    def test_each_window_has_the_values_of_the_example(self):
        for i in range(3):
            for second in (10 * (i + 1), 10 * (i + 1) + 9):
                window = self.window(second)
                self.assertEqual((window["time"], window["window"]), ((T0 + 10 * (i + 1)) * 1000, 10))
                found = {(row["host"], row["process"], int(row["pid"])): row.get("write") for row in window["processes"]}
                self.assertEqual(found, {key: values[i] * 2**20 for key, values in WRITES.items()})

    def test_a_host_of_a_hub(self):
        rows = self.window(20, "--tag", "host=host2", "--sort", "write")["processes"]
        self.assertEqual({row["host"] for row in rows}, {"host2"})
        self.assertEqual((rows[0]["process"], rows[0]["write"]), ("P2", 12 * 2**20))

    def test_no_window_says_so(self):
        self.atalaya("top", "--at", "2001-01-01", "--once", status=2)
        self.assertIn("has no window of a process in the day before", self.errors)

    def test_arrows_step_through_windows(self):
        screen = Terminal("top", "--at", str(T0 + 30), "--store", self.store)
        screen.wait("CPU 360%")
        screen.type("\x1bOD")
        screen.wait("24")  # the digits that change
        screen.type("q")
        self.assertEqual(screen.status(), 0)


if __name__ == "__main__":
    main()
