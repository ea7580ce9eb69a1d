# SPDX-License-Identifier: Apache-2.0
"""Sends zeros to each client until it leaves. Writes its port into the file that it gets."""

import socket
import sys

with socket.create_server(("127.0.0.1", 0)) as server:
    with open(sys.argv[1], "w", encoding="ascii") as file:
        print(server.getsockname()[1], file=file)
    while True:
        client, _ = server.accept()
        with client:
            try:
                while True:
                    client.sendall(bytes(65536))
            except OSError:
                pass  # the client has left
