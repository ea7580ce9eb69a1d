# SPDX-License-Identifier: Apache-2.0
"""Alerts of a real agent: in the store, at Prometheus's Alertmanager, at a webhook; over restarts and reloads."""

import http.server as http_server
import json
import os
import shutil
import subprocess
import threading
import time
import unittest

from harness import BINARY, PATIENCE, AgentCase, main
from http_servers import Server, free_port, get
from questions import http

RULE = '{ name = "too high", metric = "x.value", above = 10, clear = 8, by = { "host" }, severity = "critical",' \
       ' summary = "x is above 10", advice = "lower x" }'

SPANS = "select e.host as host, s.duration_ns as duration_ns from spans s join entities e on e.id = s.entity where s.name = 'alert' order by e.host"


class Alertmanager(Server):
    program = shutil.which("prometheus-alertmanager")
    ready = "/-/ready"

    def __init__(self, folder):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        config = os.path.join(folder, "alertmanager.yml")
        with open(config, "w") as file:
            file.write("route: { receiver: none }\nreceivers: [{ name: none }]\n")
        self.command = [self.program, f"--config.file={config}", f"--storage.path={folder}/alertmanager",
                        f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address=", "--log.level=error"]

    def alerts(self):
        return json.loads(get(self.url + "/api/v2/alerts"))


class Webhook(http_server.BaseHTTPRequestHandler):
    def do_POST(self):
        lines = self.rfile.read(int(self.headers["Content-Length"])).decode().splitlines()
        with self.server.changed:
            self.server.received += [json.loads(line) for line in lines]
            self.server.changed.notify_all()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Alerts(AgentCase):
    def setUp(self):
        super().setUp()
        self.store = self.path("atalaya.db")

    def start(self, more="", rule=RULE):
        agent = self.run_agent(f"""
        local a = require "atalaya"
        a.pipeline "alerts" {{
          a.source.receive {{ listen = "127.0.0.1:0" }},
          a.translate.alerts {{ ["repeat"] = "1s", rules = {{ {rule} }} }},
          a.sink.sqlite {{ path = "{self.store}" }},
        }}
        {more}""")
        self.find_hub(agent)
        return agent

    def find_hub(self, agent, starts=1):
        self.hub = "http://" + agent.wait_line("listening on ", starts).split("listening on ")[1].split()[0]

    def notify(self, url, form, more=""):
        return f"""
        a.pipeline "notify" {{
          a.from "alerts",
          a.filter.match {{ kind = "span", alert = "*" }},
          a.sink.http {{ url = "{url}", format = "{form}", retry_max = "200ms", {more} }},
        }}"""

    def put(self, value, host="h"):
        line = {"kind": "metrics", "time": time.time_ns(), "duration": 10**9, "tags": {"host": host}, "fields": {"x.value": value}}
        http(self.hub + "/api/jsonlines", (json.dumps(line) + "\n").encode())

    def stored(self):
        """The alerts of the store: host, and whether it fires."""
        if not os.path.exists(self.store):
            return []
        rows = json.loads(subprocess.run([BINARY, "sql", "--store", self.store, "--format", "json", SPANS], capture_output=True,
                                         timeout=PATIENCE, check=True).stdout)
        return [(row["host"], row["duration_ns"] < 0) for row in rows]

    def wait(self, read, expected):
        until = time.monotonic() + PATIENCE
        while (found := read()) != expected:
            assert time.monotonic() < until, found
            time.sleep(0.05)  # another process changes it, without a notice

    def test_alerts_are_open_spans_over_restarts(self):
        agent = self.start()
        self.put(5)
        self.put(11)
        self.wait(self.stored, [("h", True)])
        self.assertEqual(agent.stop(), 0)
        self.assertEqual(self.stored(), [("h", True)])
        agent = self.start()
        self.put(9)  # between the limits: it still fires
        self.put(20, "other")
        self.wait(self.stored, [("h", True), ("other", True)])
        self.assertEqual(agent.kill(), -9)
        agent = self.start()
        self.put(7)
        self.wait(self.stored, [("h", False), ("other", True)])
        # A reload with another rule keeps the alert of the first one only if its rule is still there.
        with open(agent.file) as file:
            changed = file.read().replace("too high", "much too high")
        agent.write(changed)
        agent.reload()
        self.find_hub(agent, 2)
        self.put(7)
        self.wait(self.stored, [("h", False), ("other", False)])

    def test_a_webhook_gets_each_alert_and_its_end(self):
        server = http_server.ThreadingHTTPServer(("127.0.0.1", 0), Webhook)
        server.received, server.changed = [], threading.Condition()
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.start(self.notify(f"http://127.0.0.1:{server.server_port}/hook", "webhook"))
        self.put(12.5)
        with server.changed:
            self.assertTrue(server.changed.wait_for(lambda: server.received, PATIENCE))
        first = server.received[0]
        self.assertEqual({key: first[key] for key in ("alert", "state", "severity", "value", "limit", "tags", "summary", "advice")},
                         {"alert": "too high", "state": "firing", "severity": "critical", "value": 12.5, "limit": 10,
                          "tags": {"host": "h"}, "summary": "x is above 10", "advice": "lower x"})
        self.put(1)
        with server.changed:
            self.assertTrue(server.changed.wait_for(lambda: server.received[-1]["state"] == "resolved", PATIENCE))
        last = server.received[-1]
        self.assertEqual(last["start"], first["start"])
        self.assertGreaterEqual(last["end"], last["start"])

    def test_a_webhook_that_is_down_delays_nothing(self):
        agent = self.start(self.notify(f"http://127.0.0.1:{free_port()}", "webhook", 'spool = { dir = "spool" }'))
        self.put(12)
        self.wait(self.stored, [("h", True)])
        self.put(1)
        self.wait(self.stored, [("h", False)])
        agent.wait_status(lambda status: agent.row("notify", "http", status)["queued"] > 0)
        self.assert_balanced(agent.status())

    @unittest.skipUnless(Alertmanager.program, "prometheus-alertmanager is not installed")
    def test_an_alertmanager_gets_alerts_and_their_ends(self):
        server = Alertmanager(self.folder).start()
        self.addCleanup(server.stop)
        self.start(self.notify(server.url, "alertmanager"))
        self.put(12.5)
        self.wait(lambda: [alert["labels"] for alert in server.alerts()],
                  [{"alertname": "too high", "severity": "critical", "host": "h"}])
        alert = server.alerts()[0]
        self.assertEqual(alert["annotations"], {"summary": "x is above 10", "description": "lower x", "value": "12.5"})
        self.assertEqual(alert["status"]["state"], "active")
        # Only active alerts are listed: a resolved one is not.
        self.put(1)
        self.wait(server.alerts, [])
        self.put(13)
        self.wait(lambda: len(server.alerts()), 1)
        self.assertNotEqual(server.alerts()[0]["startsAt"], alert["startsAt"])

    def check_rule(self, metric):
        file = self.path("wrong.lua")
        with open(file, "w") as out:
            out.write('local a = require "atalaya"\na.pipeline "p" {\n  every = "1s",\n  a.source.proc {},\n'
                      f'  a.translate.alerts {{ rules = {{ {{ name = "full", metric = "{metric}", above = 95 }} }} }},\n'
                      '  a.sink.stdout {},\n}\n')
        return subprocess.run([BINARY, "check", file], capture_output=True, text=True, timeout=PATIENCE)

    def test_mistakes_have_the_line_and_the_nearest_metric(self):
        self.assertEqual(self.check_rule("sys.fs.usage").returncode, 0)
        done = self.check_rule("sys.fs.usag")
        self.assertEqual(done.returncode, 2)
        self.assertIn('wrong.lua:5: pipeline "p": translator "alerts": rules[1].metric: "sys.fs.usag" is no metric of the sources '
                      'before it; did you mean "sys.fs.usage"?', done.stderr)

    def test_a_rule_over_a_metric_of_another_source_is_reported(self):
        done = self.check_rule("jvm.gc.time")
        self.assertEqual(done.returncode, 0)  # a function may set it
        self.assertIn('wrong.lua:5: pipeline "p": translator "alerts": rules[1].metric: "jvm.gc.time" is no metric of the sources '
                      'before it', done.stderr)


if __name__ == "__main__":
    main()
