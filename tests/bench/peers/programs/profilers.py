# SPDX-License-Identifier: Apache-2.0
"""Profilers of the whole host."""

from peers.program import Program

PERF = Program("perf", "linux-perf", "each sample with its stack by frame pointers; perf script names the functions",
               "names of JIT code without a map; stacks of code without frame pointers; permanent work")
BCC = Program("bpfcc profile", "bpfcc-tools", "stacks counted in the kernel, named at its end", "as perf; it compiles its program at each start")
BPFTRACE = Program("bpftrace", "bpftrace", "stacks counted in the kernel, named at its end", "as perf; functions of programs that ended")
SYSPROF = Program("sysprof", "sysprof", "each sample with its stack, in a capture", "names of functions: only its window reads the capture")
ALL = (PERF, BCC, BPFTRACE, SYSPROF)
