# SPDX-License-Identifier: Apache-2.0
from peers.program import Program

PROGRAM = Program("nethogs", "nethogs", "bytes of each process by packet capture, and the sockets in /proc",
                  "connections that end before it reads /proc; other network namespaces; storing")
