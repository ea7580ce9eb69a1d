# SPDX-License-Identifier: Apache-2.0
"""./dev soak [SECONDS]: 1,000 processes a second (ATALAYA_SOAK_RATE) that come and go, their stacks too, reloads with good and bad files,
a server that fails in turns, log rotation, a wall clock that steps. The ledger balances all the time, nothing acknowledged is lost, memory and descriptors are flat."""

import http.server
import json
import mmap
import os
import statistics
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
import harness  # noqa: E402
from harness import AgentCase, main  # noqa: E402

SECONDS = float(os.environ.get("ATALAYA_SOAK_SECONDS", "1800"))
BUILD = os.path.dirname(harness.BINARY)
harness.BINARY = os.path.join(BUILD, "atalaya_stepped")
PLUGINS = os.path.join(BUILD, "tests", "plugins")
# A fourth of them by way of exec; a tenth are orphans.
CHURN = [os.path.join(BUILD, "tests", "bench", "fork_storm"), "--seconds", str(int(SECONDS) + 3600), "--rate",
         os.environ.get("ATALAYA_SOAK_RATE", "1000"), "--burn-us", "50"]
EVERY = 15  # seconds between two reloads; the clock steps at every third
STEPS = (3600, -3600, -30, 0.4, -7200, 86400)  # seconds

LUA = """
local a = require "atalaya"
local store = a.sink.sqlite {{ path = "{folder}/s.db", max_size = "64 MiB" }}
a.pipeline "host" {{ every = "500ms", a.source.proc {{ processes = false }}, store }}
a.pipeline "processes" {{ every = "500ms", a.source.proc {{ backend = "auto", host = false, cgroups = false }},
  a.translate.names {{}}, store,
  a.sink.file {{ path = "{folder}/f.jsonl", rotate_size = "4 MiB", keep = 2 }} }}
a.pipeline "names" {{ a.from "processes", a.translate.aggregate {{ by = {{ "process" }} }},
  function(s) s.tags.round = "{round}" return s end, a.filter.top {{ by = "proc.cpu.user", k = 5 }}, store }}
a.pipeline "self" {{ every = "1s", a.source.self {{}}, store }}
a.pipeline "stacks" {{ every = "5s", a.source.perf {{ processes = {{ "fork_storm", "true" }} }}, store }}
a.pipeline "numbers" {{ a.source.counter {{ isolate = false, acked = "{folder}/acked", batch = 5, pause = "100ms" }},
  a.sink.http {{ url = "{url}", format = "jsonlines", compress = "none", retry_max = "500ms",
    spool = {{ dir = "{folder}/spool", min_free = "0 B" }} }} }}
"""


class Server:
    """Takes numbers, or fails as `mode` says: 204, 503, "drop" (closes the connection), "down" (nobody listens)."""

    def __init__(self):
        self.mode, self.numbers, self.port, self.thread = 204, set(), 0, None
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if not isinstance(server.mode, int):
                    self.close_connection = True
                    return
                if server.mode == 204:
                    server.numbers.update(json.loads(line)["value"] for line in body.splitlines())
                self.send_response(server.mode)
                if server.mode != 204:
                    self.send_header("Content-Length", "0")
                self.end_headers()

        self.handler = Handler
        self.set(204)

    def set(self, mode):
        self.mode = mode
        if mode == "down" and self.thread:
            self.server.shutdown()
            self.server.server_close()
            self.thread = None
        if mode != "down" and self.thread is None:
            self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), self.handler)
            self.server.daemon_threads = True
            self.port = self.server.server_address[1]
            self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
            self.thread.start()


