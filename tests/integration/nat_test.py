# SPDX-License-Identifier: Apache-2.0
"""The two ends of connections through real address translation: a client, and a node that publishes ports of a container and hides its
address. Each host is a network namespace with an agent; the kernel translates by rules of iptables."""

import json
import os
import shutil
import socket
import subprocess
import time
import unittest

from harness import BINARY, PATIENCE, Agent, AgentCase, main, so_far
from net_case import HAS_BPF, RUN, Child, Gate, exchange, libc, own, receive_all
from network_hosts import NetworkHosts, ip

CLONE_NEWNET = 0x40000000
POD, POD_GATEWAY = "172.30.9.2", "172.30.9.1"
NAMES = {"client": ["net-client", "net-far"], "node": ["net-server", "net-out"]}


def enter(space):
    with open(f"/run/netns/{space}") as file:
        assert libc.setns(file.fileno(), CLONE_NEWNET) == 0


def can_translate():
    """Whether this kernel and iptables do so in a namespace."""
    space = f"atlcheck{RUN}"
    if not shutil.which("iptables") or subprocess.run(["ip", "netns", "add", space], capture_output=True).returncode:
        return False
    try:
        return subprocess.run(["ip", "netns", "exec", space, "iptables", "-t", "nat", "-L"], capture_output=True).returncode == 0
    finally:
        subprocess.run(["ip", "netns", "del", space], capture_output=True)


