# SPDX-License-Identifier: Apache-2.0
from peers.program import Program

PROGRAM = Program("jstat", "openjdk-17-jdk-headless", "the counters of one JVM: heap spaces, collections", "several JVMs in one process; storing")
