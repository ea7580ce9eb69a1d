# SPDX-License-Identifier: Apache-2.0
"""What the source net costs: the data path of iperf3 on loopback, a window with 10,000 sockets, and nethogs beside it.

net_bench.py ATALAYA [PAIRS]. The data path: CPU time of both ends of iperf3 for a fixed amount of bytes, without the agent and with it
(every = 1s) in turns ABBA; what is printed is the mean of the pairs and its 95 % interval.
"""

import contextlib
import ctypes
import json
import os
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from bench_tools import ROOT, SECOND, Ended, cpu_ns, running, spread, verdict

ATALAYA = os.path.abspath(sys.argv[1])
PAIRS = int(sys.argv[2]) if len(sys.argv) > 2 else 15
PR_SET_NAME = 15
libc = ctypes.CDLL(None)
STUDENT = 2.14  # 95 %, 14 degrees of freedom
# What of each message size takes about half a second.
AMOUNTS = {"128K": "2G", "1K": "300M", "64": "24M"}
MODES = {
    "default": ("", list(AMOUNTS)),
    "with udp": ("udp = true", ["128K", "64"]),
    "connections": ('mode = "connections"', ["128K"]),
    "by system call": ('attribution = "syscall"', ["128K", "64"]),
    "events": ('mode = "events"', ["128K", "64"]),
}


def pipeline(folder, source, every="1s"):
    path = os.path.join(folder, "net.lua")
    with open(path, "w") as file:
        file.write(f"""local a = require "atalaya"
            a.pipeline "net" {{ every = "{every}", a.source.net {{ {source} }},
              a.sink.file {{ path = "{folder}/out.jsonl", format = "samples" }} }}""")
    return path


@contextlib.contextmanager
def agent(source, every=1):
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder:
        environment = dict(os.environ, STATE_DIRECTORY=folder, RUNTIME_DIRECTORY=folder, ATALAYA_LUA=os.path.join(ROOT, "lua"))
        path = pipeline(folder, source, f"{every}s")
        command = [ATALAYA, "run", path, "--socket", os.path.join(folder, "s.sock")]
        with running(command, environment) as process:
            until = time.monotonic() + 30
            while subprocess.run([ATALAYA, "status", "--socket", os.path.join(folder, "s.sock")], capture_output=True).returncode:
                if process.poll() is not None or time.monotonic() > until:
                    raise Ended("the agent did not start")
                time.sleep(0.05)
            time.sleep(every + 0.2)  # into its second window
            yield process, folder


