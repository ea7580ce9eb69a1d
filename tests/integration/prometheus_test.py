# SPDX-License-Identifier: Apache-2.0
"""The sink prometheus before a real Prometheus, and before clients that are less well behaved."""

import gzip
import http.client
import json
import math
import os
import shutil
import socket
import subprocess
import time
import unittest
import urllib.parse

from harness import PATIENCE, AgentCase, main
from http_servers import Server, free_port, get

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


class PrometheusServer(Server):
    """The real one, which scrapes the agent."""

    program = shutil.which("prometheus")
    ready = "/-/ready"

    def __init__(self, folder, target, more=""):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        config = os.path.join(folder, "prometheus.yml")
        with open(config, "w") as file:
            file.write(f"""
global: {{ scrape_interval: 1s, scrape_timeout: 1s }}
scrape_configs:
  - job_name: atalaya
    static_configs: [{{ targets: ["{target}"] }}]
    {more}
""")
        self.command = [self.program, f"--config.file={config}", f"--storage.tsdb.path={folder}/prometheus",
                        f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]

    def query(self, expression):
        answer = json.loads(get(self.url + "/api/v1/query?query=" + urllib.parse.quote(expression)))
        return answer["data"]["result"]

    def values(self, expression):
        """{(name, labels): value as text} of an instant, without the labels of the scrape itself."""
        found = {}
        for series in self.query(expression):
            labels = {key: value for key, value in series["metric"].items() if key not in ("instance", "job", "__name__")}
            found[series["metric"]["__name__"], frozenset(labels.items())] = series["value"][1]
        return found

    def wait(self, condition, what):
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if result := condition():
                return result
            time.sleep(0.05)
        raise AssertionError("Prometheus never had " + what)


class PrometheusCase(AgentCase):
    def agent(self, options=""):
        """An agent that exposes what the test puts into its source receive."""
        lua = f"""
        local a = require "atalaya"
        a.pipeline "p" {{
          a.source.receive {{ listen = "127.0.0.1:0", strict = false, store_timeout = "50s" }},
          a.sink.prometheus {{ listen = "127.0.0.1:0", {options} }},
        }}"""
        agent = self.run_agent(lua).running()
        agent.put_port = self.port(agent, 'source "receive"')
        agent.port = self.port(agent, 'sink "prometheus"')
        return agent

    def port(self, agent, part):
        return int(agent.wait_line(part + ": listening on").split("listening on ")[1].split()[0].rsplit(":", 1)[1])

    def put(self, agent, samples):
        connection = http.client.HTTPConnection("127.0.0.1", agent.put_port, timeout=PATIENCE)
        self.addCleanup(connection.close)
        connection.request("POST", "/api/jsonlines", "\n".join(json.dumps(sample) for sample in samples))
        answer = connection.getresponse()
        text = answer.read()
        self.assertEqual(answer.status, 204, text)

    def sample(self, fields, at=0, length=60, **tags):
        """A sample of the window that ends `at` seconds after the test's begin; a long one, for slow machines."""
        return {"kind": "metrics", "time": self.begin + at * 10**9, "duration": length * 10**9,
                "tags": {"host": "vm", **tags}, "fields": fields}

    def scrape(self, agent, path="/metrics", method="GET", **headers):
        """-> status, headers, body."""
        connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=PATIENCE)
        self.addCleanup(connection.close)
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def setUp(self):
        super().setUp()
        self.begin = time.time_ns() // 10**9 * 10**9 - 60 * 10**9


