# SPDX-License-Identifier: Apache-2.0
"""A process of the small distributed system of placement_test.py: kv_node.py NAME ADDRESS PORT. It sends as many bytes as it is asked
for ("N" in a line), takes pushed bytes ("0" in a line, then bytes), and runs the lines of JSON from its standard input:
{"pull": [[address, port, bytes], ...], "push": [...]}; then it answers with the seconds that this took."""

import ctypes
import json
import socket
import sys
import threading
import time

PIECE = b"x" * (1 << 16)


def receive(connection, wanted):
    while wanted is None or wanted > 0:
        part = connection.recv(1 << 16)
        if not part:
            return
        if wanted is not None:
            wanted -= len(part)


def send(connection, amount):
    while amount > 0:
        connection.sendall(PIECE[:amount])
        amount -= len(PIECE)


def serve(connection):
    with connection:
        line = b""
        while not line.endswith(b"\n"):
            line += connection.recv(1)
        wanted = int(line)
        if wanted > 0:
            send(connection, wanted)
        else:
            receive(connection, None)


def accept(server):
    while True:
        threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()


def pull(address, port, amount):
    with socket.create_connection((address, port)) as connection:
        connection.sendall(b"%d\n" % amount)
        receive(connection, amount)


def push(address, port, amount):
    with socket.create_connection((address, port)) as connection:
        connection.sendall(b"0\n")
        send(connection, amount)


def main(name, address, port):
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)  # PR_SET_NAME
    server = socket.create_server((address, int(port)), backlog=64)
    threading.Thread(target=accept, args=(server,), daemon=True).start()
    print("ready", flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        begin = time.monotonic()
        threads = [threading.Thread(target=act, args=transfer) for act, name in ((pull, "pull"), (push, "push")) for transfer in task[name]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(time.monotonic() - begin, flush=True)


main(*sys.argv[1:])
