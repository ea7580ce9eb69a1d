# SPDX-License-Identifier: Apache-2.0
"""Shared part of the tests that attach probes to functions of other processes."""

import os


def obstacle():
    """Reason why probes cannot be attached here; None if they can."""
    if os.geteuid() != 0:
        return "probes in other processes take root"
    if not os.path.exists("/sys/kernel/btf/vmlinux") or not os.path.exists("/sys/bus/event_source/devices/uprobe"):
        return "the kernel has no BTF, or no uprobes"
    if os.readlink("/proc/self/ns/pid") != "pid:[4026531836]":
        return "in a pid namespace of its own"
    return None
