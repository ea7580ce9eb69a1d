# SPDX-License-Identifier: Apache-2.0
"""Requests that a page of another site makes a browser send, and requests whose body has two lengths: every server refuses them."""

import json
import os
import socket
import subprocess
import unittest

from harness import BINARY, PATIENCE, AgentCase, main

POINT = json.dumps({"metric": "m", "timestamp": 1_700_000_000, "value": 1, "tags": {"host": "h"}})


def answers(address, request):
    """All bytes until the server closes the connection."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        connection.sendall(request.encode())
        connection.shutdown(socket.SHUT_WR)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts).decode()


def request(method, path, body="", connection="close", **headers):
    given = {"Content_Type": "text/plain", "Connection": connection, **headers}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name.replace('_', '-')}: {value}" for name, value in given.items())]
    return "\r\n".join(lines) + "\r\n\r\n" + body


class ForeignRequests(AgentCase):
    def setUp(self):
        super().setUp()
        store = self.path("store.db")
        agent = self.run_agent(f'''local a = require "atalaya"
            a.pipeline "hub" {{ a.source.receive {{ listen = "127.0.0.1:0" }}, a.sink.sqlite {{ path = "{store}" }} }}
            a.pipeline "scraped" {{ every = "1s", a.source.self {{}}, a.sink.prometheus {{ listen = "127.0.0.1:0" }} }}''')
        agent.wait_line("listening on", 2)
        lines = [line for line in agent.lines if line and "listening on" in line]
        address = {("receive" if "receive" in line else "prometheus"): line.split("listening on ")[1].split()[0] for line in lines}
        serve = subprocess.Popen([BINARY, "serve", "--store", store, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, serve)
        line = serve.stderr.readline()
        while "serving on " not in line:
            line = serve.stderr.readline()
        address["serve"] = line.split("serving on ")[1].split()[0]
        self.servers = [(address["receive"], "POST", "/api/put"), (address["prometheus"], "GET", "/metrics"),
                        (address["serve"], "POST", "/api/query")]

    @staticmethod
    def end(process):
        process.terminate()
        process.wait(PATIENCE)
        process.stderr.close()

    def check(self, status, make):
        for address, method, path in self.servers:
            with self.subTest(server=path):
                given = answers(address, make(address, method, path))
                self.assertEqual(given.count("HTTP/1.1 "), 1, given)
                self.assertIn(f"HTTP/1.1 {status} ", given)

    def test_names_of_other_sites(self):
        self.check(403, lambda address, method, path: request(method, path, POINT, Host="rebound.example", Content_Length=len(POINT)))

    def test_posts_of_pages_of_other_sites(self):
        for origin in ("http://evil.example", "null", "https://127.0.0.1.evil.example"):
            self.check(403, lambda address, method, path: request(
                "POST", path, POINT, Host=address, Content_Length=len(POINT), Origin=origin))

    def test_bodies_with_two_lengths_end_the_connection(self):
        second = request("GET", "/health", Host="localhost")
        chunked = "0\r\n\r\n" + second
        self.check(400, lambda address, method, path: request(
            method, path, chunked, "keep-alive", Host=address, Content_Length=len(chunked), Transfer_Encoding="chunked"))
        self.check(400, lambda address, method, path: request(
            method, path, "ab" + second, "keep-alive", Host=address, Content_Length="2\r\nContent-Length: " + str(2 + len(second))))

    def test_own_requests_are_answered(self):
        address, method, path = self.servers[0]
        for host in (address, "localhost:1", "[::1]:4242"):
            self.assertIn("HTTP/1.1 204 ", answers(address, request(method, path, POINT, Host=host, Content_Length=len(POINT))))
        own = request(method, path, POINT, Host=address, Content_Length=len(POINT), Origin="http://" + address)
        self.assertIn("HTTP/1.1 204 ", answers(address, own))


if __name__ == "__main__":
    main()
