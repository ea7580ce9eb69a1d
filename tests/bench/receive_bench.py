# SPDX-License-Identifier: Apache-2.0
"""The hub under a fleet: 5,000 agents on keep-alive connections, each with a window of points a few seconds; then as many points as
it takes. Next to it a floor: the CPU time of zlib and Python's json for the same bodies, in this run."""

import argparse
import gzip
import json
import os
import resource
import select
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

TIME = 1795219532


def body(agent, window, processes):
    """A window of an agent as BDWatchdog's sender would put it: six metrics a process."""
    names = ("proc.cpu.user", "proc.cpu.kernel", "proc.mem.resident", "proc.mem.virtual", "proc.disk.reads.mb", "proc.disk.writes.mb")
    return json.dumps([{"metric": name, "timestamp": str(TIME + window), "value": f"{(agent * 7 + window * 13 + i * n) % 9973 / 100:.2f}",
                        "tags": {"host": f"node{agent}", "pid": str(1000 + i), "command": "java"}}
                       for i in range(processes) for n, name in enumerate(names)]).encode()


def request(payload):
    return (b"POST /api/put HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: "
            + str(len(payload)).encode() + b"\r\n\r\n" + payload)


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))


class Hub:
    def __init__(self, binary, folder):
        self.store = os.path.join(folder, "store.db")
        pipeline = os.path.join(folder, "hub.lua")
        with open(pipeline, "w") as file:
            file.write(f"""local a = require "atalaya"
            a.pipeline "hub" {{ a.source.receive {{ listen = "127.0.0.1:0" }}, a.sink.sqlite {{ path = "{self.store}" }} }}""")
        environment = dict(os.environ, STATE_DIRECTORY=folder, RUNTIME_DIRECTORY=folder)
        self.process = subprocess.Popen([binary, "run", pipeline], stderr=subprocess.PIPE, text=True, env=environment)
        self.port = None
        for line in self.process.stderr:
            if "listening on" in line:
                self.port = int(line.rsplit(":", 1)[1].split()[0])
            if "running" in line:
                break

    def stop(self):
        self.process.terminate()
        code = self.process.wait(30)
        self.process.stderr.close()
        return code

    def points(self):
        with sqlite3.connect(self.store) as database:
            return database.execute("select count(*) from points").fetchone()[0]


