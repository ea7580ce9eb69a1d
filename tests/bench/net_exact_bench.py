# SPDX-License-Identifier: Apache-2.0
"""Accuracy of the source net, and its cost with many connections: next to the counts of programs and an interface's counters,
at 1 to as many connections a second as can be made, with more flows than are kept, and with 10,000 open sockets.

net_exact_bench.py ATALAYA CONNECTION_STORM
"""

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import net_tools
from bench_tools import Ended, cpu_ns, resident_mib, running, spread, verdict
from net_tools import iperf3, open_sockets, watch_windows

ATALAYA = os.path.abspath(sys.argv[1])
STORM = os.path.abspath(sys.argv[2])


def agent(parameters="", every=1):
    return net_tools.agent(ATALAYA, parameters, every)


def many_sockets():
    with open_sockets(5000) as ends:
        with agent() as one:
            time.sleep(2)
            idle = watch_windows(one.process.pid, 20)
            busy = []
            for _ in range(5):
                before = cpu_ns(one.process.pid)
                until = time.monotonic() + 1
                for client, server in ends:
                    client.send(b"x" * 100)
                    server.recv(100)
                time.sleep(max(0, until - time.monotonic()))
                busy.append((cpu_ns(one.process.pid) - before) / 1e6)
        met = verdict(statistics.median(idle) <= 10)
        print(f"10,000 open sockets, idle: {spread(idle)} ms a window of 1 s; goal at most 1 % of a core: {met}")
        print(f"10,000 open sockets, each used in the window: {spread(busy)} ms a window")
        if not shutil.which("nethogs"):
            print("nethogs is not installed: left out")
            return
        with contextlib.suppress(Ended), running(["nethogs", "-t", "-a", "-d", "1"]) as process:
            time.sleep(3)
            print(f"10,000 open sockets, nethogs: {spread(watch_windows(process.pid, 5))} ms a window", flush=True)


def made_by_storm(seconds, rate):
    return json.loads(subprocess.run([STORM, str(seconds), str(rate)], capture_output=True, check=True).stdout)


def storm(seconds, every, rate):
    """This number of connections a second, or the maximum of this host: the reported share of them."""
    with agent("", every) as one:
        before = cpu_ns(one.process.pid)
        said = made_by_storm(seconds, rate)
        cpu = (cpu_ns(one.process.pid) - before) / 1e6
        one.finish()
        connects, accepts = one.sum("proc.net.tcp.connects", process="bench-maker"), one.sum("proc.net.tcp.accepts", process="bench-taker")
        sent = one.sum("flow.out.bytes", process="bench-maker", port=str(said["port"]))
        taken = one.sum("flow.in.bytes", process="bench-taker", port=str(said["port"]))
        lost = one.sum("proc.net.lost")
    count = said["connections"]
    print(f"{count / said['seconds']:.0f} connections a second (of {rate}), windows of {every} s: {connects / count:.4%} of connects, "
          f"{accepts / count:.4%} of accepts, {sent / (100 * count):.4%} of bytes sent and {taken / (100 * count):.4%} received reported, "
          f"{lost} lost; agent {cpu / count * 1000:.1f} us a connection, {cpu / said['seconds'] / 10:.1f} % of a core", flush=True)


def more_flows_than_are_kept():
    """50,000 connections in a window, both ends of each a separate flow."""
    with agent('ports = "all", max_flows = 10000, calls = 262144', 5) as one:
        before = resident_mib(one.process.pid)
        said = made_by_storm(11, 10_000)
        one.finish()
        after = resident_mib(one.process.pid)
        sent = sum(one.sum("flow.out.bytes", process=name) for name in ("bench-maker", "bench-taker", "other"))
        merged, lost = one.sum("flow.merged"), one.sum("proc.net.lost")
        windows = {}
        for sample in one.samples():
            if "flow.out.bytes" in sample["fields"]:
                reported, together = windows.get(sample["time"], (0, 0))
                windows[sample["time"]] = reported + 1, together + sample["fields"].get("flow.merged", 0)
    most = max(reported - 1 + together for reported, together in windows.values())
    print(f"a window of up to {most} flows: at most {max(reported for reported, _ in windows.values())} reported, {merged} of all in `other`, "
          f"{sent / (100 * said['connections']):.4%} of bytes, {lost} lost; resident {before:.0f} to {after:.0f} MiB", flush=True)


