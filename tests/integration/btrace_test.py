# SPDX-License-Identifier: Apache-2.0
"""The source btrace with a real program that writes and rotates its log: the samples that reach a store over kills of the agent."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

from harness import AgentCase, PATIENCE, main, points

# Writes numbered lines as fast as it can and rotates by renaming; each number is a separate value. A line on
# its standard input ends it; it then prints the number of lines.
WRITER = """
import os, sys, threading
path, stop = sys.argv[1], threading.Event()
count, generation = 0, 0
def write():
    global count, generation
    while not stop.is_set():
        with open(path, "a") as log:
            for i in range(40):
                count += 1
                kind = count % 3
                if kind == 0:
                    log.write(f"number = {count}\\n")
                elif kind == 1:
                    log.write(f"atalaya begin task job=j task=t{count} time={1700000000000 + count}\\n")
                    log.write(f"text {count} between the lines\\n")
                    log.flush()
                else:
                    log.write(f"atalaya end task job=j task=t{count - 1} time={1700000000000 + count} bytes={count}\\n")
        os.rename(path, f"{path}.{generation}")
        generation += 1
        if generation > 40:
            stop.wait(0.01)
        stop.wait(0.002)
thread = threading.Thread(target=write)
thread.start()
sys.stdin.readline()
stop.set()
thread.join()
print(count)
"""


class Btrace(AgentCase):
    def setUp(self):
        super().setUp()
        self.log = self.path("app.log")
        self.store = self.path("store.db")

    def lua(self, options="", sink=None):
        sink = sink or f'a.sink.sqlite {{ path = "{self.store}" }}'
        return f"""
            local a = require "atalaya"
            a.pipeline "logs" {{ a.source.btrace {{ path = "{self.log}", poll = "20ms", {options} }}, {sink} }}"""

    def rows(self, statement):
        store = sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)
        try:
            return store.execute(statement).fetchall()
        finally:
            store.close()

    def numbers(self):
        return sorted(value for value, in self.rows("SELECT value FROM points WHERE metric = 'btrace.number'"))

    def spans(self):
        return sorted(json.loads(tags)["task"] for tags, in self.rows(
            "SELECT tags FROM spans JOIN entities ON entities.id = spans.entity WHERE duration_ns >= 0"))

    def until(self, condition, description):
        """Waits until the condition on the store holds."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                if condition():
                    return
            except sqlite3.OperationalError:
                pass  # it does not exist yet
            self.agents[-1].process.poll()
            self.assertIsNone(self.agents[-1].process.returncode, self.agents[-1].errors())
        raise AssertionError("no " + description + "\n" + self.agents[-1].errors())

    def append(self, text, path=None):
        with open(path or self.log, "a") as file:
            file.write(text)

    def test_kills_and_rotations_lose_and_double_nothing(self):
        agent = self.run_agent(self.lua()).running()  # before the first line: a file rotated before has no owner
        self.until(lambda: os.path.exists(self.store), "store")
        writer = subprocess.Popen([sys.executable, "-c", WRITER, self.log], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(writer.kill)
        for kill in range(6):
            seen = len(self.numbers())
            self.until(lambda: len(self.numbers()) > seen + 20, "new numbers")
            if kill % 3 == 2:
                self.assertEqual(agent.stop(), 0, agent.errors())
            else:
                agent.process.send_signal(signal.SIGKILL)
                agent.join()
            agent = self.run_agent(self.lua()).running()
        count = int(writer.communicate("end\n")[0])
        expected = list(range(3, count + 1, 3))
        tasks = sorted(f"t{n}" for n in range(1, count, 3))
        self.until(lambda: len(self.numbers()) >= len(expected) and len(self.spans()) >= len(tasks), "whole log")
        self.assertEqual(agent.stop(), 0, agent.errors())
        self.assertEqual(self.numbers(), expected)
        self.assertEqual(self.spans(), tasks)
        self.assertEqual(self.rows("SELECT count(*) FROM points WHERE metric = 'btrace.spans.orphans' AND value > 0"), [(0,)])
        self.assertEqual(self.rows("SELECT count(*) FROM spans WHERE duration_ns < 0"), [(0,)])
        # Each line was reported once.
        lines = self.rows("SELECT sum(value) FROM points WHERE metric = 'btrace.lines'")[0][0]
        self.assertEqual(lines, count + len(range(1, count + 1, 3)))

    def test_a_truncated_log_is_reported_and_its_copy_read_on(self):
        self.append("number = 1\n")
        agent = self.run_agent(self.lua())
        self.until(lambda: self.numbers() == [1], "first number")
        agent.kill()
        self.append("number = 2\n")
        with open(self.log, "rb") as log, open(self.log + ".1", "wb") as copy:
            copy.write(log.read())
        os.truncate(self.log, 0)
        self.append("number = 3\n")
        agent = self.run_agent(self.lua())
        self.until(lambda: self.numbers() == [1, 2, 3], "all numbers")
        agent.wait_line("is its copy and read on")
        os.truncate(self.log, 0)
        self.append("number = 4\n")
        self.until(lambda: self.numbers() == [1, 2, 3, 4], "fourth number")
        agent.wait_line("Rotate by renaming")
        self.assertEqual(self.rows("SELECT sum(value) FROM points WHERE metric = 'btrace.truncations'"), [(2,)])

    def orphans(self):
        return self.rows("SELECT coalesce(sum(value), 0) FROM points WHERE metric = 'btrace.spans.orphans'")[0][0]

    def lines_read(self):
        return self.rows("SELECT coalesce(sum(value), 0) FROM points WHERE metric = 'btrace.lines'")[0][0]

    def test_begins_of_killed_programs_expire(self):
        self.append("".join(f"atalaya begin task task=t{i} time={1700000000000 + i}\n" for i in range(3)))
        agent = self.run_agent(self.lua('open_spans = true, max_age = "1h"'))
        self.until(lambda: len(self.rows("SELECT * FROM spans WHERE duration_ns = -1")) == 3, "open spans")
        self.append(f"atalaya end task task=t1 time={1700000000500}\n")
        self.until(lambda: self.spans() == ["t1"], "ended span")
        agent.kill()
        self.assertEqual(self.orphans(), 0)
        options = 'open_spans = true, max_age = "1s"'
        agent = self.run_agent(self.lua(options))
        self.until(lambda: self.orphans() == 2, "orphans")
        status = agent.wait_status(lambda status: agent.row("logs", "source btrace", status)["reasons"])
        self.assertEqual(agent.row("logs", "source btrace", status)["reasons"], {"begin without an end": 2})
        self.assertEqual(self.spans(), ["t0", "t1", "t2"])
        self.assertEqual(self.rows("SELECT * FROM spans WHERE duration_ns < 0"), [])
        agent.kill()
        # They are forgotten for good.
        agent = self.run_agent(self.lua(options))
        self.append("number = 1\n")
        self.until(lambda: self.numbers() == [1], "the number")
        self.assertEqual(self.orphans(), 2)
        self.assertEqual(self.rows("SELECT value FROM points WHERE metric = 'btrace.spans.open' ORDER BY time DESC LIMIT 1"), [(0,)])

    def test_a_backlog_is_read_at_once(self):
        """Neither its size nor the number of its files makes it wait for the next poll; a stop in the middle is prompt."""
        block = "".join(f"a text of the backlog, {i:30}\n" for i in range(10_000))
        for _ in range(100):
            self.append(block)  # 54 MB, more than one look reads
        self.append("number = 1\n")
        files = self.path("files")
        os.mkdir(files)
        for i in range(50):
            self.append(f"number = {i}\n", os.path.join(files, f"task_{i}.log"))
            os.utime(os.path.join(files, f"task_{i}.log"), (1, 1))
        lua = self.lua().replace('"20ms"', '"1h"')
        agent = self.run_agent(lua)
        self.until(lambda: self.lines_read() > 0, "begin of the backlog")
        self.assertEqual(agent.stop(), 0, agent.errors())
        self.run_agent(lua)
        self.until(lambda: self.numbers() == [1], "end of the backlog")
        self.assertEqual(self.lines_read(), 1_000_001)
        self.agents[-1].kill()
        self.log, self.store = files, self.path("files.db")
        self.run_agent(self.lua("max_files = 4").replace('"20ms"', '"1h"'))
        self.until(lambda: self.numbers() == list(range(50)), "all files")

    def test_nothing_is_done_until_the_sinks_hold_it(self):
        self.append("number = 1\n")
        # An unreachable server: nothing is acknowledged.
        agent = self.run_agent(self.lua(sink='a.sink.http { url = "http://127.0.0.1:9/api/put" }')).running()
        agent.wait_status(lambda status: agent.row("logs", "sink http", status)["queued"] > 0)
        agent.kill()
        agent = self.run_agent(self.lua())
        self.until(lambda: self.numbers() == [1], "the number")

    def test_samples_of_lines(self):
        self.append("requests = 5\nByHost\nn1 = 3\nn2 = 4\nDropped 7 commands\natalaya begin phase task=t phase=spill time=1700000000000\n"
                    "atalaya end phase task=t phase=spill time=1700000000500 bytes=1024\natalaya end phase task=t phase=spill\n"
                    "atalaya begin phase nonsense\n17 START t9\n")
        out = self.path("samples")
        rules = 'rules = { { match = "^(%d+) START (%S+)", emit = "metrics", captures = { "field.app.started", "tag.task" } } }'
        agent = self.run_agent(self.lua(rules, sink=f'a.sink.file {{ path = "{out}", format = "samples" }}')).running()
        status = agent.wait_status(lambda status: os.path.exists(out) and agent.row("logs", "source btrace", status)["out"] > 0
                                   and agent.row("logs", "sink file", status)["out"] > 0)
        self.assertEqual(agent.row("logs", "source btrace", status)["reasons"],
                         {"end without a begin": 1, "line that cannot be": 1, "dropped by BTrace": 7})
        agent.wait_line('"nonsense" is not KEY=VALUE')
        self.assert_balanced(status)
        self.assertEqual(agent.stop(), 0)
        samples = points(out)
        fields = {}
        for sample in samples:
            for name, value in sample["fields"].items():
                fields[name, sample["tags"].get("key") or sample["tags"].get("task")] = value
        self.assertEqual(fields["btrace.requests", None], 5)
        self.assertEqual((fields["btrace.ByHost", "n1"], fields["btrace.ByHost", "n2"]), (3, 4))
        self.assertEqual(fields["app.started", "t9"], 17)
        self.assertEqual(fields["btrace.dropped", None], 7)
        span, = [sample for sample in samples if sample["kind"] == "span"]
        self.assertEqual((span["text"], span["tags"]["phase"], span["fields"]), ("phase", "spill", {"span.bytes": 1024}))

    def test_a_damaged_journal_is_set_aside(self):
        self.append("number = 1\n")
        agent = self.run_agent(self.lua())
        self.until(lambda: self.numbers() == [1], "first number")
        self.assertEqual(agent.stop(), 0)
        journal, = [os.path.join(folder, "journal") for folder, _, files in os.walk(self.folder) if "journal" in files]
        for damaged in (journal, journal + ".recent"):
            with open(damaged, "r+b") as file:
                file.truncate(os.path.getsize(damaged) - 3)
            agent = self.run_agent(self.lua())
            agent.wait_line(f"{damaged} is not complete; it is now {damaged}.damaged; " +
                            ("all files are read" if damaged == journal else "what was read since"))
            self.assertTrue(os.path.exists(damaged + ".damaged"))
            self.until(lambda: os.path.exists(journal + ".recent"), "changes in the journal")
            self.assertEqual(agent.stop(), 0)


main()
