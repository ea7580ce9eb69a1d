# SPDX-License-Identifier: Apache-2.0
"""Components in processes of their own that fail in every way there is: the others go on, and what failed is back soon."""

import glob
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from harness import BINARY, AgentCase, main, points

PLUGINS = os.environ.get("ATALAYA_TEST_PLUGINS", "build/release/tests/plugins")
BACK = 5  # seconds
CRASHES = {"segfault": "crashed (SIGSEGV)", "abort": "crashed (SIGABRT)", "heap": "crashed", "exit": "ended itself with status 3",
           "close": "", "fork": "crashed (SIGSEGV)", "leak": ""}  # taking all that memory may last longer than a call may
HANGS = {"hang": "hangs", "spin": "hangs"}
GARBAGE = {"garbage": "gave a batch that is not sound"}
LIMITS = 'isolation = { time = "500ms", memory = "64 MiB" }'


def named(name):
    """Processes of this name."""
    pids = []
    for path in glob.glob("/proc/[0-9]*/comm"):
        try:
            with open(path) as file:
                if file.read().strip() == name:
                    pids.append(int(path.split("/")[2]))
        except OSError:
            pass
    return pids


def children(agent):
    """Processes of isolated components of this agent, by the launcher's children."""
    launchers = subprocess.run(["pgrep", "-P", str(agent.process.pid)], capture_output=True, text=True).stdout.split()
    pids = []
    for launcher in launchers:
        pids += subprocess.run(["pgrep", "-P", launcher], capture_output=True, text=True).stdout.split()
    return [int(pid) for pid in pids]


class IsolationCase(AgentCase):
    def trouble(self, word, name="trouble"):
        with open(self.path("new"), "w") as file:
            file.write(word)
        os.rename(self.path("new"), self.path(name))

    def start(self, lua):
        agent = self.run_agent('local a = require "atalaya"\n' + lua + f"""
            a.pipeline "good" {{ every = "1s", a.source.self {{}}, a.sink.file {{ path = "{self.path("good")}" }} }}
            """, "--plugins", PLUGINS)
        agent.running()
        return agent

    def survives(self, agent, faults, pipeline, component, out):
        """Each fault: the process is started again, and what it gives arrives again, soon; nobody else notices."""
        agent.wait_status(lambda status: out(status) > 0)
        for number, (fault, said) in enumerate(faults.items(), 1):
            with self.subTest(fault=fault):
                self.trouble(fault)
                agent.wait_status(lambda status: not os.path.exists(self.path("trouble")))
                begin = time.monotonic()
                status = agent.wait_status(lambda status: agent.row(pipeline, component, status)["restarts"] >= number)
                self.assertEqual(agent.row(pipeline, component, status)["restarts"], number)
                before = out(status)
                agent.wait_status(lambda status: out(status) > before)
                self.assertLess(time.monotonic() - begin, BACK)
                self.assert_balanced(agent.status())
                agent.wait_line(said)
        self.check_others(agent)

    def check_others(self, agent):
        status = agent.status()
        good = agent.row("good", "source self", status)
        self.assertEqual(good["gaps"], 0, good)
        self.assertEqual(good["errors"], 0, good)
        self.assert_balanced(status)

    def ends(self, agent):
        family = children(agent)
        self.assertEqual(agent.stop(), 0, agent.errors())
        until = time.monotonic() + BACK
        while any(os.path.exists(f"/proc/{pid}") for pid in family) and time.monotonic() < until:
            time.sleep(0.02)
        self.assertEqual([pid for pid in family if os.path.exists(f"/proc/{pid}")], [])