@unittest.skipUnless(PrometheusServer.program, "needs the package prometheus")
class Real(PrometheusCase):
    def server(self, agent, more=""):
        server = PrometheusServer(self.folder, f"127.0.0.1:{agent.port}", more).start()
        self.addCleanup(server.stop)
        return server

    def test_what_was_emitted_is_what_it_stores_value_by_value(self):
        agent = self.agent()
        odd = 'a"b\\c\nd é'
        self.put(agent, [
            self.sample({"proc.cpu.user": 99.4, "proc.threads": 31, "proc.tiny": 5e-324, "proc.big": -1.7976931348623157e308},
                        pid="7", process=odd),
            self.sample({"proc.cpu.user": 0.1, "c.bytes": 2**53}, pid="8", process="x")])
        server = self.server(agent)
        seven = frozenset({"host": "vm", "pid": "7", "process": odd}.items())
        eight = frozenset({"host": "vm", "pid": "8", "process": "x"}.items())
        expected = {("proc_cpu_user", seven): 99.4, ("proc_threads", seven): 31, ("proc_tiny", seven): 5e-324,
                    ("proc_big", seven): -1.7976931348623157e308, ("proc_cpu_user", eight): 0.1,
                    ("c_bytes", eight): 2**53}
        stored = server.wait(lambda: server.values('{host="vm"}'), "the series")
        self.assertEqual({key: float(value) for key, value in stored.items()}, expected)
        kinds = json.loads(get(server.url + "/api/v1/metadata"))["data"]
        self.assertEqual(kinds["proc_cpu_user"], [{"type": "unknown", "unit": "", "help": "Atalaya's metric proc.cpu.user"}])
        self.assertEqual(kinds["c_bytes"][0]["type"], "unknown")
        self.assert_balanced(agent.status())

    def test_a_process_that_ended_is_gone_in_the_next_scrape(self):
        agent = self.agent()
        server = self.server(agent)
        self.put(agent, [self.sample({"proc.x": 1}, pid="1"), self.sample({"proc.x": 2}, pid="2")])
        server.wait(lambda: len(server.values("proc_x")) == 2, "both")
        self.put(agent, [self.sample({"proc.x": 3}, at=5, pid="2")])
        # Stale at once, not after its five minutes of look-back.
        server.wait(lambda: set(server.values("proc_x").values()) == {"3"}, "the end of the process")
        self.assertEqual(agent.row("p", "prometheus")["dropped"], 0)

    def test_ten_thousand_series(self):
        agent = self.agent()
        values = {str(pid): [pid + field / 8 for field in range(10)] for pid in range(1000)}
        self.put(agent, [self.sample({f"proc.m{field}": value for field, value in enumerate(fields)}, pid=pid)
                         for pid, fields in values.items()])
        server = self.server(agent)
        stored = server.wait(lambda: server.values('{host="vm"}'), "the series")
        self.assertEqual({key: float(value) for key, value in stored.items()},
                         {(f"proc_m{field}", frozenset({"host": "vm", "pid": pid}.items())): value
                          for pid, fields in values.items() for field, value in enumerate(fields)})

    def test_a_scraper_without_the_token_is_down(self):
        tokens = self.path("tokens")
        with open(os.open(tokens, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write("secret\n")
        agent = self.agent(f'tokens = "{tokens}"')
        self.put(agent, [self.sample({"proc.x": 1})])
        for token, up in (("wrong", "0"), ("secret", "1")):
            server = self.server(agent, f"authorization: {{ credentials: {token} }}")
            server.wait(lambda: [series["value"][1] for series in server.query("up")] == [up] and len(server.query("proc_x")) == int(up),
                        f"up {up} with {token}")
            server.stop()

    @unittest.skipUnless(shutil.which("promtool"), "needs promtool")
    def test_promtool_accepts_the_text(self):
        agent = self.agent()
        self.put(agent, [self.sample({"proc.cpu.user": 1.5, "c.bytes": 7}, process='a"\\\n')])
        _, _, text = self.scrape(agent)
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, b"", b""))


