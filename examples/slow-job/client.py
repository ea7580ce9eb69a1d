# SPDX-License-Identifier: Apache-2.0
"""Reads from the server at a port for some seconds."""

import socket
import sys
import time

until = time.monotonic() + float(sys.argv[2])
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
    while time.monotonic() < until:
        connection.recv(65536)
