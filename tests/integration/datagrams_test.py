# SPDX-License-Identifier: Apache-2.0
"""Datagrams in the source receive: statsd's from its own client, collectd's from collectd itself."""

import json
import os
import shutil
import socket
import struct
import subprocess
import time
import unittest

from harness import PATIENCE, AgentCase, main
from http_servers import free_port

COLLECTD = shutil.which("collectd", path=os.environ["PATH"] + ":/usr/sbin")
STATSD_CLIENT = """
import sys
import statsd
client = statsd.StatsClient("127.0.0.1", int(sys.argv[1]), prefix="shop")
for _ in range(3):
    client.incr("orders", 2)
client.decr("orders")
client.gauge("queue", 7)
client.gauge("queue", 3, delta=True)
client.timing("pay", 320.5)
client.timing("pay", 79.5)
client.set("users", "ann")
client.set("users", "bob")
client.set("users", "ann")
"""


def has(module):
    return subprocess.run(["/usr/bin/python3", "-c", f"import {module}"], capture_output=True).returncode == 0


class DatagramCase(AgentCase):
    def hub(self, options):
        agent = self.run_agent(f"""
        local a = require "atalaya"
        a.pipeline "hub" {{
          a.source.receive {{ listen = "127.0.0.1:0", {options} }},
          a.sink.file {{ path = "{self.path("got")}", format = "samples" }},
          a.sink.sqlite {{ path = "{self.path("store.db")}" }},
        }}""").running()
        self.port = int(agent.wait_line("reading datagrams on ").rsplit(":", 1)[1])
        return agent

    def send(self, datagram):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(datagram, ("127.0.0.1", self.port))

    def samples(self):
        if not os.path.exists(self.path("got")):
            return []
        with open(self.path("got")) as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    def wait(self, condition):
        until = time.monotonic() + PATIENCE
        while not condition(found := self.samples()):
            self.assertLess(time.monotonic(), until, found)
            time.sleep(0.02)
        return found

    def kinds(self):
        done = subprocess.run(["sqlite3", self.path("store.db"), "SELECT name, kind FROM metrics"], capture_output=True, text=True, check=True)
        return dict(line.split("|") for line in done.stdout.splitlines())


class Statsd(DatagramCase):
    OPTIONS = 'statsd = "127.0.0.1:0", statsd_window = "200ms"'

    @unittest.skipUnless(has("statsd"), "needs python3-statsd")
    def test_its_own_client(self):
        agent = self.hub(self.OPTIONS)
        subprocess.run(["/usr/bin/python3", "-c", STATSD_CLIENT, str(self.port)], check=True, timeout=PATIENCE)
        sums = self.wait(lambda found: sum(sample["fields"].get("shop.pay.count", 0) for sample in found) == 2 and
                         sum(sample["fields"].get("shop.orders", 0) for sample in found) == 5)
        fields = {}
        for sample in sums:
            self.assertGreater(sample["duration"], 0)
            for name, value in sample["fields"].items():
                fields.setdefault(name, []).append(value)
        self.assertEqual(fields["shop.queue"][-1], 10)
        self.assertEqual(sum(fields["shop.pay.sum"]), 400)
        self.assertEqual((min(fields["shop.pay.min"]), max(fields["shop.pay.max"])), (79.5, 320.5))
        if len(fields["shop.users"]) == 1:  # all in one window
            self.assertEqual(fields["shop.users"], [2])
        self.assertEqual(agent.stop(), 0, agent.errors())
        kinds = self.kinds()
        self.assertEqual((kinds["shop.orders"], kinds["shop.queue"]), ("delta", "gauge"))

    def test_every_count_arrives_once_whatever_the_windows(self):
        agent = self.hub('statsd = "127.0.0.1:0", statsd_window = "100ms"')
        for number in range(2000):
            self.send(b"hits:1|c|@0.5|#route:/a,env:x\nhits:1|c|#route:/b")
            if number % 100 == 0:  # within the socket's buffer, at any speed of the reader
                wanted = 2 * (number + 1)
                self.wait(lambda found: self.total(found, "/a") == wanted)
        found = self.wait(lambda found: self.total(found, "/b") == 2000)
        self.assertEqual(self.total(found, "/a"), 4000)
        self.assertEqual({sample["tags"].get("env") for sample in found if sample["tags"]["route"] == "/a"}, {"x"})
        for sample in found:
            self.assertEqual(sample["time"] % 100_000_000, 0)
        self.assert_balanced(agent.status())
        self.assertEqual(agent.row("hub", "receive")["dropped"], 0)

    def total(self, found, route):
        return sum(sample["fields"]["hits"] for sample in found if sample["tags"]["route"] == route)

    def test_an_agent_that_is_stopped_keeps_each_datagram_that_arrived(self):
        for number in range(1, 4):
            agent = self.hub('statsd = "127.0.0.1:0", statsd_window = "1h"')
            for _ in range(100):
                self.send(b"hits:1|c|#route:/a\npay:2|ms")
            self.assertEqual(agent.stop(), 0, agent.errors())  # the window is open, and some datagrams wait in the socket
            found = self.samples()
            self.assertEqual(sum(sample["fields"].get("hits", 0) for sample in found), 100 * number)
            self.assertEqual(sum(sample["fields"].get("pay.sum", 0) for sample in found), 200 * number)

    def test_malformed_lines_are_counted_and_the_others_kept(self):
        agent = self.hub(self.OPTIONS)
        bad = [b"x", b":1|c", b"x:|c", b"x:1", b"x:1|q", b"x:a|c", b"x:nan|g", b"x:1|c|@0", b"x:1|c|@2", b"x:1e999|g", b"x" * 2000 + b":1|c", b"ok:1|g"]
        self.send(b"ok:1|c\n" + b"\n".join(bad) + b"\nok:2|c\r\n")
        found = self.wait(len)
        self.assertEqual([sample["fields"] for sample in found], [{"ok": 3}])
        self.assertEqual(agent.row("hub", "receive")["dropped"], len(bad))  # the last one changes the type

    def test_a_public_address_needs_open(self):
        agent = self.run_agent(f"""
        local a = require "atalaya"
        a.pipeline "hub" {{ a.source.receive {{ listen = "127.0.0.1:0", statsd = "*:0" }}, a.sink.file {{ path = "{self.path("got")}" }} }}""")
        agent.wait_line("can be reached from other hosts")


