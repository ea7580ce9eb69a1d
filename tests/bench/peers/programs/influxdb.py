# SPDX-License-Identifier: Apache-2.0
import json
import time
import urllib.parse

from peers.database import BUCKET, Database
from peers.program import Program, binary, free_port, write

PROGRAM = Program("influxdb", "influxdb", "points with a measurement, tags and fields",
                  "parses lines received by HTTP; the bytes of its index of series are left out; version 1 only")

SETTLED = 12  # seconds: its log becomes files when it is cold for as long as the configuration says
CONFIGURATION = """reporting-disabled = true
bind-address = "127.0.0.1:{own}"
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
"""


class Store(Database):
    health, page, parts, kind = "/ping", "/write?db=bench&precision=ns", ("data",), ".tsm"

    def start(self):
        self.port = free_port()
        text = CONFIGURATION.format(own=free_port(), data=self.data, port=self.port)
        self.group.start([binary("influxd"), "-config", write(self.folder, "influx.conf", text)])
        self.wait_until(lambda: Database.ready(self))
        self.request("POST", "/query?" + urllib.parse.urlencode({"q": "CREATE DATABASE bench"}))

    def settle(self):
        time.sleep(SETTLED)

    def sums(self, begin, hours):
        end = begin + hours * 3600
        query = urllib.parse.urlencode({"db": "bench", "q": f'SELECT sum("proc.cpu.user") FROM m WHERE time > {begin}s AND time <= {end}s '
                                                            f"GROUP BY time({BUCKET}s)"})
        answer = json.loads(self.request("GET", "/query?" + query))
        return sum(row[1] or 0 for row in answer["results"][0]["series"][0]["values"])
