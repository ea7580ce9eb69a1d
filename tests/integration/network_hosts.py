# SPDX-License-Identifier: Apache-2.0
"""Hosts in network namespaces, joined by a bridge; their traffic passes links of a given rate."""

import os
import subprocess


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"


class NetworkHosts:
    """Names are of this process; remove() removes all. The test itself is at `gateway`."""

    def __init__(self, hosts, rate):
        self.hosts = list(hosts)
        self.tag = f"atl{os.getpid()}"
        self.network = f"10.{100 + os.getpid() % 100}.{os.getpid() // 100 % 250}"
        self.gateway = f"{self.network}.254"
        self.remove()  # leftovers of a killed one with the same number
        try:
            self._make(rate)
        except BaseException:
            self.remove()
            raise

    def _make(self, rate):
        ip("link", "add", self.tag, "type", "bridge")
        ip("addr", "add", f"{self.gateway}/24", "dev", self.tag)
        ip("link", "set", self.tag, "up")
        for host in self.hosts:
            self._add(self.space(host), self.link(host), self.address(host))
            self.limit(host, rate)

    def _add(self, space, link, address):
        ip("netns", "add", space)
        ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space)
        ip("link", "set", link, "master", self.tag, "up")
        for words in (["addr", "add", address + "/24", "dev", "eth0"], ["link", "set", "eth0", "up"], ["link", "set", "lo", "up"]):
            ip("-n", space, *words)

    def limit(self, host, rate, direction="out"):
        """Traffic that the host sends, or ("in") receives."""
        where = ["-n", self.space(host)] if direction == "out" else []
        device = "eth0" if direction == "out" else self.link(host)
        subprocess.run(["tc", *where, "qdisc", "replace", "dev", device, "root", "tbf", "rate", rate, "burst", "256kb",
                        "latency", "200ms"], check=True, capture_output=True)

    def space(self, host):
        return f"{self.tag}{host}"

    def link(self, host):
        return f"{self.tag}v{self.hosts.index(host)}"

    def address(self, host):
        return f"{self.network}.{self.hosts.index(host) + 1}"

    def inside(self, host):
        return ["nsenter", f"--net=/run/netns/{self.space(host)}"]

    def remove(self):
        """Removes existing parts. Links first: the kernel takes those of a namespace away some time after it, and the next one has the same names."""
        for host in self.hosts:
            for words in ("link", "del", self.link(host)), ("netns", "del", self.space(host)):
                subprocess.run(["ip", *words], capture_output=True)
        subprocess.run(["ip", "link", "del", self.tag], capture_output=True)
