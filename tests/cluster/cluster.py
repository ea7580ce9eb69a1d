# SPDX-License-Identifier: Apache-2.0
"""A small cluster that runs map/reduce jobs (tests/cluster/engine): nodes are network namespaces with a share of the CPU and the disk,
each with an agent that sends to a hub, whose store `bottleneck` reads. All nodes are alike but for the fault that a run is given."""

import json
import os
import queue
import random
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))
sys.path.insert(0, HERE)
from harness import BINARY, PATIENCE, Agent  # noqa: E402
from network_hosts import NetworkHosts  # noqa: E402
from node_limits import Limits  # noqa: E402

NODES = ["n0", "n1", "n2", "n3"]
MIB = 1 << 20
CORES, READ, WRITE, LINK = 0.4, 3 * MIB, 3 * MIB, "100mbit"
WINDOW = "0.5s"
# Faults of a run: the slow node, and the reason. The phases are those that a true finding may name.
FAULTS = {
    "healthy": None,
    "disk": ("n1", {"spill"}),
    "remote": ("n2", {"read"}),
    "cpu": ("n3", {"map", "collect", "spill"}),  # a spill sorts before it writes
}
SPLIT = MIB
# Sizes of jobs as in E5.2's mix (41 % small, 39 % medium, 12 % large, 8 % huge), in splits; the huge one is measured.
MIX = [0.25] * 5 + [1] * 3 + [3] * 2 + [6] + [32]


def build_engine(folder):
    sources = [os.path.join(HERE, "engine", name) for name in sorted(os.listdir(os.path.join(HERE, "engine")))]
    subprocess.run(["javac", "-d", folder, *sources], check=True)
    return folder


