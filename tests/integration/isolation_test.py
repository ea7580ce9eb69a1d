# SPDX-License-Identifier: Apache-2.0
"""Components in separate processes that fail in every possible way: the others continue, and the failed one is soon back."""

import glob
import os
import shutil
import signal
import subprocess
import threading
import time
import unittest

from frozen_mount import FrozenMount
from harness import BINARY, PATIENCE, AgentCase, main, points

PLUGINS = os.environ.get("ATALAYA_TEST_PLUGINS", "build/release/tests/plugins")
BACK = 5  # seconds, and those that the same processes take to start
CRASHES = {"segfault": "crashed (SIGSEGV)", "abort": "crashed (SIGABRT)", "heap": "crashed", "exit": "ended itself with status 3",
           "_exit": "ended itself with status 4", "close": "", "fork": "crashed (SIGSEGV)",
           "leak": ""}  # taking all that memory may last longer than a call may
HANGS = {"hang": "hangs", "spin": "hangs", "deaf": "hangs"}
GARBAGE = {f"garbage {part}": "gave a batch that is not sound"
           for part in ("samples", "tags", "counts", "text", "owner", "names", "kind", "types")}
MAY_HANG = {*HANGS, "heap", "leak", "close"}


def limits(time):
    return f'isolation = {{ time = "{time}", memory = "64 MiB" }}'


def named(name, folder):
    """Processes of this name that an agent in this folder has started, without those that have ended and are still to be reaped."""
    pids = []
    for path in glob.glob("/proc/[0-9]*"):
        try:
            with open(path + "/comm") as comm, open(path + "/environ", "rb") as environment:
                if comm.read().strip() == name and folder.encode() in environment.read():
                    pids.append(int(path.split("/")[2]))
        except OSError:
            pass
    return pids


class Metronome:
    """A thread that is due at each whole second, as an agent's pipeline is: seconds that it misses, the host has kept from both."""

    def __init__(self):
        self.due, self.before = int(time.time()) + 1, 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        while not self.ended.wait(self.due - time.time()):
            self.before += self._missed()
            self.due = int(time.time()) + 1

    def _missed(self):
        """Windows by now: one that begins more than half a window late is joined with the next one. A tenth is for good measure."""
        return int(max(0, time.time() - self.due) + 0.6)

    def missed(self):
        return self.before + self._missed()

    def end(self):
        self.ended.set()
        self.thread.join()


def children(agent):
    """Processes of isolated components of this agent, by the launcher's children."""
    launchers = children_of([agent.process.pid])
    return children_of(launchers) if launchers else []


def children_of(pids):
    return [int(pid) for pid in subprocess.run(["pgrep", "-P", ",".join(map(str, pids))], capture_output=True, text=True).stdout.split()]


