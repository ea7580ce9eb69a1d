# SPDX-License-Identifier: Apache-2.0
"""The embedded store next to victoria-metrics and influxdb, on the same points in the same run: bytes a point, CPU time a point, a query of a
day; and the size of stacks.

store_bench.py ATALAYA STORE_BENCH [RECORDING]. $ATALAYA_BENCH_HOURS instead of 24 makes the made-up day shorter. RECORDING is a store that an agent wrote, of less than ten minutes or of schema 1; without
one this host is recorded for a minute, all processes at 1 s. The day is made up: 200 processes at 1 s.
"""

import contextlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

from bench_tools import ROOT, cpu_ns, running

RECORDED = "60s"
PIECE = 8 << 20


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def record(atalaya, folder):
    path, store = os.path.join(folder, "record.lua"), os.path.join(folder, "recording.db")
    with open(path, "w") as file:
        file.write(f'local a = require "atalaya" a.pipeline "all" {{ every = "1s", a.source.proc {{}}, a.sink.sqlite {{ path = "{store}" }} }}')
    environment = {**os.environ, "STATE_DIRECTORY": folder, "RUNTIME_DIRECTORY": folder, "ATALAYA_LUA": os.path.join(ROOT, "lua")}
    subprocess.run([atalaya, "run", path, "--for", RECORDED], env=environment, check=True, stderr=subprocess.DEVNULL)
    return store


class Peer:
    """victoria-metrics with an empty store."""

    name, health, write = "victoria-metrics", "/health", "/write?precision=ns"
    parts, kind = ("data", "indexdb"), ""

    def __init__(self, pid, port, folder):
        self.pid, self.port, self.folder = pid, port, folder

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(method, path, body)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{self.name}: {answer.status} {content[:200]!r}")
        return content

    def wait(self):
        for _ in range(200):
            with contextlib.suppress(OSError):
                return self.request("GET", self.health)
            time.sleep(0.05)
        raise RuntimeError(f"{self.name} does not answer")

    def load(self, path):
        """CPU seconds and bytes on disk."""
        before = cpu_ns(self.pid)
        with open(path, "rb") as file:
            rest = b""
            while piece := file.read(PIECE):
                whole, _, rest_of = (rest + piece).rpartition(b"\n")
                self.request("POST", self.write, whole + b"\n")
                rest = rest_of
        self.settle()
        cpu = (cpu_ns(self.pid) - before) / 1e9
        self.merge()
        # Without caches that it could do without.
        return cpu, sum(os.path.getsize(os.path.join(at, name)) for part in self.parts
                        for at, _, names in os.walk(os.path.join(self.folder, part)) for name in names if name.endswith(self.kind))

    def settle(self):
        self.request("GET", "/internal/force_flush")

    def merge(self):
        self.request("GET", "/internal/force_merge")
        time.sleep(3)

    def query_ms(self, begin, hours):
        query = urllib.parse.urlencode({"query": 'sum(sum_over_time({__name__="m_proc.cpu.user"}[10m]))', "start": begin + 600,
                                        "end": begin + hours * 3600, "step": 600, "nocache": 1})
        times = []
        before = cpu_ns(self.pid)
        for _ in range(5):
            start = time.monotonic()
            answer = json.loads(self.request("GET", "/api/v1/query_range?" + query))
            times.append((time.monotonic() - start) * 1e3)
        cpu = (cpu_ns(self.pid) - before) / 5e6
        return sorted(times)[2], cpu, sum(float(value) for _, value in answer["data"]["result"][0]["values"])


@contextlib.contextmanager
def victoria_metrics(folder):
    port = free_port()
    data = os.path.join(folder, "victoria")
    binary = shutil.which("victoria-metrics") or shutil.which("victoria-metrics-prod")
    if binary is None:
        yield None
        return
    command = [binary, f"-storageDataPath={data}", f"-httpListenAddr=127.0.0.1:{port}", "-retentionPeriod=10y"]
    with running(command) as process:
        peer = Peer(process.pid, port, data)
        peer.wait()
        yield peer
    shutil.rmtree(data, ignore_errors=True)


class Influx(Peer):
    """influxdb 1.x with an empty store. Of its files only those of points count: its index of series is made large at once."""

    name, health, write = "influxdb", "/ping", "/write?db=bench&precision=ns"
    parts, kind = ("data",), ".tsm"

    def settle(self):
        """Its log becomes files at once, as the configuration says."""
        time.sleep(12)

    def merge(self):
        pass


@contextlib.contextmanager
def influxdb(folder):
    binary = shutil.which("influxd")
    if binary is None:
        yield None
        return
    data, port = os.path.join(folder, "influx"), free_port()
    os.mkdir(data)
    path = os.path.join(data, "influx.conf")
    with open(path, "w") as file:
        file.write(f"""reporting-disabled = true
bind-address = "127.0.0.1:{free_port()}"
[meta]
dir = "{data}/meta"
[data]
dir = "{data}/data"
wal-dir = "{data}/wal"
index-version = "tsi1"
cache-snapshot-write-cold-duration = "2s"
compact-full-write-cold-duration = "5s"
[http]
bind-address = "127.0.0.1:{port}"
log-enabled = false
max-body-size = 0
""")
    with running([binary, "-config", path]) as process:
        peer = Influx(process.pid, port, data)
        peer.wait()
        peer.request("POST", "/query?" + urllib.parse.urlencode({"q": "CREATE DATABASE bench"}))
        yield peer
    shutil.rmtree(data, ignore_errors=True)


