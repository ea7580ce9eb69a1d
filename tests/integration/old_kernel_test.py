# SPDX-License-Identifier: Apache-2.0
"""The agent without the system calls that older kernels do not have: what docs/reference/kernels.md promises for them."""

import os
import shutil
import subprocess
import sys
import unittest

import old_kernel
from harness import BINARY, PATIENCE, AgentCase, forget_jvm, main, so_far

WRAPPER = [sys.executable, os.path.abspath(old_kernel.__file__), "4.18"]
WRAPPER_5_10 = [*WRAPPER[:-1], "5.10"]
SLEEPER = """class Sleeper { public static void main(String[] a) throws Exception { System.out.println(); System.in.read(); } }"""
# A connection with itself, so that a host without others has traffic.
TRAFFIC = """
import socket, time
with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as one, server.accept()[0] as other:
    while True:
        one.sendall(b"x" * 1000)
        other.recv(1000, socket.MSG_WAITALL)
        time.sleep(0.02)
"""
LUA = """local a = require "atalaya"
local store = a.sink.sqlite {{ path = "{store}" }}
a.pipeline "processes" {{ every = "500ms", a.source.proc {{}}, a.translate.names {{ tags = {{ "container", "unit" }} }}, store }}
a.pipeline "traffic" {{ every = "500ms", a.source.net {{}}, store }}
a.pipeline "facts" {{ every = "500ms", a.source.inventory {{}}, store }}
a.pipeline "self" {{ every = "500ms", a.source.self {{}},
  a.sink.http {{ url = "http://127.0.0.1:1", spool = {{ dir = "spool", min_free = "0 B", sync = "100ms" }} }} }}
{as_root}"""
AS_ROOT = """a.pipeline "stacks" { every = "500ms", a.source.perf {}, store }
a.pipeline "events" { every = "500ms", a.source.counters {}, store }"""


class OldKernel(AgentCase):
    def atalaya(self, *words):
        """Its output; nothing while the store does not know the metric yet."""
        return subprocess.run([*WRAPPER, BINARY, *words], capture_output=True, text=True, timeout=PATIENCE, check=False).stdout

    def query(self, metric, *words):
        return self.atalaya("query", "--store", self.path("atalaya.db"), "--metric", metric, "--from", "-5m", "--format", "csv",
                            *words).splitlines()[1:]

    def folded(self):
        return self.atalaya("flamegraph", "--store", self.path("atalaya.db"), "--from", "-5m", "--format", "folded")

    def test_collect_store_and_query(self):
        root = os.geteuid() == 0
        busy, traffic = (subprocess.Popen([sys.executable, "-c", code]) for code in ("while True: pass", TRAFFIC))
        for child in (busy, traffic):
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)
        agent = self.run_agent(LUA.format(store=self.path("atalaya.db"), as_root=AS_ROOT if root else ""), wrapper=WRAPPER).running()
        agent.wait_line("processes are read from procfs")
        agent.wait_line("sockets are read by sock_diag")
        stored = ["processes", "traffic", "facts"] + ["stacks", "events"] * root
        self.assert_balanced(agent.wait_status(lambda status: all(agent.row(name, "sqlite", status)["out"] > 0 for name in stored) and
                                               agent.row("self", "http", status)["queued"] > 0))
        agent.wait_status(lambda status: self.query("proc.cpu.user", "--tag", f"pid={busy.pid}"))
        if root:
            agent.wait_status(lambda status: "python3" in self.folded())
        self.assertEqual(agent.stop(), 0, agent.errors())
        for metric in ("sys.cpu.usage", "sys.mem.usage", "sys.net.in.packets", "proc.mem.resident"):
            self.assertTrue(self.query(metric), metric)
        self.assertIn("self", self.atalaya("spool", "ls", self.path("spool")))

    def test_5_10_isolates(self):
        agent = self.run_agent(f"""local a = require "atalaya"
a.pipeline "isolated" {{ every = "500ms", a.source.proc {{ isolate = true }}, a.sink.sqlite {{ path = "{self.path("atalaya.db")}" }} }}""",
                               "--drop", wrapper=WRAPPER_5_10).running()
        self.assert_balanced(agent.wait_status(lambda status: agent.row("isolated", "sqlite", status)["out"] > 0))
        self.assertEqual(agent.stop(), 0, agent.errors())

    @unittest.skipUnless(shutil.which("javac"), "needs a JDK: apt-get install default-jdk-headless")
    def test_5_10_reads_jvms(self):
        with open(self.path("Sleeper.java"), "w", encoding="utf-8") as file:
            file.write(SLEEPER)
        subprocess.run(["javac", "-d", self.folder, self.path("Sleeper.java")], check=True, timeout=PATIENCE)
        jvm = subprocess.Popen(["java", "-cp", self.folder, "Sleeper"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(forget_jvm, jvm.pid)
        self.addCleanup(jvm.communicate)
        jvm.stdout.readline()
        agent = self.run_agent(f"""local a = require "atalaya"
a.pipeline "jvms" {{ every = "500ms", a.source.jvm {{ main = {{ "Sleeper" }} }}, a.sink.file {{ path = "{self.path("out")}" }} }}""",
                               wrapper=WRAPPER_5_10).running()
        agent.wait_status(lambda status: any(point["metric"] == "jvm.heap.used" and point["tags"]["pid"] == str(jvm.pid)
                                             for point in so_far(self.path("out")) if "metric" in point))
        self.assertEqual(agent.stop(), 0, agent.errors())


class Wrapper(unittest.TestCase):
    def test_the_calls_are_refused(self):
        done = subprocess.run([*WRAPPER, sys.executable, "-c", "import os; os.pidfd_open(os.getpid())"], capture_output=True, text=True,
                              check=False)
        self.assertIn("Function not implemented", done.stderr)


if __name__ == "__main__":
    main()
