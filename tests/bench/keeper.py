# SPDX-License-Identifier: Apache-2.0
"""A server that accepts and keeps all requests of an agent."""

import contextlib
import http.server
import threading


@contextlib.contextmanager
def keeper():
    """(port, requests), a request is (path, headers, body)."""
    requests = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            requests.append((self.path, dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port, requests
        finally:
            server.shutdown()