def state(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


class IsolationCase(AgentCase):
    def trouble(self, word, name="trouble"):
        with open(self.path("new"), "w") as file:
            file.write(word)
        os.rename(self.path("new"), self.path(name))

    def with_good(self, lua):
        return 'local a = require "atalaya"\n' + lua + f"""
            a.pipeline "good" {{ every = "1s", a.source.self {{}}, a.sink.file {{ path = "{self.path("good")}" }} }}
            """

    def start(self, lua):
        self.metronome = Metronome()
        self.addCleanup(self.metronome.end)
        return self.run_agent(self.with_good(lua), "--plugins", PLUGINS).running()

    def storm(self, faults, pipeline, component, sink="sink file", time_to_answer="500ms"):
        """A pipeline for each fault, and all of them at once: a failed component is started again, and its samples arrive again, soon;
        nobody else notices. `pipeline` has the places {trouble}, {limits} and {out}."""
        rows = {f"bad{number}": fault for number, fault in enumerate(faults)}
        begin = time.monotonic()
        agent = self.start("".join(f'a.pipeline "{name}" {{ ' + pipeline.format(
            trouble=self.path("trouble" + name), out=self.path(name), limits=limits(time_to_answer if fault in MAY_HANG else "30s")) + " }\n"
                                   for name, fault in rows.items()))

        def out(name, status):
            return agent.row(name, sink, status)["out"]

        agent.wait_status(lambda status: all(out(name, status) > 0 for name in rows))
        soon = BACK + time.monotonic() - begin
        begin, failed, back = {}, {}, {}
        for name, fault in rows.items():
            self.trouble(fault, "trouble" + name)
            begin[name] = time.monotonic()

        def all_restarted(status):
            for name in rows:
                if agent.row(name, component, status)["restarts"] > 0:
                    failed.setdefault(name, out(name, status))
                    if out(name, status) > failed[name]:
                        back.setdefault(name, time.monotonic() - begin[name])
            return len(back) == len(rows)

        status = agent.wait_status(all_restarted)
        self.assertEqual({rows[name]: seconds for name, seconds in back.items() if seconds >= soon}, {})
        for name, fault in rows.items():
            self.assertEqual(agent.row(name, component, status)["restarts"], 1, fault)
            agent.wait_line(faults[fault])
        self.check_others(agent)
        return agent

    def check_others(self, agent):
        status = agent.status()
        good = agent.row("good", "source self", status)
        self.assertLessEqual(good["gaps"], self.metronome.missed(), good)
        self.assertEqual(good["errors"], 0, good)
        self.assert_balanced(status)

    def ends(self, agent):
        family = children(agent)
        self.assertEqual(agent.stop(), 0, agent.errors())
        self.wait_gone(family)

    def wait_gone(self, family):
        self.wait_none(lambda: [pid for pid in family if os.path.exists(f"/proc/{pid}")])

    def wait_none(self, found):
        until = time.monotonic() + PATIENCE
        while found() and time.monotonic() < until:
            time.sleep(0.02)
        self.assertEqual(found(), [])


class Faults(IsolationCase):
    def test_pull_sources(self):
        agent = self.storm({**CRASHES, **HANGS, **GARBAGE}, """every = "200ms", a.source.faulty {{ trouble = "{trouble}", {limits} }},
            a.sink.file {{ path = "{out}" }}""", "source faulty")
        self.assertGreater(agent.row("bad0", "source faulty")["gaps"], 0)
        self.wait_none(lambda: named("faulty-sleeper", self.folder))
        self.ends(agent)

    def test_push_sources(self):
        # Its samples are built in its own process: bad pointers kill only that process.
        garbage = {"garbage tags": "crashed (SIGSEGV)", "garbage text": "crashed (SIGSEGV)", "garbage names": GARBAGE["garbage names"],
                   "garbage types": GARBAGE["garbage types"]}
        agent = self.storm({**CRASHES, **garbage}, """a.source.faulty_push {{ trouble = "{trouble}", {limits} }},
            a.sink.file {{ path = "{out}" }}""", "source faulty_push")
        self.ends(agent)

    def test_translators(self):
        faults = {fault: {**CRASHES, **HANGS, **GARBAGE}[fault] for fault in ("segfault", "exit", "heap", "close", "leak", "deaf", *GARBAGE)}
        agent = self.storm(faults, """every = "200ms", a.source.self {{}}, a.translate.faulty {{ trouble = "{trouble}", {limits} }},
            a.sink.file {{ path = "{out}" }}""", "translator faulty", time_to_answer="200ms")  # it holds up all pipelines
        self.assertEqual(set(agent.row("bad0", "translator faulty")["reasons"]), {"stage unavailable"})
        self.ends(agent)
        for number in range(len(faults)):
            # The translator looks the units up from its own process.
            self.assertLessEqual({point["tags"]["seen"] for point in points(self.path(f"bad{number}"))}, {"1", "%", "By", "MiBy"})

    def test_sinks_write_interrupted_batches_again(self):
        faults = {**CRASHES, **HANGS}
        agent = self.storm(faults, """every = "200ms", a.source.faulty {{ isolate = false }},
            a.sink.faulty {{ trouble = "{trouble}", got = "{out}", {limits} }}""", "sink faulty", sink="sink faulty")
        for number in range(len(faults)):
            self.assertEqual(agent.row(f"bad{number}", "sink faulty")["reasons"], {})
        self.ends(agent)
        for number in range(len(faults)):
            with open(self.path(f"bad{number}")) as file:
                numbers = [int(line) for line in file]
            self.assertEqual(numbers, sorted(numbers))
            self.assertEqual(set(numbers), set(range(1, numbers[-1] + 1)), "lost")

    def test_one_that_fails_again_and_again_comes_back_each_time(self):
        agent = self.start(f"""a.pipeline "bad" {{ every = "100ms", a.source.faulty {{ trouble = "{self.path("trouble")}" }},
            a.sink.file {{ path = "{self.path("bad")}" }} }}""")
        for restarts in range(1, 5):
            before = agent.row("bad", "sink file")["out"]
            agent.wait_status(lambda status: agent.row("bad", "sink file", status)["out"] > before)
            self.trouble("segfault")
            agent.wait_status(lambda status: agent.row("bad", "source faulty", status)["restarts"] == restarts)
        before = agent.row("bad", "sink file")["out"]
        agent.wait_status(lambda status: agent.row("bad", "sink file", status)["out"] > before)
        self.check_others(agent)
        self.ends(agent)

    def test_a_flood_of_text_is_dropped_after_its_burst(self):
        agent = self.start(f"""a.pipeline "bad" {{ every = "100ms", a.source.faulty {{ trouble = "{self.path("trouble")}" }},
            a.sink.file {{ path = "{self.path("bad")}" }} }}""")
        agent.wait_status(lambda status: agent.row("bad", "sink file", status)["out"] > 0)
        self.trouble("stdout")  # 128 KiB
        line = agent.wait_line("writes too much to standard error: further lines are dropped")
        self.assertRegex(line, r"isolated process \d+ \(.+\) writes")
        self.assertLessEqual(128 * sum("####" in (line or "") for line in agent.lines), 64 << 10)
        before = agent.row("bad", "sink file")["out"]
        agent.wait_status(lambda status: agent.row("bad", "sink file", status)["out"] > before)
        self.assertEqual(agent.row("bad", "source faulty")["restarts"], 0)
        self.ends(agent)
        agent.wait_line("lines of standard error dropped")

    def test_harmless_faults_do_not_kill(self):
        faults = ("signals", "stdout", "twice", "open /dev/null", *(f"close {fd}" for fd in (0, 1, 2, 7, 8, 9)))
        agent = self.start("".join(f"""a.pipeline "bad{number}" {{ every = "100ms", a.source.faulty {{ trouble = "{self.path(f"trouble{number}")}" }},
            a.sink.file {{ path = "{self.path(f"bad{number}")}" }} }}\n""" for number in range(len(faults))))
        agent.wait_status(lambda status: all(agent.row(f"bad{number}", "sink file", status)["out"] > 0 for number in range(len(faults))))
        for number, fault in enumerate(faults):
            self.trouble(fault, f"trouble{number}")
        agent.wait_status(lambda status: not any(os.path.exists(self.path(f"trouble{number}")) for number in range(len(faults))))
        before = agent.status()
        agent.wait_status(lambda status: all(agent.row(f"bad{number}", "sink file", status)["out"]
                                             > agent.row(f"bad{number}", "sink file", before)["out"] + 10 for number in range(len(faults))))
        self.check_others(agent)
        self.ends(agent)
        for number, fault in enumerate(faults):
            numbers = [point["value"] for point in points(self.path(f"bad{number}"))]
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)), fault)  # the one that it was from the beginning, and nobody else
        self.assertEqual(agent.output, b"", "among the results")
        self.assertIn("####", agent.errors())

    def test_a_fork_of_its_process_does_not_answer(self):
        agent = self.start(f"""a.pipeline "bad" {{ every = "100ms", a.source.faulty {{ isolate = false }},
            a.sink.faulty {{ trouble = "{self.path("trouble")}", got = "{self.path("got")}" }} }}""")
        agent.wait_status(lambda status: agent.row("bad", "sink faulty", status)["out"] > 0)
        self.trouble("twice")
        agent.wait_status(lambda status: not os.path.exists(self.path("trouble")))
        before = agent.row("bad", "sink faulty")["in"]  # of these the fork may write some, too
        agent.wait_status(lambda status: agent.row("bad", "sink faulty", status)["out"] > before + 10)
        self.assertEqual(agent.row("bad", "sink faulty")["restarts"], 0)
        self.ends(agent)
        with open(self.path("got")) as file:
            numbers = [int(line) for line in file]
        after = [number for number in numbers if number > before + 1]
        self.assertEqual(after, list(range(before + 2, after[-1] + 1)), "written twice")

    def test_an_invalid_answer_is_only_an_error(self):
        agent = self.start(f"""a.pipeline "bad" {{ every = "100ms", a.source.faulty {{ trouble = "{self.path("trouble")}" }},
            a.sink.file {{ path = "{self.path("bad")}" }} }}""")
        agent.wait_status(lambda status: agent.row("bad", "sink file", status)["out"] > 0)
        self.trouble("code")
        status = agent.wait_status(lambda status: agent.row("bad", "source faulty", status)["errors"] > 0)
        before = agent.row("bad", "sink file", status)["out"]
        agent.wait_status(lambda status: agent.row("bad", "sink file", status)["out"] > before)
        self.assertEqual(agent.row("bad", "source faulty")["restarts"], 0)
        self.check_others(agent)
        self.ends(agent)

    def test_memory_above_the_limit_is_reported(self):
        agent = self.start(f"""a.pipeline "bad" {{ every = "200ms", a.source.faulty {{ trouble = "{self.path("trouble")}",
            isolation = {{ time = "1m", memory = "64 MiB" }} }}, a.sink.file {{ path = "{self.path("bad")}" }} }}""")
        agent.wait_status(lambda status: agent.row("bad", "sink file", status)["out"] > 0)
        self.trouble("leak")
        agent.wait_line("has used up its memory, 64 MiB (isolation.memory)")
        self.check_others(agent)
        self.ends(agent)

    def test_cpu_time_above_the_limit_is_reported(self):
        one = """a.pipeline "{name}" {{ every = "200ms", a.source.faulty {{ trouble = "{trouble}", isolation = {{ cpu = 5 }} }},
            a.sink.file {{ path = "{out}" }} }}"""
        agent = self.start("".join(one.format(name=name, trouble=self.path("trouble" + name), out=self.path(name)) for name in ("bad", "modest")))
        agent.wait_status(lambda status: agent.row("bad", "sink file", status)["out"] > 0)
        self.trouble("thread", "troublebad")
        agent.wait_line("of 5 (isolation.cpu)")
        before = agent.row("bad", "sink file")["out"]
        agent.wait_status(lambda status: agent.row("bad", "sink file", status)["out"] > before)
        self.assertEqual(agent.row("modest", "source faulty")["restarts"], 0)
        self.check_others(agent)
        self.ends(agent)

    def test_a_hanging_process_does_not_delay_the_end(self):
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

    @unittest.skipUnless(os.geteuid() == 0 and os.path.exists("/dev/fuse"), "mounting needs root, and FUSE")
    def test_an_unkillable_process_delays_neither_reload_nor_end(self):
        frozen = FrozenMount(self.path("frozen"))
        try:
            stuck_sink = f"""a.pipeline "sink" {{ every = "200ms", a.source.faulty {{ isolate = false }},
                a.sink.faulty {{ trouble = "{self.path("trouble_sink")}", {limits("500ms")} }} }}"""
            agent = self.start(f"""a.pipeline "source" {{ every = "200ms", a.source.faulty {{ trouble = "{self.path("trouble_source")}", {limits("500ms")} }},
                a.sink.file {{ path = "{self.path("bad")}" }} }} {stuck_sink}""")
            agent.wait_status(lambda status: agent.row("source", "sink file", status)["out"] > 0)
            agent.wait_status(lambda status: agent.row("sink", "sink faulty", status)["out"] > 0)
            family = children(agent)
            for name in ("trouble_sink", "trouble_source"):
                self.trouble("open " + self.path("frozen/file"), name)
            agent.wait_line("was killed and does not end; it waits in the kernel (state D)", 2)
            self.assertEqual({state(pid) for pid in family}, {"D"})
            self.check_others(agent)
            agent.write(self.with_good(stuck_sink))
            agent.reload()
            agent.wait_line("reloaded")
            self.check_others(agent)
            agent.process.send_signal(signal.SIGTERM)
            self.assertEqual(agent.process.wait(10), 0, agent.errors())
            self.assertEqual({state(pid) for pid in family}, {"D"})  # they have its standard error still: stop() would wait for them
        finally:
            frozen.end()
        self.wait_gone(family)
        agent.join()

    def test_when_memory_is_short_it_goes_before_the_agent(self):
        agent = self.start("""a.pipeline "bad" { every = "200ms", a.source.faulty {}, a.sink.faulty {} }""")
        agent.wait_status(lambda status: agent.row("bad", "sink faulty", status)["out"] > 0)
        scores = []
        for pid in (agent.process.pid, *children(agent)):
            with open(f"/proc/{pid}/oom_score_adj") as file:
                scores.append(int(file.read()))
        self.assertEqual(scores[1:], [500, 500])
        self.assertLess(scores[0], 500)
        self.ends(agent)

    def test_no_process_outlives_a_killed_agent(self):
        agent = self.start(f"""a.pipeline "bad" {{ every = "200ms", a.source.faulty {{ trouble = "{self.path("trouble")}" }},
            a.sink.faulty {{}} }}""")
        agent.wait_status(lambda status: agent.row("bad", "sink faulty", status)["out"] > 0)
        self.trouble("sleepers")
        family = children(agent)
        self.assertEqual(len(family), 2)
        until = time.monotonic() + PATIENCE
        while len(sleepers := children_of(family)) < 5:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)
        agent.kill()
        self.wait_gone(family + sleepers)

    def test_without_its_launcher_it_continues_and_reports_it(self):
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
    """In the agent's own process a fault is the agent's death: acknowledged batches survive it."""

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
        ends = ("segfault", "abort", "exit", "_exit", "heap", "garbage samples", "garbage tags")
        stays = ("hang", "spin", "deaf", "signals", "close", "stdout")  # the watchdog's kill, or an operator's
        for number, fault in enumerate(ends + stays, 1):
            with self.subTest(fault=fault):
                agent = self.begin(number * 1_000_000)
                agent.wait_status(lambda status: agent.row("numbers", "source counter", status)["out"] > 100)
                self.trouble(fault)
                if fault in ends:
                    self.assertNotEqual(agent.join(), 0)
                else:
                    while os.path.exists(self.path("trouble")):
                        self.assertIsNone(agent.process.poll())
                    agent.kill()
        last = 99_000_000
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
PROC_NEEDS = sum(1 << NUMBERS[name] for name in ("dac_read_search", "net_admin", "sys_ptrace", "perfmon", "bpf"))


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
        # Also the next one, long after the agent has dropped its own.
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
        tried = subprocess.run([*who, BINARY, "plugins", "proc"], capture_output=True, text=True)
        if tried.returncode != 0 or "Permission denied" in tried.stderr:
            self.skipTest("another user cannot run the binary in its folder, or read the plugins there")
        os.chown(self.folder, 65534, 65534)
        agent = self.run_agent('local a = require "atalaya"\n' + self.LUA.format(path=self.path("out")), "--drop", wrapper=who)
        agent.running()
        self.check(agent, 1 << NUMBERS["bpf"] | 1 << NUMBERS["perfmon"])


if __name__ == "__main__":
    main()
