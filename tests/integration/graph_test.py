# SPDX-License-Identifier: Apache-2.0
"""graph and place over a store that the real agent wrote: reports of two hosts about a database and its workers, by HTTP; and a real
connection that this host's agent saw."""

import json
import os
import shutil
import socket
import subprocess
import time
import unittest
import urllib.request
import xml.dom.minidom

from harness import BINARY, PATIENCE, AgentCase, main, so_far

T0 = 1_700_000_000
WHEN = ["--from", str(T0), "--to", str(T0 + 60)]
MIB = 1 << 20


class StoreCase(AgentCase):
    def setUp(self):
        super().setUp()
        self.store = self.path("atalaya.db")

    def atalaya(self, *words, status=0):
        done = subprocess.run([BINARY, *words, "--store", self.store], capture_output=True, timeout=PATIENCE, cwd=self.folder,
                              env=dict(os.environ, TZ="UTC"))
        self.assertEqual(done.returncode, status, done.stderr.decode())
        self.errors = done.stderr.decode()
        return done.stdout.decode()

    def graph(self, *words):
        return self.atalaya("graph", *WHEN, *words)


def flow(host, pid, process, container, local, remote, direction, out, received):
    tags = {"host": host, "pid": str(pid), "process": process, "local": local, "remote": remote, "port": "9042", "protocol": "tcp",
            "direction": direction, "container": container}
    for metric, value in (("flow.out.bytes", out), ("flow.in.bytes", received)):
        for second in (10, 20):
            yield {"metric": metric, "timestamp": T0 + second, "value": value // 2, "tags": tags}


def process(host, pid, name, container, cpu, memory):
    tags = {"host": host, "pid": str(pid), "process": name, "container": container}
    for metric, value in (("proc.cpu.user", cpu), ("proc.mem.resident", memory)):
        for second in range(1, 61):
            yield {"metric": metric, "timestamp": T0 + second, "value": value, "tags": tags}


def documents():
    """Worker i of host a queries database i of host b, and both could be on one host."""
    for i in (1, 2):
        yield from flow("a", i, "worker", f"worker-{i}", "10.0.0.1", f"10.0.1.{i}", "out", 2 * MIB, 100 * i * MIB)
        yield from flow("b", i, "database", f"database-{i}", f"10.0.1.{i}", "10.0.0.1", "in", 100 * i * MIB, 2 * MIB)
        yield from process("a", i, "worker", f"worker-{i}", 50, 500)
        yield from process("b", i, "database", f"database-{i}", 100, 1000)
    yield from flow("a", 1, "worker", "worker-1", "10.0.0.1", "192.0.2.7", "out", MIB, MIB)
    for host in ("a", "b"):
        for second in range(1, 61):
            yield {"metric": "sys.mem.total", "timestamp": T0 + second, "value": 8192, "tags": {"host": host}}
            for core in range(4):
                yield {"metric": "sys.cpu.usage", "timestamp": T0 + second, "value": 30, "tags": {"host": host, "core": str(core)}}


class Cluster(StoreCase):
    def setUp(self):
        super().setUp()
        agent = self.run_agent('local a = require "atalaya"\na.pipeline "hub" { a.source.receive { listen = "127.0.0.1:0", store_timeout = "50s" }, '
                               f'a.sink.sqlite {{ path = "{self.store}", retain = "0s" }} }}\n')
        url = "http://" + agent.wait_line("listening on ").split("listening on ")[1].split()[0] + "/api/jsonlines"  # which takes more tags
        request = urllib.request.Request(url, "".join(json.dumps(one) + "\n" for one in documents()).encode())
        urllib.request.urlopen(request, timeout=PATIENCE).close()

    def test_both_ends_are_one_edge_and_hosts_are_distinct(self):
        graph = json.loads(self.graph("--by", "host", "--format", "json"))
        names = graph["matrix"]["names"]
        cell = {(a, b): graph["matrix"]["bytes"][i][j] for i, a in enumerate(names) for j, b in enumerate(names)}
        self.assertEqual(cell["a", "b"], 4 * MIB)
        self.assertEqual(cell["b", "a"], 300 * MIB)
        self.assertEqual(cell["192.0.2.7", "a"], MIB)
        self.assertEqual(cell["a", "a"], 0)
        self.assertEqual(graph["bytes"], 306 * MIB)
        self.assertEqual(graph["estimated"], 0)

    def test_by_command_hosts_are_merged_and_nodes_have_their_use(self):
        graph = json.loads(self.graph("--by", "command", "--format", "json"))
        nodes = {node["name"]: node for node in graph["nodes"]}
        self.assertEqual(set(nodes), {"worker", "database", "192.0.2.7:9042"})
        self.assertTrue(nodes["192.0.2.7:9042"]["outside"])
        self.assertNotIn("cpu", nodes["192.0.2.7:9042"])
        self.assertEqual(len(json.loads(self.graph("--by", "process", "--format", "json"))["nodes"]), 5)

    def test_the_matrix_for_readers(self):
        text = self.graph("--by", "host", "--format", "matrix")
        self.assertRegex(text, r"(?m)^ *\d b .*300 MiB █")
        picture = xml.dom.minidom.parseString(self.graph("--by", "container", "--format", "svg"))
        self.assertIn("b database-2 to a worker-2: 200 MiB", [title.firstChild.data for title in picture.getElementsByTagName("title")])
        xml.dom.minidom.parseString(self.graph("--format", "graphml"))

    def test_the_drawing_leaves_small_edges_out_and_keeps_its_colours(self):
        dot = self.graph("--format", "dot")
        self.assertIn("2 edges drawn; 1 edges with 2.0 MiB of 306 MiB omitted", self.errors)
        self.assertEqual(dot.count(" -- "), 2)
        self.assertEqual(dot.count("subgraph cluster_"), 2)
        all_edges = self.graph("--format", "dot", "--min-share", "0")
        self.assertEqual(all_edges.count(" -- "), 3)

        def colours(text):
            return {line.split("color=")[1].split()[0].rstrip("];") for line in text.splitlines() if "height=" in line or " -- " in line}
        self.assertLess(colours(dot), colours(all_edges))
        if shutil.which("dot"):
            drawn = subprocess.run(["dot", "-Tsvg"], input=all_edges, capture_output=True, text=True, check=True)
            self.assertEqual(drawn.stderr, "")
            self.assertIn("worker", drawn.stdout)

    def test_databases_of_graphs_get_statements(self):
        lines = self.graph("--by", "host", "--format", "cypher").splitlines()
        self.assertIn("MERGE (n:Peer {host: '', name: '192.0.2.7', pid: ''});", lines)
        self.assertIn("MATCH (a:Host {host: 'b', name: 'b', pid: ''}), (b:Host {host: 'a', name: 'a', pid: ''}) MERGE (a)-[s:SENT]->(b) "
                      f"SET s.bytes = {300 * MIB};", lines)

    def test_errors_are_reported(self):
        self.atalaya("graph", "--min-share", "much", status=2)
        self.assertIn('--min-share: "much" is not a share; write 10% or 0.1', self.errors)
        self.assertEqual(self.atalaya("graph", "--from", str(T0 - 60), "--to", str(T0 - 30), "--format", "matrix").strip(), "")
        self.assertIn("no flows from ", self.errors)
        self.atalaya("graph", *WHEN, "--max-points", "1", status=1)
        self.assertIn("narrow the query with --tag or a shorter time range", self.errors)
        self.atalaya("graph", "--conntrack", "/etc/passwd", status=2)
        self.assertIn("--conntrack: /etc/passwd: no connections found", self.errors)
        self.atalaya("graph", "--conntrack", "/nowhere", status=2)
        self.assertIn("--conntrack: /nowhere: No such file or directory", self.errors)

    def test_place_finds_room_on_one_host_for_communicating_items(self):
        plan = json.loads(self.atalaya("place", *WHEN, "--format", "json"))
        self.assertEqual((plan["now"]["hosts"], plan["proposed"]["hosts"]), (2, 1))
        self.assertEqual(plan["now"]["crossing"], 304 * MIB)
        self.assertEqual(plan["proposed"]["crossing"], 0)
        self.assertEqual(len({item["to"] for item in plan["items"]}), 1)
        table = self.atalaya("place", *WHEN)
        self.assertRegex(table, r"(?m)^now +2 +304 MiB +100\.0%")
        self.assertRegex(table, r"(?m)^proposed +1 +0 B +0\.0%")
        self.assertEqual(table.count("could be emptied"), 1)
        # Two of half the size take a worker and a database each.
        with open(self.path("hosts"), "w") as file:
            file.write("a 2 4GiB\nb 2 4GiB\n")
        plan = json.loads(self.atalaya("place", *WHEN, "--format", "json", "--hosts", "hosts"))
        where = {item["name"]: item["to"] for item in plan["items"]}
        self.assertEqual(where["worker-1"], where["database-1"])
        self.assertEqual(where["worker-2"], where["database-2"])
        self.assertNotEqual(where["worker-1"], where["worker-2"])
        self.assertEqual(plan["proposed"]["crossing"], 0)
        self.assertEqual(self.atalaya("place", *WHEN, "--format", "kubernetes").count("key: kubernetes.io/hostname"), 4)

    def test_place_reports_missing_input(self):
        self.atalaya("place", *WHEN, "--hosts", "nowhere", status=2)
        self.assertIn("--hosts: nowhere: No such file or directory", self.errors)
        self.atalaya("place", "--from", str(T0 - 60), "--to", str(T0 - 30), "--hosts", "2", status=2)
        self.assertIn("the store has no cores and memory of hosts", self.errors)
        self.assertIn("pipelines/traffic.lua", self.errors)
        self.atalaya("place", *WHEN, "--by", "process", "--format", "kubernetes", status=2)
        self.assertIn("pod templates have containers", self.errors)
        self.atalaya("place", *WHEN, "--move", "nothing*", status=2)
        self.assertIn("no flow has a name that --move selects", self.errors)


class ThisHost(StoreCase):
    @unittest.skipUnless(os.geteuid() == 0 and os.path.exists("/sys/kernel/btf/vmlinux"), "the network is read by BPF")
    def test_a_real_connection_is_an_edge_between_its_processes(self):
        out = self.path("out")
        agent = self.run_agent('local a = require "atalaya"\na.pipeline "network" { every = "500ms", a.source.net {}, a.source.self {}, '
                               f'a.sink.sqlite {{ path = "{self.store}" }}, a.sink.file {{ path = "{out}" }} }}\n')
        agent.running()

        agent.wait_status(lambda _: len({point["timestamp"] for point in so_far(out)}) > 1)  # before the first reading nothing has been counted
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            sender = subprocess.Popen(["python3", "-c", f"import socket, sys\ns = socket.create_connection(('127.0.0.1', {port}))\n"
                                       "s.sendall(b'x' * 3000000)\ns.shutdown(1)\ns.recv(1)"])
            taken, _ = server.accept()
            received = sum(len(part) for part in iter(lambda: taken.recv(1 << 16), b""))
            taken.close()
            sender.wait(PATIENCE)
        self.assertEqual(received, 3_000_000)
        begin = time.monotonic()
        found = {}
        while received not in found.values() and time.monotonic() < begin + PATIENCE:
            time.sleep(0.2)
            if os.path.exists(self.store):
                graph = json.loads(self.atalaya("graph", "--from", "-5m", "--tag", f"port={port}", "--format", "json"))
                found = {(graph["nodes"][edge["from"]]["name"], graph["nodes"][edge["to"]].get("pid")): edge["bytes"]
                         for edge in graph["edges"]}
        self.assertEqual(found.get(("python3", str(os.getpid()))), received, found)

    @unittest.skipUnless(os.geteuid() == 0 and os.path.exists("/sys/kernel/btf/vmlinux"), "the network is read by BPF")
    def test_unconnected_datagrams_are_edges_that_count_once(self):
        """A server, a client that asks for the sender of its answers, and one that does not: neither is connected."""
        out = self.path("out")
        agent = self.run_agent('local a = require "atalaya"\na.pipeline "network" { every = "500ms", a.source.net { udp = true }, '
                               f'a.source.self {{}}, a.sink.sqlite {{ path = "{self.store}" }}, a.sink.file {{ path = "{out}" }} }}\n')
        agent.running()
        agent.wait_status(lambda _: len({point["timestamp"] for point in so_far(out)}) > 1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
            server.bind(("127.0.0.1", port))  # chosen by its program: it serves
            sizes = {"recvfrom": 300, "recv": 500}
            clients = {call: subprocess.Popen([
                "python3", "-c", "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nfor _ in range(40):\n"
                f"  s.sendto(b'q' * {size}, ('127.0.0.1', {port}))\n  s.{call}(100)\ninput()"], stdin=subprocess.PIPE)
                for call, size in sizes.items()}
            for _ in range(80):
                question, whom = server.recvfrom(2000)
                server.sendto(question[:7], whom)
        own = str(os.getpid())
        pids = {call: str(client.pid) for call, client in clients.items()}
        expected = {(pids["recvfrom"], own): 12000, (own, pids["recvfrom"]): 280, (pids["recv"], own): 20000, (own, pids["recv"]): 280}
        begin = time.monotonic()
        found = {}
        while found != expected and time.monotonic() < begin + PATIENCE:
            time.sleep(0.2)
            if os.path.exists(self.store):
                graph = json.loads(self.atalaya("graph", "--from", "-5m", "--min-share", "0", "--format", "json"))
                nodes = [node.get("pid") for node in graph["nodes"]]
                edges = {(nodes[edge["from"]], nodes[edge["to"]]): edge["bytes"] for edge in graph["edges"]}
                found = {ends: amount for ends, amount in edges.items() if {own, *pids.values()} & set(ends)}
        for client in clients.values():
            client.communicate(b"\n", PATIENCE)
        self.assertEqual(found, expected)  # and no edge to or from anybody else
        self.assertEqual(agent.stop(), 0)


if __name__ == "__main__":
    main()
