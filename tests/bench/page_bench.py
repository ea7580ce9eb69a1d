# SPDX-License-Identifier: Apache-2.0
"""The page of `serve` on a real store in a real Chromium: first paint, a brush over 24 hours of 200 series, a table of 2,000 processes that
scrolls, a flame graph of 1,000,000 samples; tests/e2e/figures.mjs has the goals.

page_bench.py ATALAYA STORE_BENCH [HOURS]"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

from bench_tools import ROOT

PROCESSES, SAMPLES, STACKS = 2000, 1_000_000, 20_000
LUA = """local a = require "atalaya"
a.pipeline "hub" {{ a.source.receive {{ listen = "127.0.0.1:0", store_timeout = "50s" }}, a.sink.sqlite {{ path = "{store}", retain = "0s" }} }}
"""


def lines(end):
    """The processes of the last minutes and the stacks of the last hour, as JSON lines of at most some MB."""
    for second in range(end - 60, end + 1, 5):
        for pid in range(PROCESSES):
            yield {"kind": "metrics", "time": second * 10**9, "duration": 5 * 10**9, "tags": {"host": "many", "pid": str(pid), "process": f"worker{pid % 50}"},
                   "fields": {"proc.cpu.user": pid % 97 / 10, "proc.cpu.kernel": pid % 13 / 10, "proc.mem.resident": 10.0 + pid, "proc.threads": pid % 40}}
    for number in range(STACKS):
        frames = ["java", *(f"org.example.Class{number // 8**depth % 997}.method{number // 8**depth}_[j]" for depth in range(4, -1, -1))]
        yield {"kind": "stack", "time": (end - number % 360 * 10) * 10**9, "duration": 10 * 10**9, "text": ";".join(frames),
               "tags": {"host": "bench", "process": "java", "pid": "7", "profile": "cpu"}, "fields": {"profile.samples": SAMPLES // STACKS}}


def post(url, batch):
    with urllib.request.urlopen(urllib.request.Request(url + "/api/jsonlines", data="".join(batch).encode()), timeout=120):
        batch.clear()


def address_of(process, words):
    for line in process.stderr:
        if words in line:
            return "http://" + line.split(words)[1].split()[0]
    sys.exit("page_bench: it ends before it listens")


def add_lines(atalaya, store, end, folder):
    path = os.path.join(folder, "hub.lua")
    with open(path, "w") as file:
        file.write(LUA.format(store=store))
    hub = subprocess.Popen([atalaya, "run", path, "--socket", os.path.join(folder, "status.sock")], stderr=subprocess.PIPE, text=True,
                           env=dict(os.environ, STATE_DIRECTORY=folder, RUNTIME_DIRECTORY=folder, ATALAYA_LUA=os.path.join(ROOT, "lua")))
    url, batch = address_of(hub, "listening on "), []
    for line in lines(end):
        batch.append(json.dumps(line) + "\n")
        if len(batch) == 2000:
            post(url, batch)
    post(url, batch)
    hub.terminate()
    hub.communicate()


def main():
    atalaya, bench = sys.argv[1:3]
    hours = sys.argv[3] if len(sys.argv) > 3 else "24"
    if not shutil.which("chromium") or not os.path.isdir(os.path.join(ROOT, "plugins/commands/serve/web/node_modules/playwright-core")):
        return print("page_bench: skipped; it needs chromium and the libraries of the page (npm ci in plugins/commands/serve/web)")
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-", dir="/var/tmp") as folder:
        store, unused = os.path.join(folder, "page.db"), os.path.join(folder, "lines")
        subprocess.run([bench, "day", store, unused, hours], check=True, stdout=subprocess.DEVNULL)
        os.remove(unused)
        begin = (int(time.time()) // 86400 - 2) * 86400
        end = begin + int(float(hours) * 3600)
        add_lines(atalaya, store, end, folder)
        server = subprocess.Popen([atalaya, "serve", "--store", store, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
        try:
            done = subprocess.run(["node", os.path.join(ROOT, "tests/e2e/figures.mjs")],
                                  env=dict(os.environ, ATALAYA_URL=address_of(server, "serving on "), END=str(end * 1000)))
        finally:
            server.terminate()
            server.communicate()
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
