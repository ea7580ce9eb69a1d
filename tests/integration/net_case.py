# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the tests of the source net: processes that report their traffic, and an agent whose samples are compared with that."""

import ctypes
import os
import socket
import time

from harness import AgentCase, amount, so_far

PR_SET_NAME = 15
libc = ctypes.CDLL(None, use_errno=True)
RUN = os.getpid()
HAS_BPF = os.geteuid() == 0 and os.path.exists("/sys/kernel/btf/vmlinux")


def own(name):
    """Of this run alone: the agent sees the processes of others that test on this host."""
    return name.replace("net-", f"{RUN % 100000:05}-")


def set_name(name):
    libc.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


class Child:
    """A separate process that runs a function under a name; the return value of the function is its last word."""

    def __init__(self, name, function):
        receive, send = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                os.close(receive)
                set_name(own(name))
                os.write(send, str(function()).encode())
                status = 0
            finally:
                os._exit(status)
        os.close(send)
        self.receive = receive

    def join(self):
        with open(self.receive) as pipe:
            word = pipe.read()
        _, status = os.waitpid(self.pid, 0)
        assert status == 0, f"child ended with status {status}"
        return word


class Gate:
    """Holds children until the test opens it, this number of times."""

    def __init__(self):
        self.read, self.write = os.pipe()

    def wait(self):
        os.read(self.read, 1)

    def open(self):
        os.write(self.write, b".")

    def close(self):
        os.close(self.read)
        os.close(self.write)


def listen(address="127.0.0.1", backlog=1024):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = socket.socket(family, socket.SOCK_STREAM)
    server.bind((address, 0))
    server.listen(backlog)
    return server


def receive_all(connection):
    total = 0
    while chunk := connection.recv(65536):
        total += len(chunk)
    return total


def exchange(connection, send, answer_expected):
    """Sends this many bytes, ends, and takes the answer."""
    connection.sendall(b"x" * send)
    connection.shutdown(socket.SHUT_WR)
    received = receive_all(connection)
    assert received == answer_expected, (received, answer_expected)
    connection.close()


def serve(server, answer, connections=1):
    for _ in range(connections):
        connection, _ = server.accept()
        receive_all(connection)
        connection.sendall(b"y" * answer)
        connection.close()


class NetCase(AgentCase):
    def start_agent(self, parameters="", every="250ms", translators=""):
        self.out = self.path("out.jsonl")
        # The source self reports in each window, so that windows can be waited for.
        self.agent = self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "net" {{ every = "{every}", a.source.net {{ buffer = "32 MiB", {parameters} }}, a.source.self {{}}, {translators}
              a.sink.file {{ path = "{self.out}", format = "samples" }} }}""").running()
        self.wait_windows(2)
        return self.agent

    def samples(self):
        return so_far(self.out)

    def wait_windows(self, count):
        """Until `count` more windows have been written, which were read after now."""
        now = time.time_ns()
        self.agent.wait_status(lambda _: len({sample["time"] for sample in self.samples() if sample["time"] > now}) >= count)

    def of(self, process):
        return [sample for sample in self.samples() if sample["tags"].get("process") == own(process)]

    def sum(self, process, field, **tags):
        return sum(sample["fields"].get(field, 0) for sample in self.of(process)
                   if all(sample["tags"].get(key) == value for key, value in tags.items()))

    def check_rate(self, process, field, moved):
        mebibits = moved * 8 / 2**20
        counted = amount(self.of(process), field)
        self.assertLessEqual(counted, 1.05 * mebibits)
        self.assertGreaterEqual(counted, 0.95 * mebibits)

    def finish(self):
        """Two windows more: a connection that ended in this one is reported by the end of the next."""
        self.wait_windows(2)
        self.assertEqual(self.agent.stop(), 0)
        lost = [sample["fields"]["proc.net.lost"] for sample in self.of("unattributed") if "proc.net.lost" in sample["fields"]]
        self.assertNotEqual(lost, [])  # a window without losses reports 0: a missing value means that the source did not run
        self.assertEqual(sum(lost), 0)

    def check_moved(self, process, out, taken, **tags):
        self.assertEqual(self.sum(process, "flow.out.bytes", **tags), out)
        self.assertEqual(self.sum(process, "flow.in.bytes", **tags), taken)