def samples(folder):
    with open(os.path.join(folder, "out.jsonl")) as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def transfer(size, amount):
    """One run of iperf3: CPU seconds of both its ends, and the bytes that it says it moved."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    server = subprocess.Popen(["iperf3", "-s", "-1", "--forceflush", "-p", port], stdout=subprocess.PIPE, text=True)
    while "Server listening" not in server.stdout.readline():
        pass
    client = subprocess.run(["iperf3", "-c", "127.0.0.1", "-p", port, "-n", amount, "-l", size, "-J"], capture_output=True, check=True)
    server.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    moved = json.loads(client.stdout)["end"]["sum_sent"]["bytes"]
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), moved


def per_byte(size):
    cpu, moved = transfer(size, AMOUNTS[size])
    return cpu / moved


def data_path(name, source, size):
    """What one mode adds to the CPU time of a transfer, in per cent."""
    costs = []
    for _ in range(PAIRS):
        first = per_byte(size)
        with agent(source) as _:
            with_agent = per_byte(size) + per_byte(size)
        without = first + per_byte(size)
        costs.append((with_agent / without - 1) * 100)
    mean = statistics.mean(costs)
    half = STUDENT * statistics.stdev(costs) / len(costs) ** 0.5 if len(costs) > 1 else float("inf")
    if half > 2:
        word = "inconclusive"
    elif mean - half <= 0:
        word = "not distinguishable from 0"
    else:
        word = "at most 0.5 %: " + verdict(mean <= 0.5)
    print(f"data path, {name:15} {size:>5} B messages: {mean:+6.2f} % CPU a byte, 95 % within {half:.2f}; {word}", flush=True)


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


def many_sockets():
    with open_sockets(4900) as ends:
        with agent("") as (process, folder):
            time.sleep(2)
            idle = watch_windows(process.pid, 8)
            busy = []
            for _ in range(4):
                before = cpu_ns(process.pid)
                until = time.monotonic() + 1
                for client, server in ends:
                    client.send(b"x" * 100)
                    server.recv(100)
                time.sleep(max(0, until - time.monotonic()))
                busy.append((cpu_ns(process.pid) - before) / 1e6)
        met = verdict(statistics.median(idle) <= 10)
        print(f"9,800 open sockets, idle: {spread(idle)} ms a window of 1 s; goal at most 1 % of a core: {met}")
        print(f"9,800 open sockets, each used in the window: {spread(busy)} ms a window")
        if not shutil.which("nethogs"):
            print("nethogs is not installed: left out")
            return
        with contextlib.suppress(Ended), running(["nethogs", "-t", "-a", "-d", "1"]) as process:
            time.sleep(3)
            print(f"9,800 open sockets, nethogs: {spread(watch_windows(process.pid, 5))} ms a window")


def storm(seconds, every):
    """As many connections as two processes can make and take: how many, and how many were told."""
    server = socket.socket()
    server.bind(("0.0.0.0", 0))
    server.listen(4096)
    port = server.getsockname()[1]
    libc.prctl(PR_SET_NAME, b"bench-maker", 0, 0, 0)
    with agent("", every) as (process, folder):
        before = cpu_ns(process.pid)
        taker = os.fork()
        if taker == 0:
            libc.prctl(PR_SET_NAME, b"bench-taker", 0, 0, 0)
            while True:
                connection, _ = server.accept()
                connection.recv(100)
                connection.close()
        until, count = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            with socket.create_connection((f"127.{1 + count // 40000}.{count // 200 % 200}.{1 + count % 200}", port)) as connection:
                connection.send(b"x" * 100)
                connection.recv(1)
            count += 1
        cpu = (cpu_ns(process.pid) - before) / 1e6
        time.sleep(2 * every + 0.5)
        told = [sample["fields"] for sample in samples(folder) if sample["tags"]["process"] in ("bench-taker", "bench-maker")
                and "proc.net.tcp.connects" in sample["fields"]]
        lost = sum(sample["fields"].get("proc.net.lost", 0) for sample in samples(folder))
        sent = sum(sample["fields"].get("flow.out.bytes", 0) for sample in samples(folder) if sample["tags"].get("port") == str(port))
        os.kill(taker, 9)
        os.waitpid(taker, 0)
    connects, accepts = (sum(fields[f"proc.net.tcp.{what}"] for fields in told) for what in ("connects", "accepts"))
    print(f"{count / seconds:.0f} connections a second, windows of {every} s: {connects / count:.4%} of connects, {accepts / count:.4%} of accepts and "
          f"{sent / (100 * count):.4%} of bytes told, {lost} lost; agent {cpu / count * 1000:.1f} us a connection")
    server.close()


def beside_nethogs():
    """Both count the same transfer."""
    with agent("") as (process, folder):
        before = cpu_ns(process.pid)
        nethogs = None
        if shutil.which("nethogs"):
            nethogs = subprocess.Popen(["nethogs", "-t", "-a", "-d", "1", "-v", "2", "lo"], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
            time.sleep(2)
        _, moved = transfer("128K", "1G")
        time.sleep(2.5)
        ours = sum(sample["fields"].get("flow.out.bytes", 0) for sample in samples(folder)
                   if sample["tags"].get("process") == "iperf3" and sample["tags"].get("direction") == "out")
        cpu = (cpu_ns(process.pid) - before) / 1e6
        print(f"1 GiB by iperf3: net says {(ours / moved - 1) * 100:+.4f} %, agent {cpu:.1f} ms of CPU")
        if nethogs:
            cpu = cpu_ns(nethogs.pid) / 1e6
            nethogs.terminate()
            text = nethogs.communicate()[0]
            sent = [float(match[1]) for match in re.finditer(r"^iperf3[^\t]*\t([0-9.e+]+)\t", text, re.M)]
            said = f"{(max(sent) / moved - 1) * 100:+.2f} %" if sent else "nothing of it"
            print(f"1 GiB by iperf3: nethogs says {said}, {cpu:.1f} ms of CPU")


def main():
    if not shutil.which("iperf3"):
        sys.exit("iperf3 is not installed: nothing to measure with")
    storm(5, 1)
    storm(12, 5)
    many_sockets()
    beside_nethogs()
    for name, (source, sizes) in MODES.items():
        for size in sizes:
            data_path(name, source, size)


main()
