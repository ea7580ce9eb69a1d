# SPDX-License-Identifier: Apache-2.0
"""A store that the real agent writes, and the commands that read it."""

import json
import os
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from harness import BINARY, PATIENCE, AgentCase

T0 = 1_700_000_000
# The example of the reference design: per-process disk writes of two hosts, MiB/s, at 10, 20 and 30 s.
WRITES = {
    ("host1", "P1", 78): (0, 0, 0), ("host1", "P2", 56): (5, 6.5, 7), ("host1", "P3", 100): (1.5, 2, 2.5),
    ("host1", "P3", 101): (1, 2, 2.5), ("host1", "P3", 102): (2, 2, 2.5), ("host1", "P3", 103): (1, 2, 3),
    ("host2", "P1", 56): (0, 0, 0), ("host2", "P2", 33): (10, 12, 11), ("host2", "P3", 102): (1, 2, 3),
    ("host2", "P3", 103): (2, 1, 2), ("host2", "P3", 104): (2, 1.5, 2), ("host2", "P3", 105): (3, 1, 2),
}
# Loads the source proc, whose metrics are declared then, and drops its samples.
DECLARATIONS = 'a.pipeline "declarations" { every = "1h", a.source.proc { processes = false }, function() return nil end, sink }\n'
WHEN = ["--from", str(T0), "--to", str(T0 + 60)]


def documents():
    for (host, process, pid), values in WRITES.items():
        for i, value in enumerate(values):
            yield {"metric": "proc.disk.writes.mb", "timestamp": T0 + 10 * (i + 1), "value": value,
                   "tags": {"host": host, "process": process, "pid": str(pid)}}


def http(url, body=None, method=None, headers=None):
    request = urllib.request.Request(url, data=body, method=method, headers=headers or {})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.read()


def status_of(url, **options):
    try:
        http(url, **options)
        return 200
    except urllib.error.HTTPError as error:
        return error.code


class QueryCase(AgentCase):
    """A store with the example's points, and an agent that still writes to it."""

    def setUp(self):
        super().setUp()
        self.store = self.path("atalaya.db")
        agent = self.run_agent(
            'local a = require "atalaya"\n'
            'local sink = a.sink.sqlite { path = "%s", retain = "0s" }\n'
            'a.pipeline "hub" { a.source.receive { listen = "127.0.0.1:0", store_timeout = "50s" }, sink }\n' % self.store + DECLARATIONS)
        self.hub = "http://" + agent.wait_line("listening on ").split("listening on ")[1].split()[0]
        self.put(list(documents()))

    def put(self, points):
        http(self.hub + "/api/put", json.dumps(points).encode())

    def atalaya(self, *words, status=0, environment=None, **options):
        env = dict(os.environ, ATALAYA_STORE=self.store, TZ="UTC") | (environment or {})
        done = subprocess.run([BINARY, *words], capture_output=True, env=env, timeout=PATIENCE, **options)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        self.errors = done.stderr.decode()
        return done.stdout.decode()

    def answers(self, *words):
        return json.loads(self.atalaya("query", "--metric", "proc.disk.writes.mb", "--format", "json", *WHEN, *words))

    def serve(self, *words):
        """A server on the store; its URL."""
        return self.serve_process(*words)[0]

    def serve_process(self, *words, store=None):
        """Its URL and process."""
        server = subprocess.Popen([BINARY, "serve", "--store", store or self.store, "--listen", "127.0.0.1:0", *words],
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, server)
        line = server.stderr.readline()
        while line and "serving on" not in line:
            line = server.stderr.readline()
        self.assertIn("serving on ", line)
        return "http://" + line.split("serving on ")[1].split()[0], server

    def end(self, server):
        server.terminate()
        self.assertEqual(server.wait(PATIENCE), 0)
        server.stderr.close()

    def get(self, base, path, **arguments):
        return json.loads(http(base + path + "?" + urllib.parse.urlencode(arguments, doseq=True)))