def compare(title, moved, reported):
    print(f"{title}: {moved} bytes, net says {(reported / moved - 1) * 100:+.4f} %", flush=True)


def compare_with_iperf3(one, name, run, **tags):
    """At its end it leaves some of its data unread: the true amount is between the numbers of its two ends."""
    for end, way, said in (("sender", "out", run.sent), ("receiver", "in", run.received)):
        reported = one.sum(f"flow.{way}.bytes", port=str(run.port), direction=way, **tags)
        off = (reported / min(max(reported, run.received), run.sent) - 1) * 100
        print(f"iperf3, {name}, {end}: {said} bytes, net says {(reported / said - 1) * 100:+.4f} %; {off:+.4f} % beyond the range of both ends",
              flush=True)


def compare_with_programs():
    with agent("udp = true") as one:
        tcp = iperf3("-n", "1G")
        udp = iperf3("-u", "-b", "100M", "-l", "1400", "-n", "25M")
        taken, given, port = fetched(300)
        one.finish()
        compare_with_iperf3(one, "TCP", tcp, protocol="tcp")
        compare_with_iperf3(one, "UDP", udp, protocol="udp")
        compare("300 pages by curl", taken, one.sum("flow.in.bytes", process="curl", port=port))
        compare("requests of curl", given, one.sum("flow.out.bytes", process="curl", port=port))


def fetched(pages):
    """By curl, one connection each: bytes of answers with their headers, of requests, and the port."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "page"), "wb") as file:
            file.write(b"p" * 54_321)
        port = str(net_tools.free_port())
        words = [sys.executable, "-m", "http.server", port, "--bind", "127.0.0.1", "--directory", folder]
        taken = given = 0
        with running(words):
            for _ in range(pages):
                said = subprocess.run(["curl", "-s", "--retry", "50", "--retry-connrefused", "--retry-delay", "1", "-o", os.devnull, "-w",
                                       "%{size_download} %{size_header} %{size_request}", f"http://127.0.0.1:{port}/page"],
                                      capture_output=True, check=True).stdout.split()
                taken += int(said[0]) + int(said[1])
                given += int(said[2])
    return taken, given, port


class TwoHosts:
    """Two network namespaces on a bridge. Traffic to the second passes a slow link with a short queue behind the first one's
    interface, so that some is lost after it was counted there and is sent again. A packet is a segment: nothing is segmented below."""

    ADDRESSES = ("10.211.7.1", "10.211.7.2")

    def __init__(self, stack):
        self.bridge = f"atlb{os.getpid() % 100000}"
        self.spaces = [f"{self.bridge}n{i}" for i in range(2)]
        ip("link", "add", self.bridge, "type", "bridge")
        stack.callback(ip, "link", "del", self.bridge)
        ip("link", "set", self.bridge, "up")
        for number, (space, address) in enumerate(zip(self.spaces, self.ADDRESSES)):
            link = f"{self.bridge}v{number}"
            ip("netns", "add", space)
            stack.callback(ip, "netns", "del", space)
            ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space)
            ip("link", "set", link, "master", self.bridge, "up")
            for words in (["link", "set", "eth0", "gso_max_segs", "1"], ["addr", "add", address + "/24", "dev", "eth0"],
                          ["link", "set", "eth0", "up"], ["link", "set", "lo", "up"]):
                ip("-n", space, *words)
        subprocess.run(["tc", "qdisc", "add", "dev", f"{self.bridge}v1", "root", "tbf", "rate", "200mbit", "burst", "64kb",
                        "limit", "64kb"], check=True)

    def inside(self, number):
        return ["ip", "netns", "exec", self.spaces[number]]

    def counted(self, number, way):
        path = f"/sys/class/net/eth0/statistics/{way}_bytes"
        return int(subprocess.run([*self.inside(number), "cat", path], capture_output=True, check=True, text=True).stdout)

    def number_of(self, number):
        return subprocess.run([*self.inside(number), "stat", "-L", "-c", "%i", "/proc/self/ns/net"], capture_output=True, check=True,
                              text=True).stdout.strip()


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


ETHERNET, IPV4, TCP_WITH_TIME, UDP = 14, 20, 32, 8
# Each ends its connections in order: iperf3 resets them, with unacknowledged segments on their way.
SERVER = """import socket, sys, threading
server, datagrams = socket.create_server((sys.argv[1], 0), backlog=64), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.bind(server.getsockname())
def receive():
    while datagrams.recv(2000):
        pass
