# SPDX-License-Identifier: Apache-2.0
"""The same bytes by the same protocol, OpenTSDB's put, into `receive` and the embedded store, victoria-metrics and influxdb, in turns;
and how long after the end of a window its points can be read.

ingest_bench.py ATALAYA"""

import contextlib
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time

from bench_tools import Atalaya, cpu_ns, running, spread
from receive_bench import TIME, Fleet, Hub, quantile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from http_servers import InfluxDb, VictoriaMetrics, get  # noqa: E402

ROUNDS = 5
SENDERS, WINDOWS, PROCESSES = 16, 20, 160  # 960 points a request, as the reference's sender puts them
POINTS = SENDERS * WINDOWS * PROCESSES * 6
DELAYS = 60


class Ours(Hub):
    def __init__(self, binary, folder):
        super().__init__(binary, folder)
        self.put = self.port

    def settle(self):
        """All that was answered is committed."""


class Victoria(VictoriaMetrics):
    def __init__(self, folder):
        super().__init__(folder)
        self.put = int(self.put.rsplit(":", 1)[1])
        self.start()

    def settle(self):
        get(self.url + "/internal/force_flush")

    def points(self):
        return len(super().points())


class Influx(InfluxDb):
    def __init__(self, folder):
        super().__init__(folder)
        self.put = int(self.put.rsplit(":", 1)[1])
        self.start()
        # It makes it by itself, but after it began to listen.
        self.query('CREATE DATABASE "opentsdb"')

    def settle(self):
        """It answers before it stores, a second later at most unless more comes."""
        until = time.monotonic() + 30
        while self.points() < POINTS and time.monotonic() < until:
            time.sleep(0.2)

    def points(self):
        return sum(row[1] for series in self.query("select count(value) from /.*/", "opentsdb") for row in series["values"])


@contextlib.contextmanager
def server(kind):
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-", dir="/var/tmp") as folder:
        one = kind(folder)
        try:
            yield one
        finally:
            one.stop()


def take(kind, requests):
    """Million points a second of CPU, and of time."""
    with server(kind) as one:
        connections = Fleet(one.put, SENDERS)
        begin, before = time.monotonic(), cpu_ns(one.process.pid)
        good = sum(len(connections.round(window, 0)[0].get(204, [])) for window in requests)
        elapsed = time.monotonic() - begin
        one.settle()
        cpu = (cpu_ns(one.process.pid) - before) / 1e9
        stored = one.points()
        connections.close()
    if good != SENDERS * WINDOWS or stored != POINTS:
        sys.exit(f"ingest_bench: {kind.__name__} took {good} of {SENDERS * WINDOWS} requests and stored {stored} of {POINTS} points")
    return POINTS / cpu / 1e6, POINTS / elapsed / 1e6


def throughput(binary):
    requests = [[put(sender, window) for sender in range(SENDERS)] for window in range(WINDOWS)]
    kinds = {"atalaya": lambda folder: Ours(binary, folder), "victoria-metrics": Victoria, "influxdb": Influx}
    kinds = {name: kind for name, kind in kinds.items() if name == "atalaya" or kind.program}
    rates = {name: [] for name in kinds}
    for _ in range(ROUNDS):
        for name, kind in kinds.items():
            rates[name].append(take(kind, requests))
    print(f"{SENDERS} senders, {POINTS} points in puts of {PROCESSES * 6}, {len(requests[0][0]) / PROCESSES / 6:.0f} bytes a point, {ROUNDS} rounds:")
    for name, figures in rates.items():
        beside = [ours[0] / theirs[0] for ours, theirs in zip(rates["atalaya"], figures)]
        print(f"  {name:17} {spread([cpu for cpu, _ in figures], 3)} million points a second of CPU, {spread([wall for _, wall in figures], 3)} "
              f"of time; ours over it {spread(beside)}")


def delay(binary):
    """From the end of a window of processes at 1 s to a reader that sees it."""
    agent = Atalaya(binary)
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder:
        store = os.path.join(folder, "s.db")
        delays, last = [], 0
        with running(agent.command(folder, "", f'a.sink.sqlite {{ path = "{store}" }}'), agent.environment(folder)):
            until = time.monotonic() + DELAYS * 2 + 30
            reader = None
            while len(delays) < DELAYS and time.monotonic() < until:
                time.sleep(0.002)
                with contextlib.suppress(sqlite3.OperationalError):
                    reader = reader or sqlite3.connect(f"file:{store}?mode=ro", uri=True)
                    newest = reader.execute("SELECT max(time) FROM (SELECT time FROM points ORDER BY time DESC LIMIT 1)").fetchone()[0] or 0
                    if newest > last:
                        # The first one is the agent's start.
                        delays += [time.time() * 1e3 - newest] if last else []
                        last = newest
    print(f"delay from the end of a window to a reader, {len(delays)} windows: median {statistics.median(delays):.0f} ms, "
          f"99 % {quantile(delays, .99):.0f} ms, most {max(delays):.0f} ms (goal: 99 % within 1000)")


def put(sender, window):
    """A window of a host's processes: six metrics each."""
    names = ("proc.cpu.user", "proc.cpu.kernel", "proc.mem.resident", "proc.mem.virtual", "proc.disk.reads.mb", "proc.disk.writes.mb")
    payload = json.dumps([{"metric": name, "timestamp": TIME + window, "value": (sender * 7 + window * 13 + i * n) % 9973 / 100,
                           "tags": {"host": f"node{sender}", "pid": str(1000 + i), "command": "java"}}
                          for i in range(PROCESSES) for n, name in enumerate(names)]).encode()
    return (b"POST /api/put HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\nContent-Length: " + str(len(payload)).encode()
            + b"\r\n\r\n" + payload)


if __name__ == "__main__":
    throughput(sys.argv[1])
    delay(sys.argv[1])
