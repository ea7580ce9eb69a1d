# SPDX-License-Identifier: Apache-2.0
"""./dev soak hub [KILLS]: a hub with its store, and an agent that sends to it with a spool, are killed at random moments, 1,000 times
by default, under honest senders and after about ten hostile requests per life of the hub. Each point that the hub or the agent has
acknowledged can be read at the end, once, and memory stays within its limit. `./dev test --full` runs it, too. ATALAYA_SEED repeats
the choices of a run, not its moments."""

import gzip
import http.client
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
import unittest
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
from harness import BINARY, PATIENCE, Agent, main  # noqa: E402
from http_servers import free_port  # noqa: E402
from receive_test import TIME, Client, Hub, point  # noqa: E402

KILLS = int(os.environ.get("ATALAYA_HUB_KILLS", "1000"))
UNTIL = time.monotonic() + float(os.environ.get("ATALAYA_HUB_SECONDS", "inf"))  # fewer kills on a slow machine
HOSTILE = 10  # per life, on average
SENDERS = 3
MEMORY = 512 << 10  # KiB, of max_decoded, max_waiting and the batches in flight together

SEED = int(os.environ.get("ATALAYA_SEED", random.SystemRandom().randrange(1 << 32)))
# It acknowledges what is in its spool.
AGENT = """local a = require "atalaya"
a.pipeline "far" {{
  a.source.receive {{ listen = "127.0.0.1:0", store_timeout = "50s" }},
  a.sink.http {{ url = "http://127.0.0.1:{port}", format = "flat", timeout = "2s", retry_max = "200ms",
    spool = {{ dir = "spool", min_free = "0 B", sync = "20ms" }} }},
}}"""


def request(body, *headers, path="/api/put"):
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def sized(body, *headers, path="/api/put"):
    return request(body, f"Content-Length: {len(body)}", *headers, path=path)


