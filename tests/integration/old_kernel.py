# SPDX-License-Identifier: Apache-2.0
"""Runs a command without the system calls that Linux 4.18 does not have, and without bpf: they fail with ENOSYS, as there.
    old_kernel.py COMMAND [ARGUMENT...]"""

import ctypes
import errno
import os
import platform
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
FIRST_NEW = 424  # pidfd_send_signal (5.1): since then all architectures have the same numbers
BPF = {"x86_64": 321, "aarch64": 280}


def instruction(code, value, yes=0, no=0):
    return struct.pack("HBBI", code, yes, no, value)


def refuse_newer_calls():
    """For this process and its children, without a way back."""
    program = b"".join([
        instruction(LOAD, 0),  # the number of the call
        instruction(EQUAL, BPF[platform.machine()], yes=1),
        instruction(AT_LEAST, FIRST_NEW, yes=0, no=1),
        instruction(RETURN, ERRNO | errno.ENOSYS),
        instruction(RETURN, ALLOW)])
    text = ctypes.create_string_buffer(program)
    filter_ = ctypes.create_string_buffer(struct.pack("HP", len(program) // 8, ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    for call in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_, 0, 0)):
        if libc.prctl(*call) != 0:
            raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    refuse_newer_calls()
    os.execvp(sys.argv[1], sys.argv[1:])
