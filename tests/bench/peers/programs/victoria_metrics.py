# SPDX-License-Identifier: Apache-2.0
import time

from peers.database import Database
from peers.program import Program, binary, free_port

PROGRAM = Program("victoria-metrics", "victoria-metrics", "points with a name and labels", "parses lines received by HTTP; stacks, spans, units")


class Store(Database):
    health, page, parts = "/health", "/write?precision=ns", ("data", "indexdb")

    def start(self):
        self.port = free_port()
        self.group.start([binary("victoria-metrics", "victoria-metrics-prod"), f"-storageDataPath={self.data}",
                          f"-httpListenAddr=127.0.0.1:{self.port}", "-retentionPeriod=10y"])

    def settle(self):
        self.request("GET", "/internal/force_flush")

    def merge(self):
        self.request("GET", "/internal/force_merge")
        time.sleep(3)

    def sums(self, begin, hours):
        return self.sums_by_promql(begin, hours, "m_proc.cpu.user", nocache=1)