def compare(peer, points, lines):
    cpu, size = peer.load(lines)
    print(f"  {peer.name:<17} {size / points:5.2f} bytes a point, {points / cpu / 1e6:5.2f} million points a second of CPU "
          "(HTTP and parsing of lines included)")


def run(bench, *arguments):
    return json.loads(subprocess.run([bench, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout)


def ours(title, bench, *arguments):
    """Prints a line for us; returns how many points it were."""
    figures = run(bench, *arguments)
    points = figures["points"]
    print(f"{title}: {points} points, {figures['entities']} entities")
    cpu = figures["write_s"] + figures["maintain_s"]
    print(f"  atalaya           {figures['bytes'] / points:5.2f} bytes a point, {points / cpu / 1e6:5.2f} million points a second of CPU "
          f"(writing {figures['write_s'] / points * 1e6:.2f} us, packing {figures['maintain_s'] / points * 1e6:.2f} us a point; "
          f"a step p99 {figures['step_p99_ms']} ms, longest {figures['step_max_ms']} ms)")
    return points


def roll_up(bench, store, hours):
    """Size of a store whose points become one a minute, and the same query of it."""
    figures, query = run(bench, "rollup", store, "60"), run(bench, "scan", store, hours)
    print(f"  rolled up to a minute: {figures['bytes_before'] / 1e6:.1f} MB become {figures['bytes'] / 1e6:.1f} MB in {figures['maintain_s']:.1f} s of CPU "
          f"(a step p99 {figures['step_p99_ms']} ms, longest {figures['step_max_ms']} ms); sums of ten minutes {query['points_cpu_ms']:.0f} ms of CPU")
    return query["total"]


def main():
    atalaya, bench = sys.argv[1:3]
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-", dir="/var/tmp") as folder:
        recording = os.path.join(folder, "copy.db")
        source = sys.argv[3] if len(sys.argv) > 3 else record(atalaya, folder)
        subprocess.run(["sqlite3", source, f"VACUUM INTO '{recording}'"], check=True)
        print("the reference estimate is 35 bytes a point")
        hours = int(os.environ.get("ATALAYA_BENCH_HOURS", "24"))
        for title, source, arguments in (("recorded", [recording], []), (f"{hours} hours of 200 series at 1 s", [], [str(hours)])):
            kind = "replay" if source else "day"
            store, lines = os.path.join(folder, kind + ".db"), os.path.join(folder, kind + ".lines")
            points = ours(title, bench, kind, *source, store, lines, *arguments)
            with influxdb(folder) as peer:
                if peer is None:
                    print("  influxdb          is not installed")
                else:
                    compare(peer, points, lines)
            with victoria_metrics(folder) as peer:
                if peer is None:
                    print("  victoria-metrics  is not installed")
                else:
                    compare(peer, points, lines)
                if kind == "day":
                    figures = run(bench, "scan", store, str(hours))
                    print(f"  sums of ten minutes: {figures['summaries_ms']:.0f} ms by the chunks' heads, {figures['points_ms']:.0f} ms by points "
                          f"({figures['points_cpu_ms']:.0f} ms of CPU)")
                    if peer is not None:
                        ms, cpu, total = peer.query_ms(figures["begin"], hours)
                        print(f"  victoria-metrics: {ms:.0f} ms ({cpu:.0f} ms of CPU); its total is {total / figures['total']:.6f} of ours")
                    total = roll_up(bench, store, str(hours))
                    assert abs(total / figures["total"] - 1) < 1e-9, f"{total} after the roll-up, {figures['total']} before"
            os.remove(lines)
        ours(f"{hours} hours of them, ten windows a batch", bench, "day", os.path.join(folder, "batches.db"), os.path.join(folder, "batches.lines"),
             str(hours), "10")
        os.remove(os.path.join(folder, "batches.lines"))
        ours("such a day imported, a series a batch", bench, "import", os.path.join(folder, "import.db"))
        figures = run(bench, "many", os.path.join(folder, "many.db"))
        print(f"a million entities, CPU time: the first 10,001 series {figures['series_ms']:.0f} ms, names {figures['metrics_ms']:.0f} ms, keys "
              f"{figures['keys_ms']:.0f} ms, hosts {figures['hosts_ms']:.0f} ms (goal: 1000 ms each)")
        figures = run(os.path.join(os.path.dirname(bench), "store_stacks"), folder)
        print(f"an hour of {figures['samples']} samples of stacks: {figures['tree_bytes'] / 1e6:.1f} MB as a tree, "
              f"{figures['tree_bytes'] / figures['samples']:.1f} bytes a sample ({figures['texts_bytes'] / 1e6:.1f} MB as texts); "
              f"{figures['write_us']:.1f} us to write a stack, {figures['read_us']:.1f} us to read it")


main()
