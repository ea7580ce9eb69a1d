# SPDX-License-Identifier: Apache-2.0
"""Bytes and CPU time a point of each protocol that the source receive accepts: protocols_bench.py ATALAYA.

One agent sends the same windows of this host's processes in each format to a recorder. Then a hub that drops all samples gets each
recording several times. statsd and collectd get the same number of points as datagrams of full size. The sending side is in http_bench."""

import json
import os
import re
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

from bench_tools import cpu_ns
from keeper import keeper

ROUNDS, SECONDS, DATAGRAM_POINTS = 5, 8, 40_000
FORMATS = {"opentsdb": "/api/put", "jsonlines": "/api/jsonlines", "influx": "/write", "otlp": "/v1/metrics", "flat": "/api/flat"}
HUB = """local a = require "atalaya"
a.pipeline "hub" {
  a.source.receive { listen = "127.0.0.1:0", influx = true, otlp = true, statsd = "127.0.0.1:0", collectd = "127.0.0.1:0",
                     statsd_window = "1s" },
  a.filter.match { metric = "none.of.these" },
  a.sink.stdout {},
}
"""


def recorded(atalaya, folder):
    """{format: [(headers, body)]} of some seconds of this host's processes, and the number of points in each."""
    file = os.path.join(folder, "send.lua")
    with keeper() as (port, requests):
        url = f'url = "http://127.0.0.1:{port}", compress = "gzip"'
        sinks = "".join(f"a.sink.otlp {{ {url} }}," if name == "otlp" else f'a.sink.http {{ {url}, format = "{name}" }},' for name in FORMATS)
        with open(file, "w") as out:
            out.write(f'local a = require "atalaya"\na.pipeline "p" {{ every = "200ms", a.source.proc {{ host = false, cgroups = false }}, {sinks} }}\n')
        subprocess.run([atalaya, "run", file, "--for", f"{SECONDS}s", "--socket", os.path.join(folder, "send.sock")], check=True,
                       stdout=subprocess.DEVNULL, env=dict(os.environ, STATE_DIRECTORY=folder))
    kept = {path: [] for path in FORMATS.values()}
    for path, headers, body in requests:
        kept[path.split("?")[0]].append((headers, body))
    points = sum(zlib.decompress(body, 31).count(b"\n") for _, body in kept[FORMATS["jsonlines"]])
    return {name: kept[path] for name, path in FORMATS.items()}, points


class Hub:
    def __init__(self, atalaya, folder):
        self.atalaya, self.socket = atalaya, os.path.join(folder, "hub.sock")
        self.file = os.path.join(folder, "hub.lua")
        with open(self.file, "w") as out:
            out.write(HUB)
        self.ports = {}

    def __enter__(self):
        self.process = subprocess.Popen([self.atalaya, "run", self.file, "--socket", self.socket], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        while len(self.ports) < 3:
            line = self.process.stderr.readline()
            if not line:
                sys.exit("the hub ended")
            if found := re.search(r"(datagrams|listening).*127\.0\.0\.1:(\d+)", line):
                kind = "http" if found[1] == "listening" else "statsd" if "statsd" in line else "collectd"
                self.ports[kind] = int(found[2])
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)

    def arrived(self):
        done = subprocess.run([self.atalaya, "status", "--format", "json", "--socket", self.socket], capture_output=True, text=True, check=True)
        rows = json.loads(done.stdout)["ledger"]
        return next(row for row in rows if row["component"].endswith("receive"))

    def wait(self, before):
        """Until a second passes without a further sample."""
        seen = before
        while (now := self.arrived()["out"]) == before or now != seen:
            seen = now
            time.sleep(1)
        return now

    def cost(self, send):
        """CPU ns of the hub for what send() sends."""
        before, begin = self.arrived()["out"], cpu_ns(self.process.pid)
        send()
        self.wait(before)
        return cpu_ns(self.process.pid) - begin


def requests_of(bodies, path):
    out = []
    for headers, body in bodies:
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if name.lower() != "host")
        out.append(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}\r\n".encode() + body)
    return out


def post(port, requests):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for one in requests:
            connection.sendall(one)
            answer = b""
            while b"\r\n\r\n" not in answer:
                answer += connection.recv(4096)
            assert answer[9:10] == b"2", answer


def statsd_datagrams(points):
    lines = [f"bench.metric{i % 500}:{i % 9973}|c|#host:node{i % 50}".encode() for i in range(points)]
    datagrams, one = [], b""
    for line in lines:
        if len(one) + len(line) > 1400:
            datagrams.append(one)
            one = b""
        one += (b"\n" if one else b"") + line
    return [*datagrams, one]


def collectd_datagrams(points):
    def part(kind, payload):
        return struct.pack(">HH", kind, 4 + len(payload)) + payload

    def text(kind, value):
        return part(kind, value.encode() + b"\0")

    datagrams, one = [], b""
    for i in range(points):
        value = text(2, f"plugin{i % 50}") + text(4, "gauge") + text(5, f"value{i % 500}") + part(6, struct.pack(">HB", 1, 1) + struct.pack("<d", i % 9973))
        if not one or len(one) + len(value) > 1400:
            if one:
                datagrams.append(one)
            one = text(0, f"node{i % 50}") + part(8, struct.pack(">Q", int(time.time()) << 30)) + part(9, struct.pack(">Q", 10 << 30))
        one += value
    return [*datagrams, one]


def lost(port):
    """Datagrams that the kernel dropped because the hub did not read them in time."""
    with open("/proc/net/udp") as file:
        rows = [line.split() for line in list(file)[1:]]
    return sum(int(row[-1]) for row in rows if row[1].endswith(f":{port:04X}"))


def throw(port, datagrams):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for i, one in enumerate(datagrams):
            sender.sendto(one, ("127.0.0.1", port))
            if i % 50 == 49:
                time.sleep(0.005)  # the buffer of the socket


def main():
    atalaya = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder:
        kept, points = recorded(atalaya, folder)
        print(f"{points} points of this host's processes, gzip; datagrams: {DATAGRAM_POINTS} points; median and range of {ROUNDS} rounds")
        print(f"  {'protocol':14} {'B/point':>8} {'CPU ns/point':>13} {'points a second and core':>25}")
        with Hub(atalaya, folder) as hub:
            for name, path in FORMATS.items():
                requests = requests_of(kept[name], path)
                show(name, sum(map(len, requests)) / points,
                     [hub.cost(lambda sent=requests: post(hub.ports["http"], sent)) / points for _ in range(ROUNDS)])
            for name, datagrams in (("statsd", statsd_datagrams(DATAGRAM_POINTS)), ("collectd", collectd_datagrams(DATAGRAM_POINTS))):
                costs = [hub.cost(lambda: throw(hub.ports[name], datagrams)) / DATAGRAM_POINTS for _ in range(ROUNDS)]
                show(name, sum(map(len, datagrams)) / DATAGRAM_POINTS, costs)
                if count := lost(hub.ports[name]):
                    print(f"    of {ROUNDS * len(datagrams)} datagrams {count} were lost before the hub: its cost is too low")


def show(name, size, costs):
    cost = statistics.median(costs)
    print(f"  {name:14} {size:8.2f} {cost:7.0f} ({min(costs):.0f} to {max(costs):.0f}) {1e9 / cost:15,.0f}", flush=True)


if __name__ == "__main__":
    main()
