# SPDX-License-Identifier: Apache-2.0
"""The embedded store beside victoria-metrics, on the same points in the same run: bytes a point, CPU time a point, a query of a day.

store_bench.py ATALAYA STORE_BENCH [RECORDING]. RECORDING is a store that an agent wrote, of less than ten minutes or of schema 1; without
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

    def __init__(self, pid, port, folder):
        self.pid, self.port, self.folder = pid, port, folder

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(method, path, body)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"victoria-metrics: {answer.status} {content[:200]!r}")
        return content

    def wait(self):
        for _ in range(200):
            with contextlib.suppress(OSError):
                return self.request("GET", "/health")
            time.sleep(0.05)
        raise RuntimeError("victoria-metrics does not answer")

    def load(self, path):
        """CPU seconds and bytes on disk."""
        before = cpu_ns(self.pid)
        with open(path, "rb") as file:
            rest = b""
            while piece := file.read(PIECE):
                whole, _, rest_of = (rest + piece).rpartition(b"\n")
                self.request("POST", "/write?precision=ns", whole + b"\n")
                rest = rest_of
        self.request("GET", "/internal/force_flush")
        cpu = (cpu_ns(self.pid) - before) / 1e9
        self.request("GET", "/internal/force_merge")
        time.sleep(3)
        # Without what it keeps in caches and could do without.
        return cpu, sum(os.path.getsize(os.path.join(at, name)) for part in ("data", "indexdb")
                        for at, _, names in os.walk(os.path.join(self.folder, part)) for name in names)

    def query_ms(self, begin):
        query = urllib.parse.urlencode({"query": 'sum(sum_over_time({__name__="m_proc.cpu.user"}[10m]))', "start": begin + 600,
                                        "end": begin + 86400, "step": 600, "nocache": 1})
        times = []
        for _ in range(5):
            start = time.monotonic()
            answer = json.loads(self.request("GET", "/api/v1/query_range?" + query))
            times.append((time.monotonic() - start) * 1e3)
        return sorted(times)[2], sum(float(value) for _, value in answer["data"]["result"][0]["values"])


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


def run(bench, *arguments):
    return json.loads(subprocess.run([bench, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout)


def ours(what, bench, *arguments):
    """Prints a line for us; returns how many points it were."""
    figures = run(bench, *arguments)
    points = figures["points"]
    print(f"{what}: {points} points, {figures['entities']} entities")
    cpu = figures["write_s"] + figures["maintain_s"]
    print(f"  atalaya           {figures['bytes'] / points:5.2f} bytes a point, {points / cpu / 1e6:5.2f} million points a second of CPU "
          f"(writing {figures['write_s'] / points * 1e6:.2f} us, packing {figures['maintain_s'] / points * 1e6:.2f} us a point; "
          f"a step p99 {figures['step_p99_ms']} ms, longest {figures['step_max_ms']} ms)")
    return points


def main():
    atalaya, bench = sys.argv[1:3]
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-", dir="/var/tmp") as folder:
        recording = os.path.join(folder, "copy.db")
        source = sys.argv[3] if len(sys.argv) > 3 else record(atalaya, folder)
        subprocess.run(["sqlite3", source, f"VACUUM INTO '{recording}'"], check=True)
        print("the reference estimate is 35 bytes a point")
        for what, arguments in (("recorded", ("replay", recording)), ("a day of 200 series at 1 s", ("day",))):
            store, lines = os.path.join(folder, arguments[0] + ".db"), os.path.join(folder, arguments[0] + ".lines")
            points = ours(what, bench, *arguments, store, lines)
            with victoria_metrics(folder) as peer:
                if peer is None:
                    print("  victoria-metrics  is not installed")
                else:
                    cpu, size = peer.load(lines)
                    print(f"  victoria-metrics  {size / points:5.2f} bytes a point, {points / cpu / 1e6:5.2f} million points a second of CPU "
                          "(HTTP and parsing of lines included)")
                if arguments[0] == "day":
                    figures = run(bench, "scan", store)
                    print(f"  sums of ten minutes: {figures['summaries_ms']:.0f} ms by the chunks' heads, {figures['points_ms']:.0f} ms by points")
                    if peer is not None:
                        ms, total = peer.query_ms(figures["begin"])
                        print(f"  victoria-metrics: {ms:.0f} ms; its total is {total / figures['total']:.6f} of ours")
            os.remove(lines)
        ours("such a day imported, a series a batch", bench, "import", os.path.join(folder, "import.db"))


main()
