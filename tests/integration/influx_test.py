# SPDX-License-Identifier: Apache-2.0
"""InfluxDB's line protocol in the source receive: from InfluxDB's own client, from the sink http, and malformed."""

import json
import os
import subprocess
import unittest

from harness import PATIENCE, Agent, AgentCase, main

CLIENT = """
import sys
from influxdb import InfluxDBClient
client = InfluxDBClient(host="127.0.0.1", port=int(sys.argv[1]), gzip=sys.argv[2] == "gzip")
client.write_points([
    {"measurement": "cpu load", "tags": {"host": "h 1", "core,=": "a=b, c"}, "time": "2023-11-14T22:13:20.123456Z",
     "fields": {"value": 0.64, "idle": 3, "ok": True, "note": 'a "b", c=1 \\\\ d'}},
    {"measurement": "mem", "time": "2023-11-14T22:13:21Z", "fields": {"free.bytes": -(2**62), "used": 1e300}}], time_precision=sys.argv[3])
"""


class InfluxCase(AgentCase):
    def hub(self):
        agent = self.run_agent(f"""
        local a = require "atalaya"
        a.pipeline "hub" {{
          a.source.receive {{ listen = "127.0.0.1:0", influx = true }},
          a.sink.file {{ path = "{self.path("got")}", format = "samples" }},
        }}""").running()
        self.port = agent.wait_line("listening on ").split("listening on ")[1].split()[0].rsplit(":", 1)[1]
        return agent

    def got(self, agent):
        agent.drain()
        self.assertEqual(agent.stop(), 0, agent.errors())
        with open(self.path("got")) as file:
            return [json.loads(line) for line in file]

    def post(self, lines, path="/write"):
        done = subprocess.run(["curl", "-s", "-w", "%{http_code}", "--data-binary", "@-", f"http://127.0.0.1:{self.port}{path}"],
                              input=lines.encode(), capture_output=True, timeout=PATIENCE)
        return done.stdout.decode()

    @unittest.skipIf(subprocess.run(["/usr/bin/python3", "-c", "import influxdb"], capture_output=True).returncode, "needs python3-influxdb")
    def test_the_own_client_of_influxdb(self):
        for encoding, precision, unit in (("plain", "n", 1), ("gzip", "n", 1), ("gzip", "s", 10**9)):
            agent = self.hub()
            subprocess.run(["/usr/bin/python3", "-c", CLIENT, self.port, encoding, precision], check=True, timeout=PATIENCE)
            cpu, mem = self.got(agent)
            self.assertEqual(cpu["time"], 1700000000123456000 // unit * unit)
            self.assertEqual(cpu["tags"], {"host": "h 1", "core,=": "a=b, c"})
            self.assertEqual(cpu["fields"], {"cpu load": 0.64, "cpu load.idle": 3, "cpu load.ok": 1})
            self.assertEqual(mem["fields"], {"mem.free.bytes": -(2**62), "mem.used": 1e300})
            os.remove(self.path("got"))

    def test_what_the_sink_http_sends_is_what_was_emitted(self):
        hub = self.hub()
        os.mkdir(self.path("sender"))
        agent = Agent(self.path("sender"), f"""
        local a = require "atalaya"
        a.pipeline "all" {{
          every = "200ms", a.source.proc {{ cgroups = false }},
          a.sink.file {{ path = "{self.path("emitted")}", format = "samples" }},
          a.sink.http {{ url = "http://127.0.0.1:{self.port}", format = "influx", retry_max = "200ms" }},
        }}""")
        self.agents.append(agent)
        agent.running()
        agent.wait_status(lambda status: agent.row("all", "sink http", status)["out"] > 300)
        agent.drain()
        self.assertEqual(agent.stop(), 0, agent.errors())

        def numbers(samples):
            return sorted((sample["time"], sorted(sample["tags"].items()), field, value)
                          for sample in samples for field, value in sample["fields"].items())
        with open(self.path("emitted")) as file:
            emitted = [json.loads(line) for line in file]
        self.assertEqual(numbers(self.got(hub)), numbers(emitted))

    def test_each_malformed_line_is_refused_alone(self):
        agent = self.hub()
        bad = {",host=a v=1": "no measurement", "m": "no fields", "m v": "not KEY=VALUE", "m,host v=1": "not KEY=VALUE", "m,host= v=1": "has no value",
               "m v=abc": "no finite number", "m v=nan": "no finite", "m v=1 x": "whole number", "m v=1 0": "after 1970", "m v=\"a": "has no end",
               "m v=\"a\"": "texts only", "m v=99999999999999999999i": "no finite", "m v=-1u": "no finite", "m v=1e999": "no finite",
               "m v=1 99999999999999999999": "whole number"}
        for line, why in bad.items():
            answer = self.post(f"{line}\n", "/write?details")
            self.assertTrue(answer.endswith("400"), (line, answer))
            self.assertIn(why, answer)
        self.assertIn('"success":2', self.post("# a comment\n\nm v=1 5\nm v=\nm v=2 6\r\n", "/write?summary"))
        self.assertTrue(self.post("m v=1", "/write?precision=days").endswith("400"))
        self.assertTrue(self.post("m v=3 7000", "/api/v2/write?precision=ms&bucket=b").endswith("204"))
        self.assertEqual([(sample["time"], sample["fields"]["m.v"]) for sample in self.got(agent)], [(5, 1), (6, 2), (7_000_000_000, 3)])


if __name__ == "__main__":
    main()
