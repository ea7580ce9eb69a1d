# SPDX-License-Identifier: Apache-2.0
"""Four hosts in network namespaces, each with an agent that sends to a hub, run a small distributed system: servers of keys and values,
and workers. A scan has each worker read mostly from the server on the same host; a shuffle has the workers exchange data. The graph has to
show both as they are, place to find the best packing on half of the hosts, and the system to behave so when each query is run as placed
for it and for the other one. Traffic between hosts passes links of 200 Mbit/s, so that it takes its time."""

import itertools
import json
import os
import subprocess
import sys
import time
import unittest

from harness import BINARY, PATIENCE, Agent, AgentCase, main, so_far
from network_hosts import NetworkHosts

COUNT = 4
MIB = 1 << 20
HOSTS = [f"h{i}" for i in range(COUNT)]
NODES = [f"{role}-{i}" for role in ("kv", "worker") for i in range(COUNT)]
PORT = {name: 9000 + number for number, name in enumerate(NODES)}
QUERIES = ("scan", "shuffle")
WINDOW = 0.5  # seconds
FIRST = {name: f"h{name[-1]}" for name in NODES}  # where they run at first


def pulls(query):
    return {(f"worker-{i}", f"kv-{j}"): (6 * MIB if i == j else MIB // 2) if query == "scan" else MIB
            for i in range(COUNT) for j in range(COUNT)}


def pushes(query):
    each = MIB // 8 if query == "scan" else 4 * MIB
    return {(f"worker-{i}", f"worker-{j}"): each for i in range(COUNT) for j in range(COUNT) if i != j}


def sent(query):
    """Bytes by sender and receiver, requests too."""
    moved = {}
    for (worker, server), amount in pulls(query).items():
        moved[server, worker] = amount
        moved[worker, server] = len(str(amount)) + 1
    for ends, amount in pushes(query).items():
        moved[ends] = amount + 2
    return moved


def crossing(query, where):
    return sum(amount for (a, b), amount in sent(query).items() if where[a] != where[b])


def between_hosts(graph):
    """Of each host by name: bytes that it received from others and sent to them."""
    names = [node["name"] for node in graph["nodes"]]
    moved = {name: [0, 0] for name in names}
    for edge in graph["edges"]:
        if edge["from"] != edge["to"]:
            moved[names[edge["to"]]][0] += edge["bytes"]
            moved[names[edge["from"]]][1] += edge["bytes"]
    return moved


def kept(graph):
    """The part of all bytes that stays within hosts: the diagonal of the matrix."""
    return sum(row[i] for i, row in enumerate(graph["matrix"]["bytes"])) / graph["bytes"]


@unittest.skipUnless(os.environ.get("ATALAYA_FULL"), "one of the long tests: ./dev test --full")
@unittest.skipUnless(os.geteuid() == 0 and os.path.exists("/sys/kernel/btf/vmlinux"), "hosts are network namespaces, read by BPF: root")
class Placement(AgentCase):
    def setUp(self):
        super().setUp()
        self.network = NetworkHosts(HOSTS, "200mbit")
        self.addCleanup(self.network.remove)

    def run_in(self, name, lua, **options):
        """An agent in a separate folder."""
        folder = self.path(f"{os.path.basename(self.store)}-{name}")
        os.mkdir(folder)
        agent = Agent(folder, lua, **options)
        self.agents.append(agent)
        return agent

    def start_hub(self):
        agent = self.run_in("hub", 'local a = require "atalaya"\na.pipeline "hub" { a.source.receive { '
                               f'listen = "{self.network.gateway}:0", open = true }}, '
                               f'a.sink.sqlite {{ path = "{self.store}" }} }}\n')
        return "http://" + agent.wait_line("listening on ").split("listening on ")[1].split()[0], agent

    def start_agent(self, hub, host, where):
        """Hosts share a kernel here: each agent reports its own processes only, and to a separate file."""
        seen = self.path(f"{os.path.basename(self.store)}-{host}.jsonl")
        mine = ", ".join(f'["{name}"] = true' for name in NODES if where[name] == host)
        agent = self.run_in(host, f"""
            local a = require "atalaya"
            local mine = {{ {mine} }}
            a.pipeline "host" {{
              every = "{WINDOW}s", a.source.net {{}}, a.source.proc {{ host = false, cgroups = false }}, a.source.self {{}},
              function(s)
                if not mine[s.tags.process] and s.fields["self.files"] == nil then return nil end
                s.tags.host, s.tags.container = "{host}", s.tags.process
                return s
              end,
              a.sink.http {{ url = "{hub}", format = "jsonlines" }}, a.sink.file {{ path = "{seen}" }} }}""", wrapper=self.network.inside(host))
        agent.running()

        agent.wait_status(lambda _: len({point["timestamp"] for point in so_far(seen)}) > 1)  # before the first reading nothing is counted
        return agent

    def start_node(self, name, host):
        node = subprocess.Popen([*self.network.inside(host), sys.executable, os.path.join(os.path.dirname(__file__), "kv_node.py"), name,
                                 self.network.address(host), str(PORT[name])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertEqual(node.stdout.readline(), "ready\n")
        return node

    def atalaya(self, *words):
        done = subprocess.run([BINARY, *words, "--store", self.store], capture_output=True, text=True, timeout=PATIENCE, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def graph(self, by):
        return json.loads(self.atalaya("graph", "--by", by, *self.when, "--format", "json"))

    def run_query(self, query, strategy, where):
        """The slowest worker's seconds; edges have been compared with the sent bytes."""
        self.store = self.path(f"{query}-{strategy}.db")
        begin = time.time()
        self.when = ["--from", str(begin), "--to", str(begin + 3600)]
        hub, hub_agent = self.start_hub()
        agents = [self.start_agent(hub, host, where) for host in sorted(set(where.values()))]
        nodes = {name: self.start_node(name, where[name]) for name in NODES}
        try:
            for worker in (name for name in NODES if name.startswith("worker")):
                task = {act: [[self.network.address(where[peer]), PORT[peer], amount] for (own, peer), amount in of(query).items() if own == worker]
                        for act, of in (("pull", pulls), ("push", pushes))}
                nodes[worker].stdin.write(json.dumps(task) + "\n")
                nodes[worker].stdin.flush()
            seconds = max(float(nodes[name].stdout.readline()) for name in NODES if name.startswith("worker"))
            graph = self.complete_graph(sum(sent(query).values()))
        finally:
            for node in nodes.values():
                node.stdin.close()
                node.wait(PATIENCE)
                node.stdout.close()
            for agent in (*agents, hub_agent):
                agent.stop()
        self.when[-1] = str(time.time())  # from here on nothing changes
        self.check_edges(graph, query)
        return seconds

    def complete_graph(self, total):
        """The graph when both ends of all connections have been reported."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            graph = self.graph("container")
            if graph["bytes"] >= total and all("memory" in node and "outside" not in node for node in graph["nodes"]):
                return graph
            time.sleep(0.3)
        self.fail(f"of {total} bytes the graph has {graph['bytes']}, and the nodes {graph['nodes']}")

    def check_edges(self, graph, query):
        names = [node["name"] for node in graph["nodes"]]
        self.assertEqual(sorted(names), sorted(NODES))
        found = {(names[edge["from"]], names[edge["to"]]): edge["bytes"] for edge in graph["edges"]}
        for ends, amount in sent(query).items():
            self.assertAlmostEqual(found[ends], amount, delta=amount / 100, msg=ends)
        self.assertAlmostEqual(graph["bytes"], sum(sent(query).values()), delta=graph["bytes"] / 100)

    def placed(self, query):
        """As place has it on hosts that hold four of the eight, and no worse than any other such packing."""
        memory = {node["name"]: node["memory"] for node in self.graph("container")["nodes"]}
        room = 1.01 * sum(sorted(memory.values())[COUNT:])  # for any four
        with open(self.path("hosts"), "w") as file:
            file.writelines(f"{host} 64 {room * MIB:.0f}B\n" for host in HOSTS)
        plan = json.loads(self.atalaya("place", *self.when, "--hosts", self.path("hosts"), "--fill", "100", "--format", "json"))
        where = {item["name"]: item["to"] for item in plan["items"]}
        self.assertEqual(plan["now"]["hosts"], COUNT)
        self.assertEqual(plan["proposed"]["hosts"], COUNT // 2)
        packings = (dict(zip(NODES, bits)) for bits in itertools.product((0, 1), repeat=len(NODES)))
        fitting = [packing for packing in packings
                   if all(sum(memory[name] for name in NODES if packing[name] == side) <= room for side in (0, 1))]
        self.assertEqual(crossing(query, where), min(crossing(query, packing) for packing in fitting))
        return where

    def core_seconds(self):
        """By host: of the processes of the system."""
        answer = json.loads(self.atalaya("query", "--metric", "proc.cpu.*", *self.when, "--aggregate", "sum", "--group-by", "host",
                                         "--every", "1h-sum", "--format", "json"))
        used = dict.fromkeys(HOSTS, 0)
        for series in answer:
            used[series["tags"]["host"]] += sum(value for _, value in series["dps"]) / 100 * WINDOW
        return used

    def row(self, query, strategy, seconds, where):
        graph = self.graph("host")
        moved, used = between_hosts(graph), self.core_seconds()
        crossed = sum(received for received, _ in moved.values())
        self.assertAlmostEqual(crossed, crossing(query, where), delta=crossed / 100 + 1)
        def by_host(values, digits):
            return " ".join(f"{values[host]:.{digits}f}" for host in sorted(moved))
        return [query, strategy, str(len(moved)), f"{crossed / MIB:.1f} of {graph['bytes'] / MIB:.1f}", f"{seconds:.2f}", by_host(used, 2),
                by_host({host: received / MIB for host, (received, _) in moved.items()}, 1),
                by_host({host: sent / MIB for host, (_, sent) in moved.items()}, 1)]

    @staticmethod
    def show(rows):
        """A table as of Markdown."""
        rows.insert(1, ["---"] * len(rows[0]))
        print("", *("| " + " | ".join(row) + " |" for row in rows), sep="\n", file=sys.stderr)

    def test_queries_as_placed(self):
        rows = [["query", "placed for", "hosts", "MiB between hosts", "run time, s", "CPU by host, s", "MiB in by host", "MiB out by host"]]
        strategies, kept_within = {}, {}
        for query in QUERIES:
            seconds = self.run_query(query, "spread", FIRST)
            rows.append(self.row(query, "(spread)", seconds, FIRST))
            strategies[query] = self.placed(query)
            kept_within[query] = kept(self.graph("host"))
        self.assertGreater(kept_within["scan"], 0.7)
        self.assertLess(kept_within["shuffle"], 0.1)
        for query, strategy in itertools.product(QUERIES, QUERIES):
            where = strategies[strategy]
            seconds = self.run_query(query, strategy, where)
            rows.append(self.row(query, strategy, seconds, where))
        self.show([rows[0], *sorted(rows[1:], key=lambda row: row[0])])
        for i in range(COUNT):
            self.assertEqual(strategies["scan"][f"worker-{i}"], strategies["scan"][f"kv-{i}"])
        self.assertEqual(len({strategies["shuffle"][f"worker-{i}"] for i in range(COUNT)}), 1)
        for own, other in (QUERIES, QUERIES[::-1]):
            self.assertLess(crossing(own, strategies[own]), min(crossing(own, FIRST), crossing(own, strategies[other])))

if __name__ == "__main__":
    main()
