# SPDX-License-Identifier: Apache-2.0
"""pipelines/alerts.lua on a real agent: real causes fire its rules, each with its sentence, and their ends resolve them. Only the times of the
file are shorter here; metrics, limits, tags and texts are those that ship."""

import http.server as http_server
import os
import re
import signal
import subprocess
import sys
import threading
import time
import unittest

from harness import PATIENCE, AgentCase, main, so_far
from http_servers import free_port
from kernel_test import HUNGRY, Cgroup, crash, mounted_tmpfs, obstacle

SHIPPED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../pipelines/alerts.lua")
SHORTER = {"lasts": "1s", "keep": "2s", "every": "500ms"}

# Ends children as systemd does; the kernel names it so. Some of them live in several windows, so that they have series.
RESTARTS = """
import ctypes, os, time
name = ctypes.CDLL(None).prctl
name(15, b"systemd")
for number in range(6):
    child = os.fork()
    if child == 0:
        name(15, b"{process}")
        time.sleep(0.7 * (number % 2))
        os._exit(0)
    os.waitpid(child, 0)
    time.sleep(0.1)
"""


class Sink(http_server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def shorter(text):
    """The file with shorter times."""
    for key, value in SHORTER.items():
        text = re.sub(rf'\b{key} = "[^"]*"', f'{key} = "{value}"', text)
    text = re.sub(r'over = "[^"]*"', 'over = "6s"', text)
    return text.replace("{ name = ", '{ gone = "4s", name = ')


@unittest.skipIf(obstacle(), obstacle())
class ShippedAlerts(AgentCase):
    def setUp(self):
        super().setUp()
        self.output = self.path("alerts")
        self.port = free_port()
        with open(SHIPPED) as file:
            self.shipped = file.read()

    def start(self):
        text = shorter(self.shipped)
        spans = f'local spans = a.sink.file {{ path = "{self.output}", format = "samples" }}\n'
        text = text.replace("local store =", spans + "local store =", 1)
        text, alerts = re.subn(r"samples = false \}, store \}", "samples = false }, spans }", text)
        self.assertEqual(alerts, 5)
        sink = f'a.sink.http {{ url = "http://127.0.0.1:{self.port}/api/put", retry_max = "500ms", '
        text += f"""
            a.pipeline "spooled" {{ a.from "host", {sink} spool = {{ dir = "spool", min_free = "0 B" }} }} }}
            a.pipeline "dropped" {{ a.from "host", {sink} queue = "64 KiB", when_full = "drop_oldest" }} }}"""
        return self.run_agent(text).running()

    def cgroup(self, name, **limits):
        try:
            made = Cgroup(f"atalaya-{name}-{os.getpid()}-{time.monotonic_ns()}")
        except OSError as error:
            self.skipTest(f"no cgroup: {error}")
        self.addCleanup(made.remove)
        made.limit(**limits)
        return made

    def found(self, alert, **tags):
        """By start: whether it still fires."""
        spans = [span for span in so_far(self.output) if span["kind"] == "span" and span["tags"].get("alert") == alert
                 and all(span["tags"].get(key) == value for key, value in tags.items())]
        for span in spans:
            self.assert_sentence(alert, span["tags"])
        return {span["time"]: span["duration"] < 0 for span in spans}

    def assert_sentence(self, alert, tags):
        rule = self.shipped[self.shipped.index(f'name = "{alert}"'):]
        self.assertEqual(tags["summary"], re.search(r'summary = "([^"]*)"', rule).group(1))
        self.assertEqual(tags["advice"], re.search(r'advice = "([^"]*)"', rule).group(1))

    def wait(self, condition, text):
        until = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < until, f"{text}: {[span['tags'] for span in so_far(self.output)]}"
            time.sleep(0.1)  # the file of another process

    def wait_fires(self, alert, **tags):
        self.wait(lambda: True in self.found(alert, **tags).values(), f"{alert} does not fire")

    def wait_resolved(self, alert, times=1, **tags):
        """As many alerts as causes: the alert did not flap."""
        self.wait(lambda: (found := self.found(alert, **tags)) and True not in found.values(), f"{alert} does not end")
        if times:
            self.assertEqual(len(self.found(alert, **tags)), times, alert)

    def test_memory_that_runs_out(self):
        self.start()
        group = self.cgroup("oom", memory=30 << 20)
        child = group.run(sys.executable, "-c", HUNGRY.format(threads=0))
        self.assertEqual(child.wait(PATIENCE), -signal.SIGKILL)
        self.wait_fires("OOM kill", cgroup=group.path)
        self.wait_resolved("OOM kill", cgroup=group.path)

    def test_a_crash(self):
        with open("/proc/sys/debug/exception-trace") as file:
            if file.read().strip() != "1":
                self.skipTest("debug.exception-trace is 0: the kernel does not log crashes")
        self.start()
        self.wait_windows()
        name = f"crash{os.getpid()}"[:15]
        crash(self.path(name))
        self.wait_fires("crash", process=name)
        self.wait_resolved("crash", process=name)

    def test_a_file_system_that_becomes_read_only(self):
        folder = mounted_tmpfs(self)
        self.start()
        self.wait_windows()
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        self.wait_fires("read-only file system", mount=folder)
        subprocess.run(["mount", "-o", "remount,rw", folder], check=True)
        self.wait_resolved("read-only file system", mount=folder)

    def wait_windows(self):
        """The agent has seen this host before the cause."""
        agent = self.agents[-1]
        agent.wait_status(lambda status: agent.row("kernel", "kernel", status)["out"] >= 2)

    def test_a_service_that_restarts(self):
        self.start()
        agent = self.agents[-1]
        agent.wait_status(lambda status: agent.row("ended", "proc", status)["out"] > 0)
        name = f"flap{os.getpid()}"[:15]
        subprocess.run([sys.executable, "-c", RESTARTS.format(process=name)], check=True, timeout=PATIENCE)
        self.wait_fires("service restarts", process=name)
        self.wait_resolved("service restarts", process=name)

    def test_a_cgroup_that_is_throttled(self):
        self.start()
        group = self.cgroup("throttled", cpu=10000)
        child = group.run(sys.executable, "-c", "while True: pass")
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.wait_fires("cgroup throttled", cgroup=group.path)
        child.kill()
        child.wait(PATIENCE)
        self.wait_resolved("cgroup throttled", times=None, cgroup=group.path)  # on a busy host, it may get too little CPU time to be throttled

    def test_a_server_that_is_down(self):
        """The queue on disk grows, and the one in memory drops samples, until the server is up. A healthy sink drops nothing."""
        agent = self.start()
        self.wait_fires("queue grows", pipeline="spooled")
        self.wait_fires("agent drops samples", pipeline="dropped")
        server = http_server.ThreadingHTTPServer(("127.0.0.1", self.port), Sink)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.wait_resolved("queue grows", times=None, pipeline="spooled")
        self.wait_resolved("agent drops samples", times=None, pipeline="dropped")
        # Filters that remove idle processes are no losses.
        agent.wait_status(lambda status: agent.row("processes", "value", status)["dropped"] > 0)
        self.assertEqual(self.found("agent drops samples", pipeline="processes"), {})


if __name__ == "__main__":
    main()
