# SPDX-License-Identifier: Apache-2.0
from peers.program import OnTheTerminal, Program, binary

PROGRAM = Program(
    "atop", "atop",
    "each process: CPU ticks, memory, disk bytes; processes that ended where the kernel's process accounting works",
    "real names of JVMs and scripts, a store, delivery; without process accounting, processes that began and ended in the window")


class Processes(OnTheTerminal):
    def command(self):
        return [binary("atop"), "-P", "PRC,PRM,PRD", str(self.every)]
