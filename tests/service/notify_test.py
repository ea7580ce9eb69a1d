# SPDX-License-Identifier: Apache-2.0
"""Notifications of the agent to the service manager, by the protocol of sd_notify(3); here the test is the manager."""

import os
import signal
import socket
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from harness import PATIENCE, AgentCase  # noqa: E402

GOOD = ('local a = require "atalaya"\n'
        'a.pipeline "self" {{ every = "{}", a.source.self {{}}, a.sink.file {{ path = a.state_folder .. "/out" }} }}\n')


class Notify(AgentCase):
    def setUp(self):
        super().setUp()
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(self.path("notify"))
        self.manager.settimeout(PATIENCE)
        self.addCleanup(self.manager.close)

    def start(self, **environment):
        return self.run_agent(GOOD.format("1s"), environment={"NOTIFY_SOCKET": self.path("notify"), **environment})

    def message(self):
        return dict(line.split("=", 1) for line in self.manager.recv(4096).decode().splitlines())

    def wait_for(self, key, text=""):
        """The next message with that key, whose status holds the text."""
        while True:
            message = self.message()
            if key in message and text in message.get("STATUS", ""):
                return message

    def test_ready_alive_stopping(self):
        agent = self.start(WATCHDOG_USEC="200000")
        self.assertEqual(self.wait_for("READY")["READY"], "1")
        for _ in range(3):
            self.assertRegex(self.wait_for("WATCHDOG")["STATUS"], r"^\d+ samples in, \d+ delivered, \d+ queued, \d+ dropped by sinks$")
        agent.process.send_signal(signal.SIGTERM)
        self.wait_for("STOPPING")  # a manager reads, also while it stops
        self.assertEqual(agent.join(), 0)

    def test_reload(self):
        agent = self.start()
        self.wait_for("READY")
        agent.write(GOOD.format("2s"))
        agent.reload()
        self.assertGreater(int(self.wait_for("RELOADING")["MONOTONIC_USEC"]), 0)
        self.wait_for("READY", "reloaded ")
        agent.write("a.source.prco {}\n")
        agent.reload()
        self.wait_for("RELOADING")
        self.wait_for("READY", "reload refused")
        self.assertEqual(agent.stop(), 0)

    def test_no_sign_of_life_for_another_process(self):
        agent = self.start(WATCHDOG_USEC="1000", WATCHDOG_PID="1")
        self.wait_for("READY")
        # Without a watchdog the status comes every 15 s; as one message with it, at once.
        self.wait_for("WATCHDOG")
        self.manager.settimeout(0.5)
        with self.assertRaises(TimeoutError):
            self.wait_for("WATCHDOG")
        agent.process.send_signal(signal.SIGTERM)
        self.assertEqual(agent.join(), 0)

    def test_a_manager_that_is_gone_does_not_matter(self):
        agent = self.start(WATCHDOG_USEC="200000")
        self.wait_for("READY")
        self.manager.close()
        os.unlink(self.path("notify"))
        agent.running()
        self.assertEqual(agent.stop(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