class Fleet:
    """Keep-alive connections driven by one epoll."""

    def __init__(self, port, agents):
        self.poll = select.epoll()
        self.sockets = {}
        self.numbers = {}
        for number in range(agents):
            connection = socket.create_connection(("127.0.0.1", port))
            connection.setblocking(False)
            self.sockets[connection.fileno()] = connection
            self.numbers[connection.fileno()] = number
            self.poll.register(connection.fileno(), 0)
        self.order = list(self.sockets)

    def round(self, requests, seconds):
        """Each agent sends one request, spread over the seconds; -> latencies by status of the answers."""
        answers = {}
        begun = time.monotonic()
        sent_at = {}
        left = {}
        turn = 0
        open_requests = 0
        while turn < len(self.order) or open_requests:
            now = time.monotonic()
            due = len(self.order) if seconds == 0 else min(len(self.order), int((now - begun) / seconds * len(self.order)) + 1)
            while turn < due:
                fd = self.order[turn]
                left[fd] = requests[self.numbers[fd]]
                sent_at[fd] = time.monotonic()
                turn += 1
                open_requests += 1
                self._send(fd, left)
            for fd, event in self.poll.poll(0.002 if turn < len(self.order) else 1, 256):
                if event & select.EPOLLOUT:
                    self._send(fd, left)
                if event & (select.EPOLLIN | select.EPOLLHUP):
                    status = int(self.sockets[fd].recv(4096)[9:12] or 0)
                    answers.setdefault(status, []).append(time.monotonic() - sent_at[fd])
                    self.poll.modify(fd, 0)
                    open_requests -= 1
        return answers, time.monotonic() - begun

    def _send(self, fd, left):
        try:
            left[fd] = left[fd][self.sockets[fd].send(left[fd]):]
        except BlockingIOError:
            pass
        self.poll.modify(fd, select.EPOLLIN | (select.EPOLLOUT if left[fd] else 0))

    def close(self):
        for connection in self.sockets.values():
            connection.close()
        self.poll.close()


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def fleet(binary, agents, windows, interval):
    processes = 10
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder:
        hub = Hub(binary, folder)
        idle = resident_mib(hub.process.pid)
        senders = Fleet(hub.port, agents)
        connected = resident_mib(hub.process.pid)
        failed, latencies = 0, []
        cpu = 0
        for window in range(windows):
            requests = [request(gzip.compress(body(agent, window, processes), 1)) for agent in range(agents)]
            before = cpu_seconds(hub.process.pid)
            answers, _ = senders.round(requests, interval)
            cpu += cpu_seconds(hub.process.pid) - before
            latencies += answers.get(204, [])
            failed += sum(len(times) for status, times in answers.items() if status != 204)
        peak = resident_mib(hub.process.pid)
        expected = agents * windows * processes * 6
        stored = hub.points()
        senders.close()
        code = hub.stop()
    print(f"{agents} keep-alive agents, {processes * 6} points each, every {interval} s, {windows} windows:")
    print(f"  answers 204: {len(latencies)} of {agents * windows}, others: {failed}; points stored: {stored} of {expected}; exit {code}")
    print(f"  answered after (stored by then): median {quantile(latencies, .5) * 1000:.1f} ms, 99 % {quantile(latencies, .99) * 1000:.1f} ms, "
          f"most {max(latencies) * 1000:.1f} ms")
    print(f"  hub: {cpu / windows / interval * 100:.1f} % of a core, {cpu / (agents * windows) * 1e6:.0f} us a request; memory {idle:.1f} MiB, "
          f"{connected:.1f} with all connected, {peak:.1f} at the end")
    return stored == expected and failed == 0 and code == 0 and len(latencies) == agents * windows


def throughput(binary, senders, windows):
    processes = 160  # about 1,000 points, a request of the reference's sender
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder:
        hub = Hub(binary, folder)
        connections = Fleet(hub.port, senders)
        plain = [[body(agent, window, processes) for agent in range(senders)] for window in range(windows)]
        sizes = sum(len(one) for window in plain for one in window)
        begin = time.process_time()
        packed = [[gzip.compress(one) for one in window] for window in plain]
        compress = time.process_time() - begin
        begin = time.process_time()
        for window in packed:
            for one in window:
                json.loads(gzip.decompress(one))
        floor = time.process_time() - begin
        before = cpu_seconds(hub.process.pid)
        elapsed, good = 0, 0
        for window in packed:
            answers, took = connections.round([request(one) for one in window], 0)
            elapsed += took
            good += len(answers.get(204, []))
        cpu = cpu_seconds(hub.process.pid) - before
        points = senders * windows * processes * 6
        stored = hub.points()
        connections.close()
        hub.stop()
    print(f"{senders} senders at once, {processes * 6} points a request:")
    print(f"  stored {stored} of {points} points at {points / elapsed:,.0f} points/s; {points / cpu:,.0f} points per CPU second of the hub, SQLite included")
    print(f"  {sizes / points:.0f} bytes a point plain, {sum(len(one) for window in packed for one in window) / points:.1f} sent; "
          f"CPU beside gunzip + json.loads of Python, which store nothing: {cpu / floor:.2f}; beside the gzip of the senders: {cpu / compress:.2f}")
    return stored == points and good == senders * windows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--agents", type=int, default=5000)
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--interval", type=float, default=5)
    options = parser.parse_args()
    needed = options.agents + 200
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < needed:
        sys.exit(f"receive_bench: {needed} open files are needed, {hard} allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    good = fleet(options.binary, options.agents, options.windows, options.interval)
    good = throughput(options.binary, 16, 20) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