class Faults(IsolationCase):
    def test_a_pull_source(self):
        agent = self.start(f"""a.pipeline "bad" {{ every = "200ms",
            a.source.faulty {{ trouble = "{self.path("trouble")}", {LIMITS} }}, a.sink.file {{ path = "{self.path("bad")}" }} }}""")
        self.survives(agent, {**CRASHES, **HANGS, **GARBAGE}, "bad", "source faulty",
                      lambda status: agent.row("bad", "sink file", status)["out"])
        self.assertGreater(agent.row("bad", "source faulty")["gaps"], 0)
        self.assertEqual(named("faulty-sleeper"), [])
        self.ends(agent)

    def test_a_push_source(self):
        agent = self.start(f"""a.pipeline "bad" {{
            a.source.faulty_push {{ trouble = "{self.path("trouble")}", {LIMITS} }}, a.sink.file {{ path = "{self.path("bad")}" }} }}""")
        self.survives(agent, {fault: CRASHES[fault] for fault in ("segfault", "exit", "heap", "close")}, "bad", "source faulty_push",
                      lambda status: agent.row("bad", "sink file", status)["out"])
        self.ends(agent)

    def test_a_translator(self):
        agent = self.start(f"""a.pipeline "bad" {{ every = "200ms", a.source.self {{}},
            a.translate.faulty {{ trouble = "{self.path("trouble")}", isolation = {{ time = "200ms", memory = "64 MiB" }} }}, a.sink.file {{ path = "{self.path("bad")}" }} }}""")
        self.survives(agent, {**CRASHES, **HANGS, **GARBAGE}, "bad", "translator faulty",
                      lambda status: agent.row("bad", "sink file", status)["out"])
        reasons = agent.row("bad", "translator faulty")["reasons"]
        self.assertEqual(set(reasons), {"stage away"})
        self.ends(agent)
        self.assertTrue(all(point["tags"]["seen"] == "yes" for point in points(self.path("bad"))))

    def test_a_sink_writes_again_what_it_was_writing(self):
        agent = self.start(f"""a.pipeline "bad" {{ every = "200ms", a.source.faulty {{ isolate = false }},
            a.sink.faulty {{ trouble = "{self.path("trouble")}", got = "{self.path("got")}", {LIMITS} }} }}""")
        self.survives(agent, {**CRASHES, **HANGS}, "bad", "sink faulty", lambda status: agent.row("bad", "sink faulty", status)["out"])
        row = agent.row("bad", "sink faulty")
        self.assertEqual(row["reasons"], {})
        self.ends(agent)
        with open(self.path("got")) as file:
            numbers = [int(line) for line in file]
        self.assertEqual(numbers, sorted(numbers))
        self.assertEqual(set(numbers), set(range(1, numbers[-1] + 1)), "lost")

    def test_who_uses_up_its_memory_is_told_so(self):
        agent = self.start(f"""a.pipeline "bad" {{ every = "200ms", a.source.faulty {{ trouble = "{self.path("trouble")}",
            isolation = {{ time = "1m", memory = "64 MiB" }} }}, a.sink.file {{ path = "{self.path("bad")}" }} }}""")
        agent.wait_status(lambda status: agent.row("bad", "sink file", status)["out"] > 0)
        self.trouble("leak")
        agent.wait_line("has used up its memory, 64 MiB (isolation.memory)")
        self.check_others(agent)
        self.ends(agent)

    def test_one_that_hangs_does_not_hold_up_the_end(self):
        agent = self.start(f"""a.pipeline "bad" {{ every = "200ms", a.source.faulty {{ isolate = false }},
            a.sink.faulty {{ trouble = "{self.path("trouble")}", isolation = {{ time = "1h" }} }} }}
            a.pipeline "bad_too" {{ every = "200ms", a.source.faulty {{ trouble = "{self.path("trouble_too")}", isolation = {{ time = "1h" }} }},
            a.sink.file {{ path = "{self.path("bad")}" }} }}""")
        agent.wait_status(lambda status: agent.row("bad_too", "sink file", status)["out"] > 0)
        for name in ("trouble", "trouble_too"):
            self.trouble("hang", name)
            agent.wait_status(lambda status: not os.path.exists(self.path(name)))
        begin = time.monotonic()
        self.ends(agent)
        self.assertLess(time.monotonic() - begin, 10)

    def test_nothing_of_it_outlives_a_killed_agent(self):
        agent = self.start(f"""a.pipeline "bad" {{ every = "200ms", a.source.faulty {{ trouble = "{self.path("trouble")}" }},
            a.sink.faulty {{}} }}""")
        agent.wait_status(lambda status: agent.row("bad", "sink faulty", status)["out"] > 0)
        self.trouble("hang")
        agent.wait_status(lambda status: not os.path.exists(self.path("trouble")))
        family = children(agent)
        self.assertEqual(len(family), 2)
        agent.kill()
        until = time.monotonic() + BACK
        while any(os.path.exists(f"/proc/{pid}") for pid in family) and time.monotonic() < until:
            time.sleep(0.02)
        self.assertEqual([pid for pid in family if os.path.exists(f"/proc/{pid}")], [])

    def test_without_its_launcher_it_goes_on_and_says_so(self):
        agent = self.start(f"""a.pipeline "bad" {{ every = "200ms", a.source.faulty {{ trouble = "{self.path("trouble")}" }},
            a.sink.file {{ path = "{self.path("bad")}" }} }}""")
        agent.wait_status(lambda status: agent.row("bad", "sink file", status)["out"] > 0)
        for launcher in subprocess.run(["pgrep", "-P", str(agent.process.pid)], capture_output=True, text=True).stdout.split():
            os.kill(int(launcher), signal.SIGKILL)
        before = agent.row("bad", "sink file")["out"]
        agent.wait_status(lambda status: agent.row("bad", "sink file", status)["out"] > before + 3)
        self.trouble("segfault")
        agent.wait_line("the launcher of isolated plugins is gone")
        self.check_others(agent)
        self.assertEqual(agent.stop(), 0, agent.errors())


