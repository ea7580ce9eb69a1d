# SPDX-License-Identifier: Apache-2.0
"""Difficult cases for counting traffic of processes: connections that linger, numbers that are used again, namespaces, and more of
everything than there is room for."""

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import time
import unittest

from harness import PATIENCE, main
from net_case import HAS_BPF, Child, Gate, NetCase, exchange, libc, listen, serve

CLONE_NEWPID = 0x20000000
LAST_PID = "/proc/sys/kernel/ns_last_pid"  # the next process has the next number


def cgroup_tree():
    """Of version 1, that of the cpu controller; else of version 2."""
    unified = None
    with open("/proc/self/mountinfo") as file:
        for line in file:
            fields, _, rest = line.partition(" - ")
            kind, _, options = rest.split()[:3]
            if kind == "cgroup" and "cpu" in options.split(","):
                return fields.split()[4]
            if kind == "cgroup2":
                unified = fields.split()[4]
    return unified


def lingering():
    with open("/proc/net/sockstat") as file:
        words = next(line for line in file if line.startswith("TCP:")).split()
    return int(words[words.index("tw") + 1])


def child_with(pid, name, function):
    """A process of a number that was another's. Others that begin meanwhile may take it first."""
    while True:
        with open(LAST_PID, "w") as file:
            file.write(str(pid - 1))
        child = Child(name, lambda: function() if os.getpid() == pid else "")
        if child.pid == pid:
            return child
        child.join()