class Soak(AgentCase):
    def usage(self, agent):
        """Resident KiB by kind, open descriptors, and how many processes the host has, as these have a share in the memory."""
        with open(f"/proc/{agent.process.pid}/status") as file:
            words = dict(line.split(":", 1) for line in file)
        resident = {name: int(words[name].split()[0]) for name in ("VmRSS", "RssAnon", "RssFile", "RssShmem")}
        return resident, len(os.listdir(f"/proc/{agent.process.pid}/fd")), sum(name.isdigit() for name in os.listdir("/proc"))

    def test_flat_and_balanced(self):
        server = Server()
        with open(self.path("step"), "wb") as file:
            file.write(struct.pack("q", 0))
        with open(self.path("step"), "r+b") as file:
            clock = mmap.mmap(file.fileno(), 8)
        churn = subprocess.Popen(CHURN, stdout=subprocess.DEVNULL)
        try:
            self.soak(server, clock, churn)
        finally:
            churn.kill()
            churn.wait()
            server.set("down")

    def soak(self, server, clock, churn):
        def lua(number):
            return LUA.format(folder=self.folder, url=f"http://127.0.0.1:{server.port}", round=number)

        agent = self.run_agent(lua(0), "--plugins", PLUGINS, environment={"ATALAYA_CLOCK_STEP": self.path("step")}).running()
        begin, figures, reloads, steps = time.monotonic(), [], 0, 0
        while time.monotonic() - begin < SECONDS:
            time.sleep(1)
            self.assertIsNone(churn.poll(), "the churn ended")
            self.assert_balanced(agent.status())
            figures.append(self.usage(agent))
            if len(figures) % 60 == 0:
                print(f"{len(figures)} s: {figures[-1]}", flush=True)
            if len(figures) % 5 == 0:
                server.set((204, 503, 204, "drop", 204, "down")[len(figures) // 5 % 6])
            if len(figures) % EVERY == 0:
                reloads += 1
                self.reload(agent, lua(reloads), reloads)
                if reloads % 3 == 0:
                    steps += 1
                    clock[:] = struct.pack("q", struct.unpack("q", clock[:])[0] + int(1e9 * STEPS[steps % len(STEPS)]))
        print(f"{len(figures)} s, {reloads} good and {reloads} bad reloads, {steps} steps of the clock")
        self.assert_delivered(agent, server, lua(reloads))
        self.assert_flat(figures[len(figures) // 4:])

    def reload(self, agent, lua, count):
        agent.write(lua)
        agent.reload()
        agent.wait_line("reloaded", count)
        agent.write("this is no Lua")
        agent.reload()
        agent.wait_line("the old file runs on", count)

    def assert_delivered(self, agent, server, lua):
        server.set(204)
        with open(self.path("acked")) as file:
            acked = {int(line) for line in file}
        agent.wait_status(lambda _: acked <= server.numbers)
        dropped = {row["component"]: row["reasons"] for row in agent.status()["ledger"] if row["type"] == "sink" and row["dropped"]}
        self.assertEqual(dropped, {})
        self.assertEqual(agent.stop(), 0)
        print(f"{len(server.numbers)} numbers at the server, all {len(acked)} batches that were acknowledged among them")

    def assert_flat(self, figures):
        """After the warm-up: the line through resident memory hardly rises, however long it is, and descriptors stay."""
        resident, descriptors, processes = zip(*figures)
        for kind in resident[0]:
            print(f"{kind} {resident[0][kind] / 1024:.1f} -> {resident[-1][kind] / 1024:.1f} MiB, most {max(r[kind] for r in resident) / 1024:.1f}")
        total = [kinds["VmRSS"] / 1024 for kinds in resident]
        rise = statistics.linear_regression(range(len(total)), total).slope * (len(total) - 1)
        print(f"the trend of RSS: {rise:+.2f} MiB in {len(total)} s, {100 * rise / total[0]:+.1f} %; descriptors {descriptors[0]} -> {descriptors[-1]}; "
              f"the host had {min(processes)} to {max(processes)} processes")
        self.assertLess(max(processes), 2 * processes[0], "processes came, and memory with them; use a quiet host")
        self.assertLessEqual(rise, 0.05 * total[0], "memory grows")
        half = len(descriptors) // 2  # the connection to the server comes and goes
        before, after = statistics.median(descriptors[:half]), statistics.median(descriptors[half:])
        self.assertLessEqual(after, before, "descriptors are left open")


if __name__ == "__main__":
    main()
