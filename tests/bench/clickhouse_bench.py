# SPDX-License-Identifier: Apache-2.0
"""A day of 200 series at 1 s in ClickHouse, downsampled to minutes: by the server where its sums are enough, and from all points where the
function wants every value. Prints the time and the bytes received over the network."""

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from bench_tools import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "integration"))
from clickhouse_servers import ClickHouse  # noqa: E402

SERIES = 200
BEGIN = 1_700_006_400  # a day's begin
SUMS, POINTS = ["avg", "sum", "max", "last"], ["p50"]
COLUMNS = "day, metric, entity, time_ns, duration_ns, value, count, is_count, version"


class Counter:
    """Proxy of the server that counts the bytes of its responses."""

    def __init__(self, port):
        self.server, self.bytes = port, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(("127.0.0.1", self.server))
            threading.Thread(target=self.copy, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self.copy, args=(server, client, True), daemon=True).start()

    def copy(self, source, target, counted):
        buffer = memoryview(bytearray(1 << 20))
        try:
            while size := source.recv_into(buffer):
                self.bytes += size if counted else 0
                target.sendall(buffer[:size])
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the other end is gone


def fill(atalaya, server, hours):
    server.query("CREATE DATABASE bench")
    pipeline = os.path.join(server.folder, "bench.lua")
    with open(pipeline, "w") as file:
        file.write('local a = require "atalaya"\na.pipeline "tables" { every = "1s", a.source.self {}, a.sink.clickhouse { url = "%s/bench" } }\n' % server.url)
    subprocess.run([atalaya, "run", pipeline, "--for", "3s"], check=True, stderr=subprocess.DEVNULL,
                   env=dict(os.environ, STATE_DIRECTORY=server.folder, RUNTIME_DIRECTORY=server.folder))
    day = f"toDate(toDateTime({BEGIN} + intDiv(number, {SERIES})))"
    server.query(f"INSERT INTO series SELECT toDate(toDateTime({BEGIN})), 'bench.value', number + 1, ['host', 'core'], ['h', toString(number)] "
                 f"FROM system.numbers LIMIT {SERIES}", "bench")
    server.query(f"INSERT INTO points ({COLUMNS}) SELECT {day}, 'bench.value', number % {SERIES} + 1, "
                 f"({BEGIN} + intDiv(number, {SERIES})) * 1000000000, 1000000000, (intHash32(number) % 1000) / 8, 0, 0, 1 "
                 f"FROM (SELECT number FROM system.numbers LIMIT {hours * 3600 * SERIES})", "bench")
    server.query("OPTIMIZE TABLE points FINAL", "bench")


def measure(atalaya, counter, function, hours):
    """Seconds, MB, and how many points the answer has."""
    times = []
    for _ in range(3):
        counter.bytes = 0
        begin = time.monotonic()
        out = subprocess.run([atalaya, "query", "--store", f"clickhouse:http://127.0.0.1:{counter.port}/bench", "--metric", "bench.value",
                              "--from", str(BEGIN - 1), "--to", str(BEGIN + hours * 3600 - 1), "--every", "1m-" + function, "--format", "csv",
                              "--timeout", "10m"], check=True, capture_output=True).stdout
        times.append(time.monotonic() - begin)
    return statistics.median(times), counter.bytes / 1e6, out.count(b"\n") - 1


def main():
    atalaya = os.path.abspath(sys.argv[1])
    hours = int(sys.argv[2]) if len(sys.argv) > 2 else 24
    if not ClickHouse.there:
        print("needs clickhouse-server: skipped")
        return
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder:
        server = ClickHouse(folder).start()
        try:
            fill(atalaya, server, hours)
            counter = Counter(server.port)
            figures = {function: measure(atalaya, counter, function, hours) for function in SUMS + POINTS}
        finally:
            server.stop()
    print(f"{hours} hours of {SERIES} series at 1 s ({hours * 3600 * SERIES / 1e6:.1f} million points), --every 1m, median of 3")
    for function, (seconds, megabytes, points) in figures.items():
        how = "by the server" if function in SUMS else "from all points"
        print(f"  {function:4} {how:16} {seconds:7.2f} s {megabytes:9.1f} MB  {points} points in the answer")
    seconds, megabytes = (figures["avg"][i] / figures["p50"][i] for i in (0, 1))
    print(f"  avg / p50: {seconds:.2f} of the time, {megabytes:.3f} of the bytes")


if __name__ == "__main__":
    main()