@unittest.skipUnless(HAS_BPF, "needs root and the kernel's type information")
class Edges(NetCase):
    def test_a_storm_that_lingers(self):
        """The side that closes first keeps each connection for a minute, without owner: it is no open connection, and counts no more."""
        self.start_agent()
        server, count = listen("0.0.0.0"), 3000
        port = server.getsockname()[1]
        gate, through = Gate(), Gate()
        def client():
            for i in range(count):
                with socket.create_connection((f"127.5.{i // 200}.{1 + i % 200}", port)) as connection:
                    exchange(connection, 500, 40)
            through.open()
            gate.wait()
            return ""
        children = [Child("net-server", lambda: serve(server, 40, count)), Child("net-client", client)]
        children[0].join()
        through.wait()
        kept = lingering()
        self.wait_windows(3)
        last = max(sample["time"] for sample in self.samples())
        gate.open()
        children[1].join()
        gate.close()
        through.close()
        server.close()
        self.finish()
        self.assertGreaterEqual(kept, count)
        still_open = [sample for sample in self.of("net-client") if sample["time"] == last and sample["fields"].get("proc.net.tcp.connections")]
        self.assertEqual(still_open, [])
        self.check_moved("net-client", count * 500, count * 40, port=str(port))
        self.check_moved("net-server", count * 40, count * 500, port=str(port))
        self.assertEqual(self.sum("net-client", "proc.net.tcp.connects"), count)

    def test_ends_that_are_lost_are_closed_from_the_last_reading(self):
        """The agent stands still while connections end, and its ring holds the ends of some: the others vanish, and each is counted."""
        self.start_agent('buffer = "64 KiB"', every="100ms")
        server, count = listen(), 450
        made, gate, ended, last = Gate(), Gate(), Gate(), Gate()
        def both_ends():
            pairs = []
            for _ in range(count):
                client = socket.create_connection(server.getsockname())
                taken, _ = server.accept()
                client.sendall(b"x" * 1000)
                assert len(taken.recv(1000, socket.MSG_WAITALL)) == 1000
                pairs.append((client, taken))
            made.open()
            gate.wait()
            for client, taken in pairs:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # reset: both ends are gone at once
                client.close()
                taken.close()
            ended.open()
            last.wait()  # the process itself remains
            return ""
        child = Child("net-both", both_ends)
        made.wait()
        # Until a walk has seen all: sent bytes count when they are acknowledged, which may take some time.
        self.agent.wait_status(lambda _: self.sum("net-both", "flow.out.bytes") == 1000 * count)
        self.agent.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.agent.process.pid, os.WSTOPPED)  # all of its threads: one empties the ring
        try:
            gate.open()
            ended.wait()
        finally:
            self.agent.process.send_signal(signal.SIGCONT)
        without_room = 2 * count - (64 << 10) // 128  # a record has more than 128 bytes
        begin = time.monotonic()
        while (vanished := self.sum("unattributed", "proc.net.vanished")) < without_room and time.monotonic() < begin + PATIENCE:
            time.sleep(0.2)
        last.open()
        child.join()
        for end in (made, gate, ended, last, server):
            end.close()
        self.wait_windows(1)
        self.assertEqual(self.agent.stop(), 0)
        lost = self.sum("unattributed", "proc.net.lost")  # with those of other processes of this host
        self.assertGreaterEqual(vanished, without_room)
        self.assertLessEqual(vanished, lost)
        self.check_moved("net-both", 1000 * count, 1000 * count)
        self.assertEqual(self.of("net-both")[-1]["fields"].get("proc.net.tcp.connections", 0), 0)

    def test_the_same_ports_again(self):
        """A connection between the ends of one that lingers is another one."""
        self.start_agent()
        server, ends = listen(), []
        def client(size):
            with socket.socket() as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                connection.bind(("127.0.0.1", ends[0] if ends else 0))
                while connection.connect_ex(server.getsockname()) != 0:
                    time.sleep(0.01)  # for a second the kernel does not want it again
                port = connection.getsockname()[1]
                exchange(connection, size, 7)
            return port
        both = Child("net-server", lambda: serve(server, 7, 2))
        ends.append(int(Child("net-first", lambda: client(1000)).join()))
        self.assertEqual(int(Child("net-second", lambda: client(2000)).join()), ends[0])
        both.join()
        server.close()
        self.finish()
        self.check_moved("net-first", 1000, 7)
        self.check_moved("net-second", 2000, 7)
        self.check_moved("net-server", 14, 3000)

    def test_the_last_traffic_of_a_process_has_its_pid(self):
        """If the window before had it: else a program with one connection is two nodes of a graph."""
        self.start_agent()
        server = listen()
        gate = Gate()
        def client():
            with socket.create_connection(server.getsockname()) as connection:
                connection.sendall(b"x" * 1000)
                gate.wait()
                exchange(connection, 500_000, 3)
            return ""
        answers = Child("net-server", lambda: serve(server, 3))
        one = Child("net-client", client)
        self.wait_windows(3)
        gate.open()
        for child in (one, answers):
            child.join()
        gate.close()
        server.close()
        self.finish()
        self.check_moved("net-client", 501_000, 3, pid=str(one.pid))
        self.check_moved("net-server", 3, 501_000, pid=str(answers.pid))
        for name in ("net-client", "net-server"):
            self.assertFalse([sample for sample in self.of(name) if "pid" not in sample["tags"]])

    def test_processes_shorter_than_a_window_have_their_container(self):
        tree = cgroup_tree()
        container = "3f" * 32
        path = f"/docker/{container}"
        folders = [tree + "/docker", tree + path]
        try:
            for folder in folders:
                os.makedirs(folder, exist_ok=True)
        except OSError as error:
            self.skipTest(f"no cgroup can be made: {error}")
        def remove():
            for folder in reversed(folders):
                with contextlib.suppress(OSError):  # others may use the first
                    os.rmdir(folder)
        self.addCleanup(remove)
        self.start_agent(translators='a.translate.names { tags = { "container" } },')
        server = listen()
        def client():
            with open(tree + path + "/cgroup.procs", "w") as file:
                file.write("0")
            with socket.create_connection(server.getsockname()) as connection:
                exchange(connection, 50_000, 3)
            return ""
        answers = Child("net-server", lambda: serve(server, 3, 20))
        for _ in range(20):
            Child("net-client", client).join()
        answers.join()
        server.close()
        self.finish()
        self.check_moved("net-client", 20 * 50_000, 60)
        # One that lived at the end of a window has its pid, and may have ended before its container was read.
        short = [sample["tags"] for sample in self.of("net-client") if "pid" not in sample["tags"]]
        self.assertEqual({(tags.get("cgroup"), tags.get("container")) for tags in short}, {(path, container[:12])})

    @unittest.skipUnless(os.path.exists(LAST_PID), "pids cannot be chosen")
    def test_a_pid_that_is_used_again(self):
        """At once, and after a connection of the first process that had been reported."""
        self.start_agent()
        server = listen()
        gate = Gate()
        def first():
            with socket.create_connection(server.getsockname()) as connection:
                connection.sendall(b"x" * 1000)
                gate.wait()
                exchange(connection, 500, 3)
            return ""
        def second():
            with socket.create_connection(server.getsockname()) as connection:
                exchange(connection, 70_000, 3)
            return ""
        answers = Child("net-server", lambda: serve(server, 3, 2))
        one = Child("net-first", first)
        self.wait_windows(2)
        gate.open()
        one.join()
        child_with(one.pid, "net-second", second).join()
        answers.join()
        gate.close()
        server.close()
        self.finish()
        self.check_moved("net-first", 1500, 3)
        self.check_moved("net-second", 70_000, 3)
        for name in ("net-first", "net-second"):
            self.assertEqual(self.sum(name, "proc.net.tcp.connects"), 1)

    def test_a_pid_namespace(self):
        """A process is reported by its number in this namespace, not by its number in the inner one."""
        self.start_agent()
        server = listen()
        known, sent, gate = Gate(), Gate(), Gate()
        def inside():
            known.wait()
            with socket.create_connection(server.getsockname()) as connection:
                connection.sendall(b"x" * 10_000)
                sent.open()
                gate.wait()
                exchange(connection, 2345, 3)
            return os.getpid()
        def outside():
            assert libc.unshare(CLONE_NEWPID) == 0
            child = Child("net-inside", inside)
            known.open()
            return f"{child.pid} {child.join()}"
        answers = Child("net-server", lambda: serve(server, 3))
        here = Child("net-outside", outside)
        sent.wait()
        self.wait_windows(3)
        gate.open()
        pid, there = here.join().split()
        answers.join()
        for end in (known, sent, gate, server):
            end.close()
        self.finish()
        self.assertEqual(there, "1")
        self.check_moved("net-inside", 12_345, 3)
        self.assertLessEqual({sample["tags"].get("pid", pid) for sample in self.of("net-inside")}, {pid})
        self.assertTrue(any(sample["tags"].get("pid") == pid for sample in self.of("net-inside")))

    def test_a_server_of_both_families(self):
        """Clients of IPv4 come to a socket of IPv6: both ends name the same addresses."""
        self.start_agent()
        server = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        port = server.getsockname()[1]
        def client():
            for address in ("127.0.0.1", "::1"):
                with socket.create_connection((address, port)) as connection:
                    exchange(connection, 4000, 50)
            return ""
        for child in [Child("net-server", lambda: serve(server, 50, 2)), Child("net-client", client)]:
            child.join()
        server.close()
        self.finish()
        for address in ("127.0.0.1", "::1"):
            self.check_moved("net-client", 4000, 50, local=address, remote=address, port=str(port), direction="out")
            self.check_moved("net-server", 50, 4000, local=address, remote=address, port=str(port), direction="in")

    @unittest.skipUnless(os.environ.get("ATALAYA_FULL"), "one of the long tests: ./dev test --full")
    def test_fifty_thousand_flows_in_a_window(self):
        kept = 2000
        self.start_agent(f'ports = "all", max_flows = {kept}, calls = 262144', every="10s")
        said = json.loads(subprocess.run([os.environ["ATALAYA_STORM"], "9", "8000"], capture_output=True, check=True).stdout)
        self.finish()
        self.assertGreater(said["connections"], 50_000)
        flows = {}
        for sample in self.samples():
            if "flow.out.bytes" in sample["fields"]:
                flows.setdefault(sample["time"], []).append(sample)
        self.assertLessEqual(max(map(len, flows.values())), kept + 1)
        merged = sum(sample["fields"].get("flow.merged", 0) for all_of_it in flows.values() for sample in all_of_it)
        self.assertGreaterEqual(merged, 2 * (said["connections"] - kept * len(flows)))
        # In the flows of its processes and in the others together is all that was sent; whatever else this host did meanwhile is more.
        sent = sum(sample["fields"]["flow.out.bytes"] for all_of_it in flows.values() for sample in all_of_it)
        self.assertGreaterEqual(sent, 100 * said["connections"])
        makers = [sample["fields"] for sample in self.samples() if sample["tags"].get("process") == "bench-maker"]
        self.assertEqual(sum(fields.get("proc.net.tcp.connects", 0) for fields in makers), said["connections"])


if __name__ == "__main__":
    main()
