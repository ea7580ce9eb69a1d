# SPDX-License-Identifier: Apache-2.0
"""A database that stores points: the same lines of the influx protocol, bytes on disk, and one query of all of them."""

import http.client
import json
import os
import statistics
import time
import urllib.parse

from bench_tools import Ended
from peers.program import PATIENCE, Peer

PIECE = 8 << 20
QUERIES = 5
BUCKET = 600  # seconds of a sum


class Database(Peer):
    scratch = "/var/tmp"  # on a disk
    health, page = "", ""
    parts, kind = (), ""  # folders with its points, and the end of the names of these files

    @property
    def data(self):
        return os.path.join(self.folder, "data")

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2 * PATIENCE)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise Ended(f"status {answer.status}: {content[:100].decode(errors='replace')}")
        return content

    def ready(self):
        try:
            self.request("GET", self.health)
            return True
        except (OSError, http.client.HTTPException, Ended):
            return False

    def load(self, lines):
        """CPU seconds until all points are stored, and their bytes on disk when they are as small as they become."""
        before = self.group.cpu_ns()
        self.send(lines)
        self.settle()
        cpu = (self.group.cpu_ns() - before) / 1e9
        self.merge()
        return cpu, self.size()

    def send(self, lines):
        with open(lines, "rb") as file:
            rest = b""
            while piece := file.read(PIECE):
                whole, _, rest_of = (rest + piece).rpartition(b"\n")
                self.request("POST", self.page, whole + b"\n")
                rest = rest_of

    def settle(self):
        """Until all points are on disk."""

    def merge(self):
        """What it does later by itself to need less space."""

    def size(self):
        """Without caches that it could do without."""
        return sum(os.path.getsize(os.path.join(at, name)) for part in self.parts
                   for at, _, names in os.walk(os.path.join(self.data, part)) for name in names if name.endswith(self.kind))

    def sums(self, begin, hours):
        """The sum of all series in each ten minutes, added up."""
        raise NotImplementedError

    def query(self, begin, hours):
        """(ms, CPU ms, total) of a query of all points."""
        times, before = [], self.group.cpu_ns()
        for _ in range(QUERIES):
            start = time.monotonic()
            total = self.sums(begin, hours)
            times.append((time.monotonic() - start) * 1e3)
        return statistics.median(times), (self.group.cpu_ns() - before) / 1e6 / QUERIES, total

    def sums_by_promql(self, begin, hours, name, **options):
        query = urllib.parse.urlencode({"query": f'sum(sum_over_time({{__name__="{name}"}}[{BUCKET}s]))', "start": begin + BUCKET,
                                        "end": begin + hours * 3600, "step": BUCKET, **options})
        answer = json.loads(self.request("GET", "/api/v1/query_range?" + query))
        return sum(float(value) for _, value in answer["data"]["result"][0]["values"])
