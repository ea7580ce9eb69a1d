# SPDX-License-Identifier: Apache-2.0
"""Large answers of serve: clients that read slowly get them in parts, and cost little memory."""

import http.client
import json
import os
import re
import shutil
import socket
import time

from harness import PATIENCE, main
from questions import T0, QueryCase, http as ask_http, status_of


class LargeAnswers(QueryCase):
    def put_many(self, series=70, seconds=1000):
        """Several parts, and more than the sockets hold."""
        for begin in range(0, seconds, 100):
            self.put([{"metric": "m", "timestamp": T0 + second, "value": (second * 7919 + one) % 1000 / 8, "tags": {"host": f"h{one:03}"}}
                      for second in range(begin, begin + 100) for one in range(series)])
        self.put([{"metric": "n", "timestamp": T0, "value": 1, "tags": {"host": "h"}}])
        queries = [{"metric": "m", "aggregator": "none"}] * 8
        return json.dumps({"start": T0 - 1, "end": T0 + seconds, "queries": queries}).encode()

    def slow_reader(self, base, body, path="/api/query"):
        """A client that has read the status, and no more."""
        host, port = base[len("http://"):].split(":")
        reader = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
        self.addCleanup(reader.close)
        reader.connect()
        reader.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        reader.request("POST", path, body, {"Content-Type": "application/json"})
        response = reader.getresponse()
        self.assertEqual(response.status, 200)
        return response

    def test_slow_readers_of_large_answers_get_them_in_parts_with_little_memory(self):
        body = self.put_many()
        base, process = self.serve_process("--request-timeout", "10m")
        headers = {"Content-Type": "application/json"}
        whole = ask_http(base + "/api/query", body, headers=headers)
        self.assertGreater(len(whole), 8 << 20)
        single = json.dumps(dict(json.loads(body), queries=[{"metric": "m", "aggregator": "none", "filters": [
            {"type": "literal_or", "tagk": "host", "filter": f"h{17:03}", "groupBy": False}]}])).encode()
        one = ask_http(base + "/api/query", single, headers=headers)  # small: whole
        self.assertIn(one[1:-1], whole)
        answers = json.loads(whole)
        self.assertEqual([(len(answers), answer["metric"], len(answer["dps"])) for answer in answers], [(560, "m", 1000)] * 560)
        readers = [self.slow_reader(base, body) for _ in range(30)]
        self.assertEqual(status_of(base + "/api/version"), 200)  # no worker waits for them
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
            resident = int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) << 10
        self.assertLess(resident, 30 * len(whole) // 2)
        for reader in readers:
            self.assertTrue(reader.read() == whole)  # assertEqual would take minutes to show a difference

    def test_a_hundred_clients_that_never_end_their_request_do_not_stop_the_others(self):
        base = self.serve()
        host, port = base[len("http://"):].split(":")
        for number in range(100):
            client = socket.create_connection((host, int(port)), PATIENCE)
            self.addCleanup(client.close)
            # Half of a line, of the head, or of a body.
            client.sendall((b"GET /api/page/in", b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept:", b"POST /api/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")[number % 3])
        self.assertIn(b"<html", ask_http(base + "/"))
        self.assertEqual(json.loads(ask_http(base + "/api/page/info"))["hosts"], ["host1", "host2"])

    def test_metrics_of_prometheus_in_parts_are_those_of_a_whole_answer(self):
        self.put_many()
        base = self.serve()
        ask = {"start": T0 - 5, "end": T0 + 1003, "step": 0.5}
        everything = self.get(base, "/api/v1/query_range", query="m", **ask)
        self.assertEqual(everything["status"], "success")
        result = everything["data"]["result"]
        self.assertEqual([series["metric"]["host"] for series in result], [f"h{one:03}" for one in range(70)])
        self.assertGreater(sum(len(series["values"]) for series in result), 140_000)
        for one in (0, 33, 69):
            self.assertEqual(self.get(base, "/api/v1/query_range", query=f'm{{host="h{one:03}"}}', **ask)["data"]["result"], [result[one]])

    def test_an_answer_that_cannot_be_finished_is_seen_to_be_cut_off(self):
        body = self.put_many()
        base, process = self.serve_process()
        reader = self.slow_reader(base, body)
        process.terminate()
        with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
            reader.read()
        # The store is lost while a client reads.
        self.agents[0].stop()
        copy = self.path("copy.db")
        shutil.copy(self.store, copy)
        base, process = self.serve_process(store=copy)
        reader = self.slow_reader(base, body)
        os.truncate(copy, 0)
        with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
            reader.read()
        self.assertEqual(status_of(base + "/health"), 200)
        # Errors that are known before the first part have a status.
        base, _ = self.serve_process()
        unknown = dict(json.loads(body))
        unknown["queries"].append({"metric": "no.such", "aggregator": "none"})
        self.assertEqual(status_of(base + "/api/query", body=json.dumps(unknown).encode(), headers={"Content-Type": "application/json"}), 400)

    def test_whole_answers_that_nobody_reads_are_limited(self):
        for part in range(10):
            stacks = [{"timestamp": T0 + 20, "hostname": "h", "value": 1, "stack": ";".join(f"{part * 1000 + one}-{'x' * 190}" for _ in range(5))}
                      for one in range(1000)]
            ask_http(self.hub + "/cpu", json.dumps(stacks).encode())
        base = self.serve("--max-answers", "1 MiB")
        path = f"/stacks/?start_time={T0}&end_time={T0 + 60}"
        self.assertGreater(len(ask_http(base + path)), 8 << 20)  # more than the sockets hold
        slow = self.slow_reader(base, b"", path)
        self.assertEqual(status_of(base + path), 503)
        self.assertEqual(status_of(base + "/api/version"), 200)
        slow.close()
        deadline = time.monotonic() + PATIENCE
        while status_of(base + path) == 503:  # until the server has seen the end
            self.assertLess(time.monotonic(), deadline)


if __name__ == "__main__":
    main()