@unittest.skipUnless(HAS_BPF and can_translate(), "needs root, the kernel's type information, and iptables with address translation")
class Translated(AgentCase):
    def setUp(self):
        super().setUp()
        self.network = NetworkHosts(["client", "node"], "1gbit")
        self.addCleanup(self.network.remove)
        self.pod = f"{self.network.tag}pod"
        ip("netns", "add", self.pod)
        self.addCleanup(subprocess.run, ["ip", "netns", "del", self.pod], capture_output=True)
        node = self.network.space("node")
        ip("-n", node, "link", "add", "pod0", "type", "veth", "peer", "name", "eth0", "netns", self.pod)
        ip("-n", node, "addr", "add", f"{POD_GATEWAY}/24", "dev", "pod0")
        ip("-n", node, "link", "set", "pod0", "up")
        for words in (["addr", "add", f"{POD}/24", "dev", "eth0"], ["link", "set", "eth0", "up"], ["link", "set", "lo", "up"],
                      ["route", "add", "default", "via", POD_GATEWAY]):
            ip("-n", self.pod, *words)
        self.on_node("sysctl", "-qw", "net.ipv4.ip_forward=1")
        for protocol, port, target in (("tcp", 8080, 80), ("udp", 5353, 53)):
            self.on_node("iptables", "-t", "nat", "-A", "PREROUTING", "-p", protocol, "--dport", str(port), "-j", "DNAT",
                         "--to-destination", f"{POD}:{target}")
        self.on_node("iptables", "-t", "nat", "-A", "POSTROUTING", "-s", f"{POD}/32", "-o", "eth0", "-j", "MASQUERADE")

    def on_node(self, *words):
        done = subprocess.run(["ip", "netns", "exec", self.network.space("node"), *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def start_agent(self, host):
        """Hosts share a kernel here: each agent reports the processes of its host only."""
        folder = self.path(host)
        os.mkdir(folder)
        mine = ", ".join(f'["{own(name)}"] = true' for name in NAMES[host])
        agent = Agent(folder, f"""
            local a = require "atalaya"
            local mine = {{ {mine} }}
            a.pipeline "host" {{
              every = "500ms", a.source.net {{ udp = true }}, a.source.nat {{}}, a.source.self {{}},
              function(s)
                if not mine[s.tags.process] and not (s.fields["self.files"] or s.fields["nat.connections"] or s.fields["nat.tracked"]) then
                  return nil
                end
                s.tags.host = "{host}"
                return s
              end,
              a.sink.sqlite {{ path = "{self.store(host)}" }}, a.sink.file {{ path = "{folder}/out", format = "samples" }} }}""",
                      wrapper=self.network.inside(host))
        self.agents.append(agent)
        agent.running()
        agent.wait_status(lambda _: len({sample["time"] for sample in so_far(f"{folder}/out")}) > 1)
        return agent

    def store(self, host):
        return self.path(f"{host}.db")

    def graph(self):
        words = [word for host in NAMES for word in ("--store", self.store(host))]
        done = subprocess.run([BINARY, "graph", "--from", "-5m", "--by", "command", "--format", "json", *words], capture_output=True,
                              text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        graph = json.loads(done.stdout)
        names = [node["name"] for node in graph["nodes"]]
        return {(names[edge["from"]], names[edge["to"]]): edge["bytes"] for edge in graph["edges"]}, graph["estimated"]

    def move(self):
        """Each end checks what it receives. The node's address, and the container's own, are hidden from the other side."""
        ready, far_ready = Gate(), Gate()
        node, client = self.network.address("node"), self.network.address("client")

        def server():
            enter(self.pod)
            with socket.create_server(("", 80)) as listener, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
                datagrams.bind(("", 53))
                ready.open()
                connection, _ = listener.accept()
                received = receive_all(connection)
                connection.sendall(b"y" * 500)
                connection.close()
                for _ in range(20):
                    question, whom = datagrams.recvfrom(2000)
                    datagrams.sendto(question[:7], whom)
            return received

        def far():
            enter(self.network.space("client"))
            with socket.create_server(("", 9000)) as listener:
                far_ready.open()
                connection, whom = listener.accept()
                assert whom[0] == node, whom
                received = receive_all(connection)
                connection.sendall(b"z" * 90)
                connection.close()
            return received

        def ask():
            enter(self.network.space("client"))
            ready.wait()
            with socket.create_connection((node, 8080)) as connection:
                exchange(connection, 300_000, 500)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
                datagrams.settimeout(PATIENCE)
                for _ in range(20):
                    datagrams.sendto(b"q" * 100, (node, 5353))
                    assert datagrams.recvfrom(100)[0] == b"q" * 7
            return ""

        def out():
            enter(self.pod)
            far_ready.wait()
            with socket.create_connection((client, 9000)) as connection:
                exchange(connection, 7000, 90)
            return ""

        children = [Child(name, function) for name, function in
                    (("net-server", server), ("net-far", far), ("net-client", ask), ("net-out", out))]
        words = [child.join() for child in children]
        for gate in (ready, far_ready):
            gate.close()
        self.assertEqual(words[:2], ["300000", "7000"])

    def translated_connections(self):
        """According to the kernel's own list."""
        count = 0
        for line in self.on_node("cat", "/proc/net/nf_conntrack").splitlines():
            words = [word.split("=")[1] for word in line.split() if word.startswith(("src=", "dst=", "sport=", "dport="))]
            if "tcp" in line.split() or "udp" in line.split():
                source, target, _, port, answerer, asker, answering_port, _ = words
                count += (source, target, port) != (asker, answerer, answering_port)
        return count

    def test_both_ends_are_one_edge_and_translations_are_those_of_the_kernel(self):
        agents = [self.start_agent(host) for host in NAMES]
        self.move()
        expected = {("net-client", "net-server"): 302_000, ("net-server", "net-client"): 640, ("net-out", "net-far"): 7000,
                    ("net-far", "net-out"): 90}
        expected = {(own(a), own(b)): amount for (a, b), amount in expected.items()}
        begin = time.monotonic()
        found = None
        while found != (expected, 0) and time.monotonic() < begin + PATIENCE:
            time.sleep(0.2)
            found = self.graph()
        self.assertEqual(found, (expected, 0))  # nothing else, and nothing divided
        listed = self.translated_connections()
        self.assertGreaterEqual(listed, 3)
        last = max(sample["time"] for sample in so_far(self.path("node/out")) if "nat.tracked" in sample["fields"])
        samples = [sample for sample in so_far(self.path("node/out")) if sample["time"] == last]
        total = sum(sample["fields"].get("nat.connections", 0) + sample["fields"].get("nat.others", 0) for sample in samples)
        self.assertEqual(total, listed)
        tracked = sum(sample["fields"].get("nat.tracked", 0) for sample in samples)
        self.assertLessEqual(total, tracked)
        for agent in agents:
            self.assertEqual(agent.stop(), 0)


if __name__ == "__main__":
    main()
