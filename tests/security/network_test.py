# SPDX-License-Identifier: Apache-2.0
"""Nothing leaves a host without configuration: the network calls of the agent, seen by strace, with the bundled pipelines."""

import glob
import os
import re
import shutil
import subprocess

import harness

INTERNET = re.compile(r"\bAF_INET6?\b|\bPF_INET6?\b")
CALL = re.compile(r"^\d+ +(\w+)\((.*)")
PIPELINES = sorted(glob.glob("pipelines/*.lua"))
LOCAL = ["pipelines/host.lua", "pipelines/containers.lua", "pipelines/minimal.lua"]  # which keep all they see on this host


class Network(harness.AgentCase):
    def setUp(self):
        super().setUp()
        if not shutil.which("strace"):
            self.skipTest("strace is not installed")
        self.trace = self.path("trace")
        self.wrapper = ["strace", "-D", "-f", "-e", "trace=%network,execve", "-o", self.trace]

    def network_calls(self):
        with open(self.trace, errors="replace") as file:
            lines = file.read().splitlines()
        self.assertTrue(any("execve(" in line for line in lines), "strace saw nothing")
        return [line for line in lines if (found := CALL.match(line)) and found[1] != "execve"]

    def internet_calls(self):
        return [line for line in self.network_calls() if INTERNET.search(line)]

    def traced(self, *arguments):
        environment = dict(os.environ, STATE_DIRECTORY=self.folder, RUNTIME_DIRECTORY=self.folder)
        return subprocess.run([*self.wrapper, harness.BINARY, *arguments], env=environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=harness.PATIENCE, check=False)

    def run_pipeline(self, lua):
        """Runs it until samples have been delivered, and to an orderly end."""
        agent = self.run_agent(lua.replace('every = "5s"', 'every = "1s"'), wrapper=self.wrapper)
        agent.running()
        # Not with the traced words before it: this is not checked.
        agent.wrapper = []
        agent.wait_status(lambda status: any(row["type"] == "sink" and row["out"] > 0 for row in status["ledger"]))
        return agent

    def test_pipelines_that_stay_on_this_host_make_no_socket_of_the_internet(self):
        for path in LOCAL:
            with self.subTest(path), open(path) as file:
                agent = self.run_pipeline(file.read())
                agent.stop()
                self.assertEqual(self.internet_calls(), [])

    def test_default_listeners_are_on_loopback_and_connect_to_nobody(self):
        for lua in ("""a.pipeline "p" { every = "1s", a.source.self {}, a.sink.prometheus { listen = LISTEN } }""",
                    """a.pipeline "p" { a.source.receive { listen = LISTEN }, a.sink.stdout {} }"""):
            # The port of the default may be in use here, only its address matters.
            name = re.search(r"a\.(?:sink|source)\.(prometheus|receive)", lua)[1]
            page = subprocess.run([harness.BINARY, "plugins", name], capture_output=True, text=True, check=True).stdout
            default = re.search(r"^ *listen +\S+ +(\S+)", page, re.M)[1]
            self.assertRegex(default, r"^127\.0\.0\.1:\d+$")
            with self.subTest(name):
                listen = f'"{default.rpartition(":")[0]}:0"'
                agent = self.run_agent('local a = require "atalaya"\n' + lua.replace("LISTEN", listen), wrapper=self.wrapper)
                agent.running()
                agent.wrapper = []
                self.assertEqual(agent.stop(), 0)
                calls = self.internet_calls()
                bound = [line for line in calls if " bind(" in line]
                self.assertTrue(bound)
                self.assertTrue(all("127.0.0.1" in line for line in bound), bound)
                self.assertEqual([line for line in calls if re.search(r" (connect|sendto|sendmsg|sendmmsg)\(", line)], [])

    def test_listening_for_others_without_a_token_needs_a_word(self):
        for lua, option in (('a.pipeline "p" { every = "1s", a.source.self {}, a.sink.prometheus { listen = "*:0" } }', "tokens"),
                            ('a.pipeline "p" { a.source.receive { listen = "*:0" }, a.sink.stdout {} }', "tokens")):
            agent = self.run_agent('local a = require "atalaya"\n' + lua)
            with self.subTest(lua):
                self.assertNotEqual(agent.join(), 0)
                self.assertIn(option, agent.errors())

    def test_looking_at_a_file_or_a_plugin_makes_no_socket(self):
        for arguments in [("check", path) for path in PIPELINES] + [("test", path) for path in PIPELINES] + \
                [("plugins",), ("plugins", "http"), ("doctor",), ("try", "proc", "--windows", "1"), ("--help",)]:
            with self.subTest(arguments):
                done = self.traced(*arguments)
                self.assertIn(done.returncode, (0, 2) if arguments[0] == "test" else (0, 1) if arguments[0] == "doctor" else (0,),
                              done.stderr)
                self.assertEqual(self.internet_calls(), [])

    def test_a_destination_that_is_configured_is_the_only_one_that_is_called(self):
        """A call that the others do not make would have been seen."""
        lua = """local a = require "atalaya"
        a.pipeline "p" { every = "1s", a.source.self {}, a.sink.http { url = "http://127.0.0.1:9" } }"""
        agent = self.run_agent(lua, wrapper=self.wrapper)
        agent.running()
        agent.wrapper = []
        agent.wait_line("127.0.0.1:9")
        agent.stop()
        connected = [line for line in self.internet_calls() if " connect(" in line]
        self.assertTrue(connected)
        self.assertTrue(all('sin_port=htons(9), sin_addr=inet_addr("127.0.0.1")' in line for line in connected), connected)


if __name__ == "__main__":
    harness.main()
