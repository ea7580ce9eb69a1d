# SPDX-License-Identifier: Apache-2.0
"""OTLP before OpenTelemetry's own messages and SDK: the sink otlp, and the source receive."""

import json
import math
import queue
import subprocess
import threading
import unittest

import peers
from harness import PATIENCE, AgentCase, main
from questions import http


class Collector:
    """The requests that OpenTelemetry's own decoder read."""

    def __init__(self, *answers, port=0):
        self.process = subprocess.Popen(["node", peers.program("otlp_collector.js"), peers.modules(), str(port), *answers],
                                        stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.url = "http://127.0.0.1:" + self.lines.get(timeout=PATIENCE).strip()
        self.requests = []

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)

    def take(self):
        while not self.lines.empty():
            self.requests.append(json.loads(self.lines.get()))
        return self.requests

    def stop(self):
        self.process.kill()
        self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        self.process.stdout.close()


def attributes(pairs):
    return {pair["key"]: next(iter(pair["value"].values())) for pair in pairs or []}


def data_points(requests, again=False):
    """{(metric, attributes, end ns): (kind, value, start)} of all requests. `again`: a point may come more than once."""
    found = {}
    for request in requests:
        for resource in request["resourceMetrics"]:
            entity = attributes(resource["resource"]["attributes"])
            for scope in resource["scopeMetrics"]:
                for metric in scope["metrics"]:
                    kind = "gauge" if "gauge" in metric else metric["sum"]["aggregationTemporality"]
                    for point in (metric.get("gauge") or metric["sum"])["dataPoints"]:
                        tags = frozenset({**entity, **attributes(point.get("attributes"))}.items())
                        key = metric["name"], tags, int(point["timeUnixNano"])
                        value = float(point["asDouble"]) if "asDouble" in point else int(point["asInt"])
                        new = kind, value, int(point.get("startTimeUnixNano", 0)), metric.get("unit")
                        assert found.setdefault(key, new) == new if again else key not in found, f"{key} twice"
                        found[key] = new
    return found


