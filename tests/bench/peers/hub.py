# SPDX-License-Identifier: Apache-2.0
"""A hub of this tree and the agents of a simulated fleet (tests/bench/fleet.cpp)."""

import json
import os
import subprocess

from bench_tools import Atalaya, Ended, processes, worker
from keeper import keeper
from peers.database import Database
from peers.program import Peer, free_port, get, write

SAMPLES, WINDOW = 50, 5  # of a host and window; seconds
RECORDED = 25  # seconds, in which three whole windows are recorded
BUSY = 60
# As pipelines/agent.lua, but the largest SAMPLES processes instead of those above limits: each window has as many.
AGENT = """local a = require "atalaya"
a.pipeline "processes" {{ every = "{window}s", a.source.proc {{ host = false, cgroups = false }}, a.translate.names {{}},
  a.filter.top {{ by = "proc.cpu.user", k = {samples}, other = false }},
  a.sink.http {{ url = "http://127.0.0.1:{port}", format = "flat", compress = "none" }} }}"""
# As pipelines/hub.lua, at an address of this host only.
HUB = """local a = require "atalaya"
a.pipeline "hub" {{ a.source.receive {{ listen = "127.0.0.1:{port}", metrics_every = "1m" }},
  a.sink.sqlite {{ path = "{store}", retain = "30d", max_size = "64 GiB", sync = "full" }} }}"""


def record(binary, folder):
    """Paths of the bodies that a real agent sends for windows of its busiest processes."""
    with keeper() as (port, requests), processes([worker(20_000, 0.2)] * BUSY):
        path = write(folder, "agent.lua", AGENT.format(window=WINDOW, samples=SAMPLES, port=port))
        subprocess.run([binary, "run", path, "--for", f"{RECORDED}s", "--socket", os.path.join(folder, "agent.sock")], check=True,
                       stderr=subprocess.DEVNULL, env=Atalaya(binary).environment(folder))
    paths = []
    for number, (_, _, body) in enumerate(requests):
        paths.append(os.path.join(folder, f"record{number}"))
        with open(paths[-1], "wb") as file:
            file.write(body)
    return paths


class Hub(Peer):
    scratch = Database.scratch

    def __init__(self, group, folder, binary, every=WINDOW):
        super().__init__(group, folder, every)
        self.atalaya = Atalaya(binary)

    @property
    def store(self):
        return os.path.join(self.folder, "hub.db")

    def start(self):
        self.port = free_port()
        path = write(self.folder, "hub.lua", HUB.format(port=self.port, store=self.store))
        self.group.start([self.atalaya.binary, "run", path], self.atalaya.environment(self.folder))

    def ready(self):
        return get(self.port, "/health") is not None


def fleet(tool, hub, hosts, windows, every, spread, records):
    """Yields the account of each window of this fleet, after its time has passed. Times in seconds; every 0: as fast as the hub stores them."""
    command = [tool, str(hub.port), str(hosts), str(windows), str(round(every * 1000)), str(round(spread * 1000)), *records]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stdout:
                hub.group.check()
                yield json.loads(line)
            errors = process.stderr.read().strip()
            if process.wait() != 0 or errors:
                raise Ended(errors or "the fleet ended early")
        finally:
            process.kill()