threading.Thread(target=receive, daemon=True).start()
print(server.getsockname()[1], flush=True)
while True:
    with server.accept()[0] as connection:
        while connection.recv(1 << 16):
            pass
"""
CLIENT = """import socket, sys, time
address, port, connections, size, datagrams = sys.argv[1], *map(int, sys.argv[2:])
for _ in range(connections):
    with socket.create_connection((address, port)) as connection:
        connection.sendall(b"x" * size)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
    for _ in range(datagrams):
        connection.sendto(b"u" * 1400, (address, port))
        time.sleep(0.0002)
"""


def compare_with_an_interface():
    """All processes of a host together: long transfers that lose segments, short connections, datagrams."""
    with contextlib.ExitStack() as stack:
        hosts = TwoHosts(stack)
        one = stack.enter_context(agent("udp = true"))
        before = [hosts.counted(0, "tx"), hosts.counted(1, "rx")]
        server = stack.enter_context(subprocess.Popen([*hosts.inside(1), sys.executable, "-c", SERVER, hosts.ADDRESSES[1]],
                                                      stdout=subprocess.PIPE, text=True))
        stack.callback(server.kill)
        port = server.stdout.readline().strip()
        clients = [subprocess.Popen([*hosts.inside(0), sys.executable, "-c", CLIENT, hosts.ADDRESSES[1], port, *words])
                   for words in (("3", "30000000", "0"), ("500", "20000", "0"), ("0", "0", "10000"))]
        for client in clients:
            client.wait()
        one.finish()
        interfaces = [after - each for after, each in zip((hosts.counted(0, "tx"), hosts.counted(1, "rx")), before)]
        for name, way, number, interface in (("sent by the first host", "out", 0, interfaces[0]),
                                             ("received by the second", "in", 1, interfaces[1])):
            compare_with_interface(one, name, way, hosts.number_of(number), interface)


def compare_with_interface(one, name, way, space, interface):
    def flow_sum(name_of_field, protocol):
        return one.sum(f"flow.{name_of_field}", netns=space, protocol=protocol)
    payload = flow_sum(f"{way}.bytes", "tcp") + flow_sum(f"{way}.bytes", "udp")
    # A packet lost on its way is counted by the interface that it left, and does not reach the other one.
    again = flow_sum("retransmits", "tcp") if way == "out" else 0
    headers = flow_sum(f"{way}.packets", "tcp") * (ETHERNET + IPV4 + TCP_WITH_TIME) + flow_sum(f"{way}.packets", "udp") * (ETHERNET + IPV4 + UDP)
    whole = payload + headers + again * (1500 - IPV4 - TCP_WITH_TIME)
    print(f"{name}: interface {interface} bytes; processes together {payload}, with headers {payload + headers}, with {again} segments "
          f"sent again {whole}: {(whole / interface - 1) * 100:+.3f} %", flush=True)


def main():
    if not shutil.which("iperf3") or not shutil.which("curl"):
        sys.exit("iperf3 or curl is not installed: nothing to compare with")
    compare_with_programs()
    compare_with_an_interface()
    for rate, seconds in ((1, 20), (100, 10), (1000, 5), (10_000, 5), (100_000, 5)):
        storm(seconds, 1, rate)
    storm(12, 5, 10_000)
    more_flows_than_are_kept()
    many_sockets()


main()