@unittest.skipUnless(peers.NODE, "needs node and npm")
class Sink(AgentCase):
    def collector(self, *answers):
        collector = Collector(*answers)
        self.addCleanup(collector.stop)
        return collector

    def agent(self, source, collector, more="", every='every = "200ms",'):
        return self.run_agent(f"""
        local a = require "atalaya"
        a.pipeline "all" {{
          {every}
          {source},
          a.sink.file {{ path = "{self.path("emitted")}", format = "samples" }},
          a.sink.otlp {{ url = "{collector.url}", retry_max = "200ms", {more} }},
        }}""").running()

    def finish(self, agent):
        agent.drain()
        self.assert_balanced(agent.status())
        self.assertEqual(agent.stop(), 0, agent.errors())
        with open(self.path("emitted")) as file:
            return [json.loads(line) for line in file]

    def test_each_value_arrives_with_its_meaning_through_failures_of_the_server(self):
        collector = self.collector("503", "200", "429", "200", "500")
        agent = self.agent("a.source.proc { cgroups = false }", collector)
        agent.wait_status(lambda status: agent.row("all", "sink otlp", status)["out"] > 500)
        samples = self.finish(agent)
        found = data_points(collector.take())
        self.assertEqual(len(found), sum(len(sample["fields"]) for sample in samples))
        by_name = {}
        for (name, tags, time), point in found.items():
            by_name.setdefault((name, time), []).append((dict(tags), *point))
        checked = 0
        for sample in samples:
            seconds = sample.get("duration", 0) / 1e9
            for field, value in sample["fields"].items():
                wanted = self.meaning(field, value, seconds, sample["tags"])
                if wanted:
                    name, keys, number, kind = wanted
                    same = [point for point in by_name[name, sample["time"]] if keys.items() <= point[0].items()]
                    self.assertEqual(len(same), 1, (wanted, same))
                    self.assertTrue(math.isclose(same[0][2], number, rel_tol=1e-12), (wanted, same))
                    self.assertEqual(same[0][1], kind)
                    if kind == "AGGREGATION_TEMPORALITY_DELTA":
                        self.assertEqual(same[0][3], sample["time"] - sample["duration"])
                    checked += 1
        self.assertGreater(checked, 100)

    def test_names_of_jvm_metrics(self):
        collector = self.collector()
        agent = self.agent('a.source.receive { listen = "127.0.0.1:0" }', collector, every="")
        hub = "http://" + agent.wait_line("listening on ").split("listening on ")[1].split()[0]
        fields = {"jvm.heap.used": 5, "jvm.heap.capacity": 7, "jvm.threads.live": 3, "jvm.heap.old.used": 2}
        http(hub + "/api/jsonlines", json.dumps({"kind": "metrics", "time": 17 * 10**17, "tags": {"host": "h", "process": "java", "pid": "7"},
                                                 "fields": fields}).encode())
        self.finish(agent)
        found = {(name, dict(tags).get("jvm.memory.type")): (value, unit or "")
                 for (name, tags, _), (_, value, _, unit) in data_points(collector.take()).items()}
        self.assertEqual(found, {("jvm.memory.used", "heap"): (5, "By"), ("jvm.memory.committed", "heap"): (7, "By"),
                                 ("jvm.thread.count", None): (3, "{thread}"), ("jvm.heap.old.used", None): (2, "")})

    def meaning(self, field, value, seconds, tags):
        """The conventions' metric, attributes, value and kind, from their own page; rates without a window keep our name."""
        entity = {"host.name": tags["host"]}
        if "pid" in tags:
            entity.update({"process.pid": tags["pid"], "process.executable.name": tags["process"]})
        if field == "proc.mem.resident":
            return "process.memory.usage", entity, value * 1024**2, "gauge"
        if field == "proc.threads":
            return "process.thread.count", entity, value, "gauge"
        if not seconds:
            return None
        delta = "AGGREGATION_TEMPORALITY_DELTA"
        if field == "proc.cpu.user" and "pid" in tags:
            return "process.cpu.time", {**entity, "cpu.mode": "user"}, value / 100 * seconds, delta
        if field == "sys.net.in.mb":
            entity.update({"network.interface.name": tags["interface"], "network.io.direction": "receive"})
            return "system.network.io", entity, value * 2**20 / 8 * seconds, delta
        if field == "sys.cpu.idle":
            return "system.cpu.time", {**entity, "cpu.logical_number": tags["core"], "cpu.mode": "idle"}, value / 100 * seconds, delta
        return None

    def test_points_that_the_server_refuses_are_counted_and_not_sent_again(self):
        collector = self.collector("reject 3")
        agent = self.agent("a.source.proc { processes = false, cgroups = false }", collector, "batch_points = 1000")
        agent.wait_line('the server refused 3 of the points: too old')
        agent.wait_status(lambda status: agent.row("all", "sink otlp", status)["out"] > 50)
        samples = self.finish(agent)
        self.assertEqual(len(data_points(collector.take())), sum(len(sample["fields"]) for sample in samples))

    def test_spans_are_traces(self):
        collector = self.collector()
        agent = self.run_agent(f"""
        local a = require "atalaya"
        a.pipeline "spans" {{
          a.source.receive {{ listen = "127.0.0.1:0", strict = false }},
          a.sink.otlp {{ url = "{collector.url}", signal = "traces", retry_max = "200ms" }},
        }}""").running()
        hub = "http://" + agent.wait_line("listening on ").split("listening on ")[1].split()[0]
        lines = [{"span": "map", "start": 1_000_000, "end": 1_002_500, "tags": {"job": "j1", "host": "h1", "task": "m1"}, "fields": {"bytes": 7}},
                 {"span": "reduce", "start": 1_003_000, "end": 1_004_000, "tags": {"job": "j1", "host": "h2"}, "fields": {}},
                 {"span": "open", "start": 1_003_000, "tags": {"job": "j1", "host": "h2"}, "fields": {}}]
        for _ in range(2):  # a span that is sent again is the same one
            subprocess.run(["curl", "-sf", "--data-binary", "@-", hub + "/api/jsonlines"], check=True, timeout=PATIENCE,
                           input="\n".join(json.dumps(line) for line in lines).encode())
        agent.drain()
        self.assertEqual(agent.stop(), 0, agent.errors())
        spans = {}
        for request in collector.take():
            for resource in request["resourceSpans"]:
                for span in resource["scopeSpans"][0]["spans"]:
                    key = span["name"], attributes(resource["resource"]["attributes"])["host.name"], span["startTimeUnixNano"], span["endTimeUnixNano"]
                    spans.setdefault(key, set()).add((span["traceId"], span["spanId"], json.dumps(attributes(span["attributes"]))))
        self.assertEqual(set(spans), {("map", "h1", "1000000000000", "1002500000000"), ("reduce", "h2", "1003000000000", "1004000000000")})
        (first,), (second,) = spans.values()
        self.assertEqual(first[0], second[0], "one job is one trace")
        self.assertNotEqual(first[1], second[1])
        self.assertEqual(json.loads(first[2]), {"job": "j1", "task": "m1", "bytes": "7"})


