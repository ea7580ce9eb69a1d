# SPDX-License-Identifier: Apache-2.0
import glob
import os

from peers.program import Peer, Program, binary, write

PROGRAM = Program("collectd", "collectd-core", "the host: CPU, memory, load, disks, network, file systems; one sum of all processes, by state; CSV files",
                  "single processes; a store that answers queries")

CONFIGURATION = """BaseDir "{folder}"
PIDFile "{folder}/collectd.pid"
TypesDB "/usr/share/collectd/types.db"
Interval {every}
LoadPlugin cpu
LoadPlugin memory
LoadPlugin load
LoadPlugin disk
LoadPlugin interface
LoadPlugin df
LoadPlugin processes
LoadPlugin csv
<Plugin csv>
  DataDir "{folder}/csv"
</Plugin>
"""


class Host(Peer):
    def start(self):
        path = write(self.folder, "collectd.conf", CONFIGURATION.format(folder=self.folder, every=self.every))
        self.group.start([binary("collectd", "/usr/sbin/collectd"), "-f", "-C", path])

    def ready(self):
        """A file with a value behind its header."""
        for path in glob.iglob(os.path.join(self.folder, "csv", "*", "memory", "*")):
            with open(path, "rb") as file:
                if file.read().count(b"\n") > 1:
                    return True
        return False
