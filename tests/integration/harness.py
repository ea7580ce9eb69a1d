# SPDX-License-Identifier: Apache-2.0
"""Runs the real agent in separate folders. Every wait is for an event, with a limit."""

import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BINARY = os.environ.get("ATALAYA", "build/release/atalaya")
PATIENCE = 60  # seconds until an expected event counts as missing
os.environ.setdefault("ATALAYA_COMPLETION_TIMEOUT", str(PATIENCE))


class Agent:
    """An agent on a pipeline file given as text. Its state, socket and outputs lie in `folder`."""

    def __init__(self, folder, lua, *arguments, environment=None, preexec=None, user=None, wrapper=(), binary=BINARY):
        self.folder = folder
        self.wrapper = wrapper  # words before the command, such as setpriv's
        self.file = os.path.join(folder, "pipeline.lua")
        self.socket = os.path.join(folder, "status.sock")
        self.write(lua)
        env = {**os.environ, "STATE_DIRECTORY": folder, "RUNTIME_DIRECTORY": folder, **(environment or {})}
        self.user = {"user": user, "group": user, "extra_groups": []} if user else {}
        self.lines = []
        self.changed = threading.Condition()
        self.process = subprocess.Popen(
            [*wrapper, binary, "run", self.file, "--socket", self.socket, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, preexec_fn=preexec, **self.user)
        self.output = b""
        self.readers = [threading.Thread(target=self._read_errors), threading.Thread(target=self._read_output)]
        for reader in self.readers:
            reader.start()

    def _read_errors(self):
        for line in self.process.stderr:
            with self.changed:
                self.lines.append(line.decode(errors="replace").rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.lines.append(None)
            self.changed.notify_all()

    def _read_output(self):
        while chunk := self.process.stdout.read1(65536):
            with self.changed:
                self.output += chunk
                self.changed.notify_all()

    def write(self, lua):
        with open(self.file, "w") as file:
            file.write(lua)

    def wait_line(self, part, count=1):
        """Waits until `count` lines of standard error hold the text; returns the last of them."""
        def found():
            hits = [line for line in self.lines if line is not None and part in line]
            return hits[count - 1] if len(hits) >= count else None
        with self.changed:
            self.changed.wait_for(lambda: found() or None in self.lines, PATIENCE)
            if not found():
                raise AssertionError(f"no line with {part!r} in:\n" + "\n".join(str(line) for line in self.lines))
            return found()

    def running(self):
        self.wait_line("running " + self.file)
        return self

    def status(self):
        """A busy machine may be slower than the timeout of `atalaya status` (2 s), which reports that; then it runs again."""
        until = time.monotonic() + PATIENCE
        while True:
            done = subprocess.run([*self.wrapper, BINARY, "status", "--format", "json", "--socket", self.socket],
                                  capture_output=True, **self.user)
            if done.returncode == 0:
                return json.loads(done.stdout)
            assert b"the agent does not" in done.stderr and time.monotonic() < until, done.stderr.decode() + self.errors()

    def row(self, pipeline, component, status=None):
        for row in (status or self.status())["ledger"]:
            if row["pipeline"] == pipeline and component in row["component"]:
                return row
        raise AssertionError(f"no row {pipeline}: {component}")

    def wait_status(self, condition):
        """Asks for the ledger until the condition on it holds; returns that status."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            status = self.status()
            if condition(status):
                return status
            self.process.poll()
            assert self.process.returncode is None, "the agent ended:\n" + "\n".join(str(line) for line in self.lines)
            time.sleep(0.02)  # nothing notifies of these events, and polling without a pause takes a core from the agent
        raise AssertionError("the ledger never came to it: " + json.dumps(status, indent=1))

    def allow_threads(self, allowed):
        """Whether the agent gets new threads; it is started by run_ordinary_agent."""
        limit = resource.getrlimit(resource.RLIMIT_NPROC)[0] if allowed else 1
        # As the agent's user: root may do it only with CAP_SYS_RESOURCE.
        subprocess.run(["prlimit", f"--pid={self.process.pid}", f"--nproc={'unlimited' if limit < 0 else limit}:"],
                       check=True, **self.user)

    def reload(self):
        self.process.send_signal(signal.SIGHUP)

    def drain(self):
        """No more windows: waits until the emitted samples are delivered. For pipelines of the source proc."""
        reloads = sum(line is not None and "reloaded" in line for line in self.lines)
        with open(self.file) as file:
            lua = re.sub(r'every = "[^"]*",', "", file.read())
        self.write(re.sub(r"a\.source\.proc \{[^}]*\}", 'a.source.receive { listen = "127.0.0.1:0" }', lua))
        self.reload()
        self.wait_line("reloaded", reloads + 1)
        self.wait_status(lambda status: all(row["queued"] == 0 for row in status["ledger"]))

    def kill(self):
        self.process.kill()
        return self.join()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.join()

    def join(self):
        code = self.process.wait(PATIENCE)
        for reader in self.readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def errors(self):
        return "\n".join(line for line in self.lines if line is not None)


class AgentCase(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="atalaya-test-")
        self.addCleanup(self.temporary.cleanup)  # last: a server that a test started writes there until it is ended
        self.folder = self.temporary.name
        self.agents = []
        self.addCleanup(self.kill_agents)  # also when a setUp fails: their readers would keep this process alive

    def tearDown(self):
        self.kill_agents()

    def kill_agents(self):
        for agent in self.agents:
            if agent.process.poll() is None:
                agent.kill()

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_agent(self, lua, *arguments, **options):
        agent = Agent(self.folder, lua, *arguments, **options)
        self.agents.append(agent)
        return agent

    def run_ordinary_agent(self, lua):
        """An agent that limits hold for, unlike root."""
        environment = {"ASAN_OPTIONS": "detect_leaks=0"}  # under a sanitizer: that wants a thread at the end
        if os.geteuid() != 0:
            return self.run_agent(lua, environment=environment)
        nobody = 65534
        os.chown(self.folder, nobody, nobody)
        try:
            return self.run_agent(lua, user=nobody, environment=environment)
        except PermissionError:
            self.skipTest("nobody may not run " + BINARY)

    def assert_balanced(self, status):
        for row in status["ledger"]:
            if row["type"] == "sink":
                left = row["in"] - row["out"] - row["dropped"] - row["dead_letter"] - row["queued"]
            else:
                left = row["in"] + row["created"] - row["out"] - row["dropped"] - row["merged"]
            self.assertEqual(left, 0, row)
            self.assertEqual(row["dropped"], sum(row["reasons"].values()), row)
        self.assertTrue(status["balanced"])


def forget_jvm(pid):
    """Files that a killed JVM leaves in /tmp would remain for the next process of its number."""
    for path in (f"/tmp/.java_pid{pid}", f"/tmp/.attach_pid{pid}", f"/tmp/perf-{pid}.map"):
        with contextlib.suppress(FileNotFoundError, PermissionError):
            os.remove(path)


def points(path):
    """The points of a JSON-lines file."""
    with open(path) as file:
        return [json.loads(line) for line in file]


def so_far(path):
    """The points or samples of a file that is being written, whose last line may not be whole; none if there is none yet."""
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def amount(samples, metric):
    """The amount of a rate per second: a sample holds the rate between two readings, and the time between them."""
    return sum(sample["fields"].get(metric, 0) * sample["duration"] / 1e9 for sample in samples)


def main():
    unittest.main(argv=sys.argv, verbosity=2)