@unittest.skipUnless(peers.NODE, "needs node and npm")
class Source(AgentCase):
    def export(self, temporality):
        agent = self.run_agent(f"""
        local a = require "atalaya"
        a.pipeline "hub" {{
          a.source.receive {{ listen = "127.0.0.1:0", otlp = true }},
          a.sink.file {{ path = "{self.path("got")}", format = "samples" }},
          a.sink.sqlite {{ path = "{self.path("store.db")}" }},
        }}""").running()
        hub = "http://" + agent.wait_line("listening on ").split("listening on ")[1].split()[0]
        subprocess.run(["node", peers.program("otlp_exporter.js"), peers.modules(), hub + "/v1/metrics", temporality], check=True, timeout=PATIENCE)
        agent.drain()
        self.assertEqual(agent.row("hub", "receive")["dropped"], 0)
        self.assertEqual(agent.stop(), 0, agent.errors())
        with open(self.path("got")) as file:
            samples = [json.loads(line) for line in file]
        for sample in samples:
            self.assertEqual({key: sample["tags"][key] for key in ("host", "pid", "process", "service.name")},
                             {"host": "h1", "pid": "7", "process": "node", "service.name": "shop"})
        return samples

    def values(self, samples):
        return {(field, sample["tags"].get("route")): value for sample in samples for field, value in sample["fields"].items()}

    EXPECTED = {("http.requests", "/a"): 3, ("http.requests", '/b é"'): 4, ("queue.length", None): -5, ("temperature", None): 21.125,
                ("http.duration.count", None): 3, ("http.duration.sum", None): 1.75}

    def kinds(self):
        done = subprocess.run(["sqlite3", self.path("store.db"), "SELECT name, kind, unit FROM metrics"], capture_output=True, text=True, check=True)
        return {name: (kind, unit) for name, kind, unit in (line.split("|") for line in done.stdout.splitlines()) if kind}

    def test_cumulative_sums_are_totals(self):
        self.assertEqual(self.values(self.export("cumulative")), self.EXPECTED)
        kinds = self.kinds()
        self.assertEqual(kinds["http.requests"], ("total", "{request}"))
        self.assertEqual(kinds["temperature"], ("gauge", "Cel"))
        self.assertEqual(kinds["queue.length"][0], "gauge")
        self.assertEqual(kinds["http.duration.sum"], ("total", "s"))

    def test_deltas_have_their_window(self):
        samples = self.export("delta")
        self.assertEqual(self.values(samples), self.EXPECTED)
        for sample in samples:
            if "http.requests" in sample["fields"]:
                self.assertGreater(sample["duration"], 0)
        self.assertEqual(self.kinds()["http.requests"], ("delta", "{request}"))


class Refused(AgentCase):
    def test_without_the_option_and_in_other_forms(self):
        for option, words, status in (("", [], "404"), ("otlp = true", ["-H", "Content-Type: text/plain"], "415"),
                                      ("otlp = true", ["-H", "Content-Type: application/json"], "400"),
                                      ("otlp = true", ["-H", "Content-Type: application/x-protobuf"], "400")):
            agent = self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "hub" {{ a.source.receive {{ listen = "127.0.0.1:0", {option} }}, a.sink.file {{ path = "{self.path("got")}" }} }}""").running()
            hub = "http://" + agent.wait_line("listening on ").split("listening on ")[1].split()[0]
            done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--data-binary", "\x0a\xff\xff", *words, hub + "/v1/metrics"],
                                  capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(done.stdout, status)
            agent.stop()


if __name__ == "__main__":
    main()
