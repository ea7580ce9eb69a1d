# SPDX-License-Identifier: Apache-2.0
"""The declarations of a plugin outside of the tree travel with its metrics: agent, spool, hub, SQLite and ClickHouse, then query, plot,
serve and prometheus. Nothing in the tree knows the metrics of the plugin."""

import json
import os
import sqlite3
import subprocess
import unittest

from clickhouse_servers import ClickHouse
from clickhouse_test import ServedCase
from harness import BINARY, Agent, main
from http_servers import free_port, get

# kind, unit, decimals and summary as tests/integration/plugin declares them.
DECLARED = {
    "acme.job.time": ("gauge", "s", 3, "Duration of the last job."),
    "acme.jobs.done": ("delta", "{job}", -1, "Jobs done in the window."),
    "acme.jobs.total": ("total", "{job}", -1, "Jobs since the start."),
    "acme.late": ("gauge", "W", 1, "Declared at run time."),
    "acme.queue.size": ("gauge", "By", -1, "Bytes in the queue."),
}
AGENT = """local a = require "atalaya"
a.pipeline "jobs" {{
  every = "200ms",
  a.source.kinds {{}},
  a.sink.http {{ url = "http://127.0.0.1:{port}", format = "flat", timeout = "2s", retry_max = "200ms",
    spool = {{ dir = "spool", min_free = "0 B" }} }},
}}"""
HUB = """local a = require "atalaya"
a.pipeline "hub" {{
  a.source.receive {{ listen = "127.0.0.1:{port}", open = true }},
  a.sink.sqlite {{ path = "{store}" }},
  {clickhouse},
  a.sink.prometheus {{ listen = "127.0.0.1:{scrape}" }},
}}"""
WINDOWS = 20


@unittest.skipUnless(ClickHouse.there, "needs clickhouse-server")
class Catalogue(ServedCase):
    def start(self, name, lua, *arguments):
        os.mkdir(self.path(name))
        agent = Agent(self.path(name), lua, *arguments)
        self.agents.append(agent)
        return agent.running()

    def test_declarations_travel_from_a_foreign_plugin_to_every_answer(self):
        port, scrape = free_port(), free_port()
        agent = self.start("agent", AGENT.format(port=port), "--plugins", os.environ["ATALAYA_TEST_PLUGINS"])
        # The hub starts late: the declarations wait in the spool.
        agent.wait_status(lambda status: agent.row("jobs", "sink http", status)["spooled"] >= WINDOWS)
        hub = self.start("hub", HUB.format(port=port, scrape=scrape, store=self.sqlite, clickhouse=self.sink()))
        agent.wait_status(lambda status: agent.row("jobs", "sink http", status)["out"] >= 2 * WINDOWS)
        scraped = get(f"http://127.0.0.1:{scrape}/metrics").decode()
        self.assertEqual(agent.stop(), 0, agent.errors())
        self.assert_balanced(hub.status())
        self.assertEqual(hub.stop(), 0, hub.errors())

        with sqlite3.connect(self.sqlite) as database:
            stored = database.execute("SELECT name, kind, unit, decimals, summary FROM metrics ORDER BY name").fetchall()
            done = database.execute("SELECT count(*), sum(value) FROM points WHERE metric = 'acme.jobs.done'").fetchone()
        self.assertEqual({row[0]: row[1:] for row in stored}, DECLARED)
        self.assertEqual(done[1], 3 * done[0])
        for store in (self.sqlite, self.clickhouse):
            with self.subTest(store=store.split(":")[0]):
                self.assert_answers(store, done)
        self.assert_scrape(scraped)

    def answer(self, store, metric, *words):
        found = json.loads(self.atalaya("query", "--metric", metric, "--from", "-1h", "--format", "json", *words, store=store))
        self.assertEqual(len(found), 1, found)
        return found[0]

    def assert_answers(self, store, done):
        windows, jobs = done
        for metric, (kind, unit, _, summary) in DECLARED.items():
            found = self.answer(store, metric)
            self.assertEqual((found["kind"], found["unit"], found["summary"]), (kind, unit, summary))
        # By kind: deltas add up, a gauge has its value (over the hour its integral is less), a total is differenced for a rate.
        self.assertEqual([value for _, value in self.answer(store, "acme.jobs.done", "--every", "0all")["dps"]], [jobs])
        self.assertEqual([value for _, value in self.answer(store, "acme.queue.size", "--every", "0all-max")["dps"]], [4096])
        self.assertEqual([value for _, value in self.answer(store, "acme.job.time", "--every", "0all-max")["dps"]], [0.125])
        rates = [value for _, value in self.answer(store, "acme.jobs.total", "--rate")["dps"]]
        self.assertGreater(len(rates), windows // 2)
        self.assertTrue(all(value > 0 for value in rates), rates)
        picture = self.path("picture.svg")
        self.atalaya("plot", "--metric", "acme.queue.size", "-o", picture, store=store)
        with open(picture) as file:
            self.assertRegex(file.read(), r">[^<]*KiB|>[^<]*\bB\b")
        self.assert_served(store)

    def assert_served(self, store):
        server = subprocess.Popen([BINARY, "serve", "--store", store, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
        try:
            line = next(line for line in server.stderr if "serving on " in line)
            base = "http://" + line.split("serving on ")[1].split()[0]
            metadata = json.loads(get(base + "/api/v1/metadata"))["data"]
        finally:
            server.terminate()
            server.communicate(timeout=30)
        for metric, (kind, unit, _, summary) in DECLARED.items():
            found = metadata[metric.replace(".", "_")] if metric.replace(".", "_") in metadata else metadata[metric]
            self.assertEqual(found[0]["type"], "counter" if kind == "total" else "gauge", metric)
            self.assertIn(summary.rstrip("."), found[0]["help"])
            self.assertEqual(found[0]["unit"], unit)

    def assert_scrape(self, text):
        for metric, (kind, _, _, summary) in DECLARED.items():
            name = metric.replace(".", "_")
            self.assertRegex(text, rf"(?m)^# TYPE {name}(_total)? {'counter' if kind == 'total' else 'gauge'}$")
            self.assertRegex(text, rf"(?m)^# HELP {name}(_total)? .*{summary.rstrip('.')}")


if __name__ == "__main__":
    main()
