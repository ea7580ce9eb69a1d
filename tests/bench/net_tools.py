# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the benchmarks of the source net: an agent that writes its samples, and loads that report their traffic."""

import contextlib
import json
import os
import resource
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass

from bench_tools import ROOT, Ended, cpu_ns, running


class Agent:
    """Collects until it is left; `finish` waits until all events are reported."""

    def __init__(self, binary, folder, parameters, every):
        self.binary, self.folder, self.every = binary, folder, every
        self.path, self.out, self.socket = (os.path.join(folder, name) for name in ("net.lua", "out.jsonl", "s.sock"))
        with open(self.path, "w") as file:
            file.write(f"""local a = require "atalaya"
                a.pipeline "net" {{ every = "{every}s", a.source.net {{ {parameters} }},
                  a.sink.file {{ path = "{self.out}", format = "samples" }} }}""")

    def command(self):
        return [self.binary, "run", self.path, "--socket", self.socket]

    def environment(self):
        return dict(os.environ, STATE_DIRECTORY=self.folder, RUNTIME_DIRECTORY=self.folder, ATALAYA_LUA=os.path.join(ROOT, "lua"))

    def wait_started(self, process):
        self.process = process
        until = time.monotonic() + 30
        while subprocess.run([self.binary, "status", "--socket", self.socket], capture_output=True).returncode:
            if process.poll() is not None or time.monotonic() > until:
                raise Ended("the agent did not start")
            time.sleep(0.05)
        time.sleep(self.every + 0.2)  # into its second window

    def finish(self):
        """A connection that ended in one window may be reported by the end of the next."""
        time.sleep(2 * self.every + 0.5)

    def samples(self):
        with open(self.out) as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    def sum(self, field, **tags):
        return sum(sample["fields"].get(field, 0) for sample in self.samples()
                   if all(sample["tags"].get(key) == value for key, value in tags.items()))


@contextlib.contextmanager
def agent(binary, parameters="", every=1):
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder:
        one = Agent(binary, folder, parameters, every)
        with running(one.command(), one.environment()) as process:
            one.wait_started(process)
            yield one


def free_port(kind=socket.SOCK_STREAM, address="127.0.0.1"):
    with socket.socket(socket.AF_INET, kind) as free:
        free.bind((address, 0))
        return free.getsockname()[1]


@dataclass
class Transfer:
    sent: int  # bytes of payload that iperf3 says it moved
    received: int
    cpu: float  # seconds of both its ends
    rate: float  # bytes a second
    port: int


def iperf3(*words, server=(), client=(), address="127.0.0.1"):
    """One run of iperf3; `server` and `client` are words before the commands."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    port = free_port()
    with subprocess.Popen([*server, "iperf3", "-s", "-1", "--forceflush", "-p", str(port)], stdout=subprocess.PIPE, text=True) as process:
        while "Server listening" not in process.stdout.readline():
            pass
        said = subprocess.run([*client, "iperf3", "-c", address, "-p", str(port), "-J", *words], capture_output=True, check=True)
        process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    end = json.loads(said.stdout)["end"]
    if "-u" in words:
        sent, received = end["sum"], dict(end["sum"], bytes=end["sum"]["bytes"] * (1 - end["sum"]["lost_packets"] / end["sum"]["packets"]))
    else:
        sent, received = end["sum_sent"], end["sum_received"]
    return Transfer(sent["bytes"], round(received["bytes"]), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
                    received["bits_per_second"] / 8, port)


def watch_windows(pid, windows):
    readings = []
    for _ in range(windows + 1):
        readings.append(cpu_ns(pid))
        time.sleep(1)
    return [(after - before) / 1e6 for before, after in zip(readings, readings[1:])]


@contextlib.contextmanager
def open_sockets(pairs):
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(20000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("0.0.0.0", 0))
        server.listen(1000)
        ends = []
        for i in range(pairs):
            client = stack.enter_context(socket.create_connection((f"127.9.{i // 200}.{1 + i % 200}", server.getsockname()[1])))
            ends.append((client, stack.enter_context(server.accept()[0])))
        yield ends


def bpf_ns(pid):
    """Run time of the BPF programs that a process holds, by the kernel's clock, which runs in bench_tools.bpf_clock()."""
    found = {}
    for entry in os.scandir(f"/proc/{pid}/fdinfo"):
        with open(entry.path) as file:
            lines = dict(line.split(":", 1) for line in file if ":" in line)
        if "run_time_ns" in lines:
            found[int(lines["prog_id"])] = int(lines["run_time_ns"])
    return sum(found.values())


def markdown(header, rows):
    print("| " + " | ".join(header) + " |\n|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
