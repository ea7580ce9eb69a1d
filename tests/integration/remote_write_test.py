# SPDX-License-Identifier: Apache-2.0
"""Remote write of the sink http: real servers store each emitted point, and see where series end."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest
import urllib.parse

from harness import PATIENCE, AgentCase, main, points
from http_servers import Server, VictoriaMetrics, free_port, get


class Prometheus(Server):
    program = shutil.which("prometheus")
    ready = "/-/ready"

    def __init__(self, folder):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        config = os.path.join(folder, "prometheus.yml")
        with open(config, "w") as file:
            file.write("global: { scrape_interval: 1m }\n")
        self.command = [self.program, f"--config.file={config}", f"--storage.tsdb.path={folder}/prometheus",
                        f"--web.listen-address=127.0.0.1:{port}", "--web.enable-remote-write-receiver", "--log.level=error"]

    def query(self, expression, **more):
        words = urllib.parse.urlencode({"query": expression, **more})
        return json.loads(get(self.url + "/api/v1/query?" + words))["data"]["result"]

    def points(self):
        """{(metric, tags, ms): value} of all that is stored."""
        stored = {}
        for series in self.query('{__name__=~".+"}[1h]'):
            labels = dict(series["metric"])
            metric = labels.pop("__name__")
            for at, value in series["values"]:
                stored[metric, frozenset(labels.items()), round(at * 1000)] = float(value)
        return stored


class RemoteWriteCase(AgentCase):
    def server(self, kind):
        server = kind(self.folder).start()
        self.addCleanup(server.stop)
        return server

    def agent(self, source, server, every="200ms", more=""):
        return self.run_agent(f"""
        local a = require "atalaya"
        a.pipeline "all" {{
          every = "{every}",
          {source},
          a.sink.file {{ path = "{self.path("emitted")}" }},
          a.sink.http {{ url = "{server.url}", format = "remote_write", retry_max = "200ms", {more} }},
        }}""").running()

    def sent(self, agent, count):
        agent.wait_status(lambda status: agent.row("all", "sink http", status)["out"] > count)

    def finish(self, agent):
        agent.drain()
        self.assert_balanced(agent.status())
        self.assertEqual(agent.stop(), 0, agent.errors())
        wanted = {}
        for point in points(self.path("emitted")):
            name = re.sub("[^a-zA-Z0-9_]", "_", point["metric"])
            wanted[name, frozenset(point["tags"].items()), point["timestamp"]] = float(point["value"])
        self.assertGreater(len(wanted), 100)
        return wanted

    def assert_stored(self, server, wanted):
        """A counter has _total behind its name; markers of the end of a series are no values."""
        names = {name for name, _, _ in wanted}

        def stored():
            return {(name if name in names else name.removesuffix("_total"), tags, at): value
                    for (name, tags, at), value in server.points().items() if value is not None and value == value}
        until = time.monotonic() + PATIENCE
        while set(found := stored()) != set(wanted) and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual(sorted(map(str, set(wanted) - set(found)))[:5], [], "lost")
        self.assertEqual(sorted(map(str, set(found) - set(wanted)))[:5], [], "invented")
        self.assertEqual({key: value for key, value in found.items() if value != wanted[key]}, {})

    def check(self, kind):
        server = self.server(kind)
        agent = self.agent("a.source.proc { cgroups = false }", server, more="batch_points = 50")
        self.sent(agent, 100)
        server.stop()
        agent.wait_line("trying again")
        server.start()
        self.sent(agent, agent.row("all", "sink file")["out"])
        self.assert_stored(server, self.finish(agent))


@unittest.skipUnless(Prometheus.program, "needs the package prometheus")
class RealPrometheus(RemoteWriteCase):
    def test_each_point_arrives_through_a_restart_of_the_server(self):
        self.check(Prometheus)

    def test_a_series_ends_two_windows_after_its_process(self):
        server = self.server(Prometheus)
        with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"]) as child:
            agent = self.agent("a.source.proc { host = false, exited = false, cgroups = false }", server, every="1s")
            expression = f'proc_threads{{pid="{child.pid}"}}'
            self.wait(lambda: server.query(expression), "the process")
            child.kill()
        # Prometheus itself would show the last value for five minutes.
        self.wait(lambda: not server.query(expression) and server.query("proc_threads"), "the end of the process")
        self.assertEqual(agent.row("all", "sink http")["dropped"], 0)
        self.assertEqual(agent.row("all", "sink http")["dead_letter"], 0)

    def wait(self, condition, description):
        until = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), until, f"Prometheus never had {description}")
            time.sleep(0.05)


@unittest.skipUnless(VictoriaMetrics.program, "needs victoria-metrics")
class RealVictoria(RemoteWriteCase):
    def test_each_point_arrives_through_a_restart_of_the_server(self):
        self.check(VictoriaMetrics)


if __name__ == "__main__":
    main()