class Protocol(PrometheusCase):
    def test_forms_and_encodings(self):
        agent = self.agent()
        self.put(agent, [self.sample({"proc.x": 1.5})])
        plain = (b"# HELP proc_x Atalaya's metric proc.x\n# TYPE proc_x untyped\nproc_x{host=\"vm\"} 1.5\n")
        status, headers, body = self.scrape(agent)
        self.assertEqual((status, headers["Content-Type"], body), (200, "text/plain; version=0.0.4; charset=utf-8", plain))
        self.assertIsNone(headers["Content-Encoding"])
        status, headers, body = self.scrape(agent, Accept=OPENMETRICS, Accept_Encoding="gzip")
        self.assertEqual((status, headers["Content-Type"], headers["Content-Encoding"]),
                         (200, "application/openmetrics-text; version=1.0.0; charset=utf-8", "gzip"))
        self.assertEqual(gzip.decompress(body), plain.replace(b"untyped", b"unknown") + b"# EOF\n")
        status, headers, body = self.scrape(agent, method="HEAD")
        self.assertEqual((status, headers["Content-Length"], body), (200, str(len(plain)), b""))

    def test_other_paths_and_methods(self):
        agent = self.agent('path = "/here"')
        self.assertEqual(self.scrape(agent, "/here")[0], 200)
        self.assertEqual(self.scrape(agent, "/metrics")[0], 404)
        status, headers, _ = self.scrape(agent, "/here", "POST")
        self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD"))

    def test_slow_ones_are_cut_off_and_large_headers_refused(self):
        agent = self.agent('request_timeout = "300ms"')
        with socket.create_connection(("127.0.0.1", agent.port), timeout=PATIENCE) as slow:
            slow.sendall(b"GET /metrics HTTP/1.1\r\nHo")
            self.assertEqual(slow.recv(1), b"")
        agent.stop()
        agent = self.agent('max_header = "4 KiB"')
        self.assertEqual(self.scrape(agent, X=8192 * "x")[0], 431)
        self.assertEqual(self.scrape(agent)[0], 200)

    def test_what_others_can_reach_needs_a_token_or_a_word(self):
        lua = """
        local a = require "atalaya"
        a.pipeline "p" { every = "1s", a.source.self {}, a.sink.prometheus { listen = "*:0"%s } }"""
        agent = self.run_agent(lua % "")
        self.assertNotEqual(agent.join(), 0)
        self.assertIn("can be reached from other hosts; name a file of tokens, or write open = true", agent.errors())
        agent = self.run_agent(lua % ", open = true").running()
        self.assertEqual(agent.stop(), 0, agent.errors())

    def test_what_cannot_be_shown_is_counted_with_its_reason(self):
        agent = self.agent("max_series = 2")
        self.put(agent, [self.sample({"a.b": 1}), self.sample({"a_b": 2}), self.sample({"proc.x": 1}, pid="1"),
                         self.sample({"proc.x": 1}, pid="2"), self.sample({"old": 1}, at=-3600)])
        self.put(agent, [{"timestamp": self.begin // 10**9, "hostname": "vm", "stack": "a;b", "value": 1}])
        row = agent.row("p", "prometheus")
        self.assertEqual(row["reasons"], {
            "another metric has the same exposed name": 1, "max_series or max_memory reached": 1,
            "older than what is exposed, or than max_age": 1, "prometheus has no form for stacks and spans": 1})
        self.assertEqual(row["out"], 2)
        self.assert_balanced(agent.status())
        agent.wait_line('metrics "a.b" and "a_b" would have the same name for Prometheus; the second is dropped')
        agent.wait_line("max_series or max_memory is reached")

    def test_a_real_host(self):
        agent = self.run_agent("""
        local a = require "atalaya"
        a.pipeline "host" { every = "1s", a.source.proc {}, a.sink.prometheus { listen = "127.0.0.1:0" } }""").running()
        agent.port = self.port(agent, 'sink "prometheus"')
        agent.wait_status(lambda status: agent.row("host", "prometheus", status)["out"] > 0)
        _, _, text = self.scrape(agent)
        values = [float(line.rsplit(" ", 1)[1]) for line in text.decode().splitlines() if not line.startswith("#")]
        self.assertGreater(len(values), 20)
        self.assertFalse(any(math.isnan(value) for value in values))
        names = [line.split("{")[0] for line in text.decode().splitlines() if not line.startswith("#")]
        self.assertIn("sys_mem_total", names)
        if shutil.which("promtool"):  # 3: it would have other names; 1: it cannot read the text
            checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
            self.assertIn(checked.returncode, (0, 3), checked.stderr)


if __name__ == "__main__":
    main()