def split_of(size, seed):
    """Whole blocks of words; some are much more frequent than others."""
    dice = random.Random(seed)
    words = ["".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randint(3, 12))) for _ in range(5000)]
    piece = " ".join(dice.choices(words, weights=[1 / (rank + 1) for rank in range(len(words))], k=9000))
    text = (piece + "\n") * (size // len(piece) + 1)
    return text[:size].encode()


class Node:
    """A node's program, its folder and its limits."""

    def __init__(self, name, network, folder, classes, limited):
        self.name = name
        self.folder = folder
        os.makedirs(folder)
        self.limits = Limits(f"{network.tag}-{name}", folder)
        if limited:
            self.limits.set(CORES, READ, WRITE)
        self.wrapper = network.inside(name)
        self.process = subprocess.Popen(
            [*self.wrapper, "java", "-XX:+UseSerialGC", "-Xmx192m", "-XX:TieredStopAtLevel=1", "-cp", classes, "Node", folder,
             network.address(name)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=self.limits.enter)
        self.address = f"{network.address(name)}:{self.process.stdout.readline().strip()}"

    def do(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if answer != "done\n":
            raise RuntimeError(f"{self.name}: {line!r} ended with {answer!r}")

    def stop(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.limits.remove()


class Cluster:
    """One run: set up, jobs, answers; close() removes all. `bare`: nodes without limits, and no agents."""

    def __init__(self, folder, classes, fault, names=tuple(NODES), bare=False):
        self.folder = folder
        self.names = names
        self.store = os.path.join(folder, "hub.db")
        self.fault = fault
        self.agents, self.nodes, self.hogs = [], {}, []
        self.network = NetworkHosts(names, LINK)
        try:
            for name in names:
                self.nodes[name] = Node(name, self.network, os.path.join(folder, name), classes, not bare)
            self._each(self._warm)
            if not bare:
                self._start_agents()
            self._break()
        except BaseException:
            self.close()
            raise

    def _each(self, action):
        """On all nodes at once; the first error is raised."""
        errors = queue.SimpleQueue()

        def guarded(node):
            try:
                action(node)
            except Exception as error:  # pylint: disable=broad-except
                errors.put(error)
        threads = [threading.Thread(target=guarded, args=(node,)) for node in self.nodes.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if not errors.empty():
            raise errors.get()

    def _warm(self, node):
        self._put_split(node.name, "warm", SPLIT // 2)
        for round_ in range(2):
            node.do(f"map warm warm_m{round_} 1 warm local")
            node.do(f"reduce warm warm_r{round_} {node.address}/warm_m{round_}.out.0")

    def _put_split(self, holder, name, size):
        with open(os.path.join(self.nodes[holder].folder, name), "wb") as file:
            file.write(split_of(size, name))
            file.flush()
            os.fsync(file.fileno())

    def _start_agent(self, name, lua, wrapper=()):
        folder = os.path.join(self.folder, "agent-" + name)
        os.mkdir(folder)
        self.agents.append(Agent(folder, lua, wrapper=wrapper))
        return self.agents[-1]

    def _start_agents(self):
        hub = self._start_agent("hub", f"""
            local a = require "atalaya"
            a.pipeline "hub" {{ a.source.receive {{ listen = "{self.network.gateway}:0", open = true }},
                                a.sink.sqlite {{ path = "{self.store}" }} }}""")
        url = "http://" + hub.wait_line("listening on ").split("listening on ")[1].split()[0]
        with open(os.path.join(HERE, "node.lua")) as file:
            text = file.read()
        for node in self.nodes.values():
            lua = text
            for key, value in {"HUB": url, "NODE": node.name, "GROUP": "/" + node.limits.name, "FOLDER": node.folder, "WINDOW": WINDOW}.items():
                lua = lua.replace(f"@{key}@", value)
            self._start_agent(node.name, lua, node.wrapper).running()

    def _break(self):
        if self.fault == "disk":
            self.nodes["n1"].limits.set(CORES, READ, WRITE // 5)
        elif self.fault == "remote":
            self.network.limit("n2", "4mbit", "in")
        elif self.fault == "cpu":
            limits = self.nodes["n3"].limits
            self.hogs.append(subprocess.Popen(["stress-ng", "--quiet", "--cpu", "4", "--cpu-method", "loop"], preexec_fn=limits.enter))

    def remove_fault(self):
        """Applies the finding: removes the cause."""
        self.nodes["n1"].limits.set(CORES, READ, WRITE)
        if self.fault == "remote":
            self.network.limit("n2", LINK, "in")
        self._end_hogs()

    def _end_hogs(self):
        """Politely: the workers of one that is killed stay for a while, in a cgroup that is to go."""
        while self.hogs:
            hog = self.hogs.pop()
            hog.terminate()
            try:
                hog.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                hog.kill()
                hog.wait()

    def run_job(self, job, splits):
        """Returns the tasks."""
        plan = self.plan(job, splits)
        self.run(plan)
        return sum(len(lines) for work in plan for lines in work.values())

    def run(self, plan):
        """May be repeated: files of the run before are written again."""
        for work in plan:
            self._each(lambda node, lines=work: [node.do(line) for line in lines[node.name]])

    def plan(self, job, splits):
        """Writes the splits. Lines of the maps of each node, then of its reduces: maps are where their data are, except that n2's are
        elsewhere in a run of remote reads."""
        maps = max(1, int(splits))
        reduces = 2 * len(NODES) if maps >= 16 else 1
        of_maps, of_reduces = ({name: [] for name in self.names} for _ in range(2))
        outputs = []
        for number in range(maps):
            worker = self.names[number % len(self.names)]
            holder = worker
            if self.fault == "remote" and worker == "n2":
                holder = ["n0", "n1", "n3"][number // len(NODES) % 3]
            split = f"{job}_split{number}"
            self._put_split(holder, split, int(SPLIT * splits / maps) // 4096 * 4096)
            task = f"{job}_m{number:03}"
            where = "local" if holder == worker else self.nodes[holder].address
            of_maps[worker].append(f"map {job} {task} {reduces} {split} {where}")
            outputs.append(f"{self.nodes[worker].address}/{task}.out")
        for number in range(reduces):
            sources = " ".join(f"{output}.{number}" for output in outputs)
            of_reduces[self.names[number % len(self.names)]].append(f"reduce {job} {job}_r{number:03} {sources}")
        return of_maps, of_reduces

    def bottleneck(self, *words):
        done = subprocess.run([BINARY, "bottleneck", *words, "--store", self.store], capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout

    def report(self, job, tasks):
        """Report of bottleneck on the job, once all its tasks are in the hub's store."""
        hub = self.agents[0]
        answer = {}

        def complete(_):
            answer.update(json.loads(self.bottleneck("--job", job, "--format", "json")))
            return sum(task.get("outcome") == "succeeded" for task in answer["tasks"]) == tasks
        hub.wait_status(complete)
        return answer

    def stop_agents(self):
        """Senders first: their queues go to the hub."""
        while self.agents:
            self.agents.pop().stop()

    def close(self):
        self.stop_agents()
        self._end_hogs()
        for node in self.nodes.values():
            node.stop()
        self.network.remove()
