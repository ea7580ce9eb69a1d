# SPDX-License-Identifier: Apache-2.0
from peers.program import OnTheTerminal, Program, binary

PROGRAM = Program(
    "pidstat", "sysstat", "each living process: CPU ticks, faults, memory, disk bytes", "processes that ended, a store, delivery")


class Processes(OnTheTerminal):
    def command(self):
        return [binary("pidstat"), "-u", "-r", "-d", "-p", "ALL", str(self.every)]
