# SPDX-License-Identifier: Apache-2.0
"""Runs a command without the system calls that an older Linux does not have: they fail with ENOSYS, as there. 4.18 has no bpf either.
    old_kernel.py 4.18|5.10 COMMAND [ARGUMENT...]"""

import ctypes
import errno
import os
import platform
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
# The first call that a kernel does not have: pidfd_send_signal (5.1), epoll_pwait2 (5.11). All architectures have these numbers.
FIRST_NEW = {"4.18": 424, "5.10": 441}
NO_CALL = 0xFFFFFFFF
BPF = {"x86_64": 321, "aarch64": 280}


def instruction(code, value, yes=0, no=0):
    return struct.pack("HBBI", code, yes, no, value)


def refuse_newer_calls(version):
    """For this process and its children, without a way back."""
    program = b"".join([
        instruction(LOAD, 0),  # the number of the call
        instruction(EQUAL, BPF[platform.machine()] if version == "4.18" else NO_CALL, yes=1),
        instruction(AT_LEAST, FIRST_NEW[version], yes=0, no=1),
        instruction(RETURN, ERRNO | errno.ENOSYS),
        instruction(RETURN, ALLOW)])
    text = ctypes.create_string_buffer(program)
    filter_ = ctypes.create_string_buffer(struct.pack("HP", len(program) // 8, ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    for call in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_, 0, 0)):
        if libc.prctl(*call) != 0:
            raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    refuse_newer_calls(sys.argv[1])
    os.execvp(sys.argv[2], sys.argv[2:])
