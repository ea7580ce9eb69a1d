# SPDX-License-Identifier: Apache-2.0
import json
import os

from peers.program import Peer, Program, binary, free_port, get, write

PROGRAM = Program(
    "netdata", "netdata-core",
    "the host with about 100 charts; groups of processes, with the time of children that ended and were waited for; a store and a page",
    "single processes; processes that ended and were not waited for by a living parent")

# Its plugins inside the daemon; those outside are off unless they are named.
INSIDE = ("proc", "diskspace", "cgroups", "tc", "idlejitter", "timex", "statsd", "checks", "slabinfo", "perf", "ioping", "nfacct", "xenstat",
          "cups", "freeipmi", "fping", "charts.d", "python.d", "go.d", "node.d", "ebpf")
CONFIGURATION = """[global]
    run as user = root
[directories]
    config = {folder}/etc
    stock config = /usr/lib/netdata/conf.d
    log = {folder}
    cache = {folder}/cache
    lib = {folder}/lib
    home = {folder}
[db]
    mode = dbengine
    update every = {every}
[health]
    enabled = no
[ml]
    enabled = no
[web]
    bind to = 127.0.0.1:{port}
[plugins]
{plugins}
"""


class Host(Peer):
    """The daemon with the plugins that it starts by default and the package has."""

    chart, plugins = "system.cpu", {}

    def start(self):
        self.port = free_port()
        for name in ("etc", "cache", "lib"):
            os.mkdir(os.path.join(self.folder, name))
        write(self.folder, "etc/.opt-out-from-anonymous-statistics", "")
        write(self.folder, "lib/cloud.d/cloud.conf", "[global]\n    enabled = no\n")
        plugins = "\n".join(f"    {name} = {value}" for name, value in self.plugins.items())
        path = write(self.folder, "etc/netdata.conf", CONFIGURATION.format(folder=self.folder, every=self.every, port=self.port, plugins=plugins))
        self.group.start([binary("netdata", "/usr/sbin/netdata"), "-D", "-c", path, "-P", os.path.join(self.folder, "netdata.pid")])

    def ready(self):
        return bool(self.rows("after=-60"))

    def rows(self, range_of_time):
        """Of the chart: [time, value of each dimension]."""
        body = get(self.port, f"/api/v1/data?chart={self.chart}&format=json&{range_of_time}")
        return json.loads(body)["data"] if body else []


class Processes(Host):
    """Only its plugin for processes."""

    chart = "apps.cpu"
    plugins = {**{name: "no" for name in INSIDE}, "enable running new plugins": "no", "apps": "yes"}

    def cpu_seconds(self, begin, end):
        """CPU time of all groups in whole seconds: each value is the percentage of one core in one second."""
        rows = self.rows(f"after={begin}&before={end}&points={end - begin}")
        return sum(sum(value or 0 for value in row[1:]) for row in rows) / 100
