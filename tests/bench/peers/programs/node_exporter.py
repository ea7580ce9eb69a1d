# SPDX-License-Identifier: Apache-2.0
from peers.program import Program, Scraped, binary

PROGRAM = Program("node-exporter", "prometheus-node-exporter", "the host: about 700 series of CPU, memory, disks, network, kernel",
                  "processes; storing")


class Host(Scraped):
    def command(self):
        return [binary("prometheus-node-exporter", "node_exporter"), f"--web.listen-address=127.0.0.1:{self.port}"]