class NotIsolated(IsolationCase):
    """In the agent's own process a fault is the agent's death: what was acknowledged survives it."""

    LUA = """
        a.pipeline "numbers" {{
            a.source.counter {{ isolate = false, acked = "{acked}", first = {first} }},
            a.sink.witness {{ isolate = false, got = "{got}", spool = {{ dir = "{spool}", min_free = "0 B", sync = "0s" }} }} }}
        a.pipeline "bad" {{ every = "100ms", a.source.faulty {{ isolate = false, trouble = "{trouble}" }}, a.sink.file {{ path = "{bad}" }} }}
        """

    def begin(self, first):
        paths = {name: self.path(name) for name in ("acked", "got", "spool", "trouble", "bad")}
        return self.start(self.LUA.format(first=first, **paths))

    def lines(self, name):
        with open(self.path(name)) as file:
            return [int(line.split()[0]) for line in file]

    def test_nothing_acknowledged_is_lost(self):
        for number, fault in enumerate(("segfault", "abort", "exit", "heap"), 1):
            with self.subTest(fault=fault):
                agent = self.begin(number * 1_000_000)
                agent.wait_status(lambda status: agent.row("numbers", "source counter", status)["out"] > 100)
                self.trouble(fault)
                self.assertNotEqual(agent.join(), 0)
        last = 9_000_000
        agent = self.begin(last)
        agent.wait_status(lambda status: last in self.lines("got"))  # in order: all before it has arrived
        acked = [first for first in self.lines("acked") if first < last]
        self.assertGreater(len(acked), 20)
        self.assertEqual(set(acked) - set(self.lines("got")), set())
        self.assertEqual(agent.stop(), 0, agent.errors())


def capabilities(pid):
    """The sets of a process, as names of /proc/PID/status to numbers."""
    with open(f"/proc/{pid}/status") as file:
        return {line.split(":")[0]: int(line.split()[1], 16) for line in file if line.startswith(("Cap", "NoNewPrivs"))}


NUMBERS = {"dac_read_search": 2, "net_admin": 12, "sys_ptrace": 19, "perfmon": 38, "bpf": 39}
PROC_NEEDS = sum(1 << NUMBERS[name] for name in NUMBERS)


@unittest.skipUnless(os.geteuid() == 0, "only root has capabilities to give up")
class Privileges(IsolationCase):
    LUA = """a.pipeline "processes" {{ every = "200ms", a.source.proc {{ host = false, backend = "bpf" }},
        a.sink.file {{ path = "{path}" }} }}"""

    def check(self, agent, expected):
        agent.wait_status(lambda status: agent.row("processes", "sink file", status)["out"] > 0)
        own = capabilities(agent.process.pid)
        for name in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
            self.assertEqual(own[name], 0, name)
        child, = children(agent)
        its = capabilities(child)
        self.assertEqual((its["CapPrm"], its["CapEff"]), (expected, expected))
        self.assertEqual((its["CapInh"], its["CapAmb"], its["NoNewPrivs"]), (0, 0, 1))
        # Also the next one, long after the agent has given its own away.
        os.kill(child, signal.SIGKILL)
        agent.wait_status(lambda status: agent.row("processes", "source proc", status)["restarts"] == 1)
        before = agent.row("processes", "sink file")["out"]
        agent.wait_status(lambda status: agent.row("processes", "sink file", status)["out"] > before)
        child, = children(agent)
        self.assertEqual(capabilities(child)["CapEff"], expected)
        self.assertNotIn("off:", agent.errors())
        self.ends(agent)

    def require_bpf(self):
        got = subprocess.run([BINARY, "try", "proc", "host=false", "backend=bpf", "--windows", "1", "--every", "100ms"], capture_output=True,
                             text=True)
        if "off:" in got.stderr or got.returncode != 0:
            self.skipTest("no BPF here: " + got.stderr)

    def test_bpf_runs_in_a_child_while_the_agent_has_no_capability(self):
        self.require_bpf()
        agent = self.run_agent('local a = require "atalaya"\n' + self.LUA.format(path=self.path("out")), "--drop")
        agent.running()
        self.check(agent, PROC_NEEDS)

    def test_the_same_as_another_user_with_just_these(self):
        self.require_bpf()
        if shutil.which("setpriv") is None:
            self.skipTest("no setpriv here")
        given = "+bpf,+perfmon"
        who = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=" + given, "--ambient-caps=" + given]
        if subprocess.run([*who, BINARY, "--version"], capture_output=True).returncode != 0:
            self.skipTest("another user cannot run the binary where it lies")
        os.chown(self.folder, 65534, 65534)
        agent = self.run_agent('local a = require "atalaya"\n' + self.LUA.format(path=self.path("out")), "--drop", wrapper=who)
        agent.running()
        self.check(agent, 1 << NUMBERS["bpf"] | 1 << NUMBERS["perfmon"])


if __name__ == "__main__":
    main()