class Collectd(DatagramCase):
    @unittest.skipUnless(COLLECTD, "needs collectd-core")
    def test_collectd_itself_through_restarts_of_both(self):
        port = free_port()
        config = self.path("collectd.conf")
        with open(config, "w") as file:
            file.write(f"""
Hostname "h1"
BaseDir "{self.folder}"
PIDFile "{self.path("pid")}"
TypesDB "/usr/share/collectd/types.db"
Interval 1
LoadPlugin load
LoadPlugin interface
LoadPlugin network
LoadPlugin csv
<Plugin csv>
  DataDir "{self.path("csv")}"
</Plugin>
<Plugin network>
  Server "127.0.0.1" "{port}"
</Plugin>
""")
        found = []
        for _ in range(2):
            agent = self.hub(f'collectd = "127.0.0.1:{port}"')
            with subprocess.Popen([COLLECTD, "-f", "-C", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as collectd:
                before = len(self.loads(found))
                self.wait(lambda found: len(self.loads(found)) >= before + 3)
                collectd.terminate()
                collectd.wait(PATIENCE)
            self.assertEqual(agent.stop(), 0, agent.errors())  # with what collectd sent at its end
            found = self.samples()
        self.assert_same(found)
        kinds = self.kinds()
        self.assertEqual((kinds["load.load.shortterm"], kinds["interface.if_octets.rx"]), ("gauge", "total"))

    @staticmethod
    def loads(found):
        return [sample for sample in found if "load.load.shortterm" in sample["fields"]]

    def assert_same(self, found):
        """All values that collectd itself wrote to its files arrived, at the same times, and no others."""
        loads, octets = {}, {}
        for sample in found:
            self.assertEqual(sample["tags"]["host"], "h1")
            second = round(sample["time"] / 1e9)
            if "load.load.shortterm" in sample["fields"]:
                self.assertEqual(sample["duration"], 10**9)
                values = [sample["fields"]["load.load." + name] for name in ("shortterm", "midterm", "longterm")]
                loads.setdefault(second, []).append([f"{value:.6f}" for value in values])
            if "interface.if_octets.rx" in sample["fields"] and sample["tags"]["instance"] == "lo":
                octets.setdefault(second, []).append([str(sample["fields"]["interface.if_octets." + name]) for name in ("rx", "tx")])
        self.assertEqual(octets, self.csv("interface-lo/if_octets"))
        self.assertEqual(loads, {second: [[f"{float(value):.6f}" for value in row] for row in rows]
                                 for second, rows in self.csv("load/load").items()})

    def csv(self, name):
        """{second: rows of values as text} of collectd's own files."""
        rows = {}
        folder, kind = os.path.split(os.path.join(self.path("csv"), "h1", name))
        for file_name in os.listdir(folder):
            if file_name.startswith(kind):
                with open(os.path.join(folder, file_name)) as file:
                    for line in list(file)[1:]:
                        at, *values = line.strip().split(",")
                        rows.setdefault(round(float(at)), []).append(values)
        return rows

    def test_malformed_datagrams_are_counted_and_the_others_kept(self):
        def part(kind, payload):
            return struct.pack(">HH", kind, 4 + len(payload)) + payload

        def text(kind, value):
            return part(kind, value + b"\0")
        good = (text(0, b"h") + part(8, struct.pack(">Q", 1_700_000_000 << 30)) + part(9, struct.pack(">Q", 10 << 30)) + text(2, b"cpu") +
                text(3, b"0") + text(4, b"cpu") + text(5, b"idle"))
        value = part(6, struct.pack(">HB", 1, 2) + struct.pack(">q", -5))
        agent = self.hub('collectd = "127.0.0.1:0"')
        bad = [b"\0", b"\0\0\0\3", b"\0\6\0\xff12", good + part(6, b"\0\1\2"), good + part(6, struct.pack(">HB", 2, 2) + b"\0" * 8), value,
               good + part(0x210, b"secret"), good + part(6, struct.pack(">HB", 1, 9) + b"\0" * 8), text(0, b"h" * 300) + value]
        for datagram in bad:
            self.send(datagram)
        self.send(good + part(0x100, b"a notification\0") + value)
        found = self.wait(len)
        self.assertEqual(found, [{"kind": "metrics", "time": 1_700_000_000 * 10**9, "duration": 0,
                                  "tags": {"host": "h", "instance": "0", "type_instance": "idle"}, "fields": {"cpu.cpu": -5}}])
        agent.wait_status(lambda status: agent.row("hub", "receive", status)["dropped"] == len(bad))


if __name__ == "__main__":
    main()