class Hostile:
    """Bytes that a stranger may send."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.forms = [self.noise, self.cut, self.bomb, self.corrupt, self.two_lengths, self.length_and_chunks, self.nested, self.many_tags,
                      self.unique_names, self.unique_series, self.long_texts, self.flat, self.header, self.endless_chunk, self.mutated, self.lines]

    def next(self):
        return self.random.choice(self.forms)()

    def bytes(self, size):
        return self.random.randbytes(size)

    def noise(self):
        return self.bytes(self.random.randrange(1, 4000))

    def cut(self):
        return request(b'[{"metric":', "Content-Length: 1000000")

    def bomb(self):
        packed = gzip.compress(b" " * (80 << 20), 9) if self.random.random() < 0.2 else zlib.compress(b"[" * (1 << 20), 9)
        return sized(packed, "Content-Encoding: " + ("gzip" if packed[:2] == b"\x1f\x8b" else "deflate"))

    def corrupt(self):
        return sized(self.bytes(500), "Content-Encoding: " + self.random.choice(["gzip", "deflate", "zstd"]))

    def two_lengths(self):
        return request(b"[]" + b"x" * 20, "Content-Length: 2", "Content-Length: 22")

    def length_and_chunks(self):
        return request(b"0\r\n\r\n", "Content-Length: 50", "Transfer-Encoding: chunked")

    def nested(self):
        depth = self.random.randrange(10, 200_000)
        return sized(b'{"metric":' * depth + b"[" * depth)

    def many_tags(self):
        tags = {f"t{number}": "v" for number in range(self.random.choice([1000, 1024, 1025, 5000]))}
        return sized(json.dumps([{**point("many", 1), "tags": tags}] * 20).encode())

    def unique_names(self):
        return sized(json.dumps([point(f"n{self.random.getrandbits(64):x}", 1) for _ in range(200)]).encode())

    def unique_series(self):
        return sized(json.dumps([point("u", 1, host=f"{self.random.getrandbits(64):x}") for _ in range(2000)]).encode())

    def long_texts(self):
        return sized(json.dumps([point("x" * self.random.randrange(1000, 100_000), 1, host="y" * 100_000)]).encode())

    def flat(self):
        return sized(self.bytes(self.random.randrange(4, 5000)), path="/api/flat")

    def header(self):
        return sized(b"[]", "X: " + "y" * self.random.randrange(100, 100_000))

    def endless_chunk(self):
        return request(b"ffffffff\r\n" + self.bytes(1000), "Transfer-Encoding: chunked")

    def mutated(self):
        body = bytearray(json.dumps([point("m", number, host="stranger") for number in range(20)]).encode())
        for _ in range(self.random.randrange(1, 10)):
            body[self.random.randrange(len(body))] = self.random.randrange(256)
        return sized(bytes(body))

    def lines(self):
        return sized(b"\n".join(self.random.choice([b"{}", b'{"kind":"span"}', b'{"span":"s","start":1,"end":-5}', b"\xff"])
                                for _ in range(50)), path="/api/jsonlines")


class Kills(Hub):
    @unittest.skipUnless("ATALAYA_FULL" in os.environ or "ATALAYA_HUB_KILLS" in os.environ, "takes 20 minutes: ./dev test --full")
    def test_each_acknowledged_point_is_readable(self):
        print(f"seed {SEED}", flush=True)
        self.random, self.hostile = random.Random(SEED), Hostile(SEED)
        self.confirmed, self.unsure, self.guard = set(), set(), threading.Lock()
        self.most, self.sent, self.kills_of_far, self.port = 0, 0, 0, free_port()
        os.mkdir(self.path("far"))
        self.far, sender = self.start_far(), None
        for life in range(KILLS):
            if time.monotonic() > UNTIL:
                break
            hub = self.start_hub()
            if sender is None:
                sender = self.send_to_far()
            self.live(hub, life)
            if self.random.random() < 0.25:
                self.kill_far(sender)
                sender = None
            self.kills = life + 1
            if self.kills % 50 == 0:
                print(f"{self.kills} kills of the hub, {self.kills_of_far} of the agent, {self.sent} hostile requests, {len(self.confirmed)} points "
                      f"acknowledged, RSS at most {self.most >> 10} MiB", flush=True)
        if sender is not None:
            self.kill_far(sender)
        self.start_hub()
        self.far.wait_status(lambda status: all(row["queued"] == 0 for row in status["ledger"]))
        self.read_back()
        self.assertLess(self.most, MEMORY)

    def start_hub(self):
        self.store = self.path("store.db")
        hub = self.run_agent(f"""local a = require "atalaya"
            a.pipeline "hub" {{ a.source.receive {{ listen = "127.0.0.1:{self.port}", store_timeout = "50s", strict = false }},
                                a.sink.sqlite {{ path = "{self.store}" }} }}""").running()
        hub.port = self.port
        return hub

    def start_far(self):
        far = Agent(self.path("far"), AGENT.format(port=self.port)).running()
        self.agents.append(far)
        far.port = int(far.wait_line("listening on").split("listening on ")[1].split()[0].rsplit(":", 1)[1])
        return far

    def send_to_far(self):
        """A sender until the agent is gone."""
        sender = threading.Thread(target=self.send, args=(self.far.port, f"far{self.kills_of_far}", 0, threading.Event(), 0.005))
        sender.start()
        return sender

    def kill_far(self, sender):
        self.kill(self.far)
        sender.join(PATIENCE)
        self.assertFalse(sender.is_alive())
        self.kills_of_far += 1
        self.far = self.start_far()

    def kill(self, agent):
        """Notes the most memory that it had, in KiB."""
        with open(f"/proc/{agent.process.pid}/status") as status:
            self.most = max(self.most, next(int(line.split()[1]) for line in status if line.startswith("VmHWM")))
        self.assertIsNone(agent.process.poll(), "it ended by itself")
        agent.kill()
        self.agents.remove(agent)

    def live(self, hub, life):
        """One life of the hub, up to its kill."""
        busy, attacked = threading.Event(), threading.Event()
        threads = [threading.Thread(target=self.send, args=(hub.port, life, number, busy)) for number in range(SENDERS)]
        threads.append(threading.Thread(target=self.attack, args=(hub.port, self.random.randrange(2 * HOSTILE + 1), attacked)))
        for thread in threads:
            thread.start()
        self.assertTrue(busy.wait(PATIENCE))
        self.assertTrue(attacked.wait(PATIENCE))
        time.sleep(self.random.random() * 0.02)  # any moment of a request or a commit
        self.kill(hub)
        for thread in threads:
            thread.join(PATIENCE)
            self.assertFalse(thread.is_alive())

    def send(self, port, life, number, busy, pause=0):
        """Points of one host, one request after the other, until the hub or agent is gone."""
        host, window = f"r{life}h{number}", 0
        client = Client(port, source="127.0.0.3")
        try:
            while True:
                one = (host, (TIME + window) * 1000, window)
                with self.guard:
                    self.unsure.add(one)
                status = client.put([point("m", window, TIME + window, host=host)])[0]
                self.assertIn(status, (204, 429, 503))
                if status == 204:
                    with self.guard:
                        self.confirmed.add(one)
                busy.set()
                window += 1
                time.sleep(pause)
        except (OSError, http.client.HTTPException):
            pass
        finally:
            client.close()

    def attack(self, port, count, attacked):
        """Sends that many requests, each to its answer, its end or a timeout, then more until the hub is gone."""
        for number in range(10 * HOSTILE):
            if number == count:
                attacked.set()
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=0.3, source_address=("127.0.0.2", 0)) as stranger:
                    self.sent += 1
                    stranger.sendall(self.hostile.next())
                    while stranger.recv(65536):
                        pass
            except ConnectionRefusedError:
                break
            except OSError:
                continue
        attacked.set()

    def read_back(self):
        command = [BINARY, "query", "--store", self.store, "--metric", "m", "--from", str(TIME - 10), "--to", str(TIME + 100_000),
                   "--aggregate", "none", "--group-by", "host", "--format", "json"]
        self.assertGreater(sum(host.startswith("rfar") for host, _, _ in self.confirmed), self.kills_of_far)
        series = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        found = []
        for one in series:
            for at, value in one["dps"]:
                found.append((one["tags"]["host"], int(at), int(value)))
        kept = {one for one in found if one[0].startswith("r")}
        print(f"{self.kills} kills of the hub, {self.kills_of_far} of the agent, {self.sent} hostile requests, RSS at most {self.most >> 10} MiB")
        print(f"{len(self.confirmed)} acknowledged, {len(kept)} readable, {len(self.confirmed - kept)} lost, "
              f"{len(kept - self.confirmed)} stored before the kill but not acknowledged")
        self.assertEqual(self.confirmed - kept, set())
        self.assertEqual(kept - self.unsure, set())
        self.assertLessEqual(len(kept - self.confirmed), SENDERS * self.kills + self.kills_of_far)
        self.assertEqual(len([one for one in found if one[0].startswith("r")]), len(kept))


if __name__ == "__main__":
    main()
