# SPDX-License-Identifier: Apache-2.0
import re

from peers.program import Program, Scraped, binary, get, write

PROGRAM = Program(
    "process-exporter", "prometheus-process-exporter",
    "groups of processes of one name: CPU ticks, memory, disk bytes, files, states, threads; the last reading of processes that ended",
    "single processes; processes that began and ended between two requests; storing")

GROUPS = """process_names:
  - name: "{{.Comm}}"
    cmdline: ['.+']
"""
CPU = re.compile(rb"^namedprocess_namegroup_cpu_seconds_total\{[^}]*\} ([0-9.e+-]+)$", re.M)


class Processes(Scraped):
    """With its defaults: threads and smaps of all processes are read."""

    options = ()

    def command(self):
        return [binary("prometheus-process-exporter", "process-exporter"), "-config.path", write(self.folder, "groups.yml", GROUPS),
                f"-web.listen-address=127.0.0.1:{self.port}", *self.options]

    def cpu_seconds(self):
        """CPU time of all groups so far."""
        return sum(float(value) for value in CPU.findall(get(self.port, self.page) or b""))


class Cheapest(Processes):
    options = ("-threads=false", "-gather-smaps=false")
