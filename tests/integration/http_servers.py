# SPDX-License-Identifier: Apache-2.0
"""Servers for the tests of the sink http: the real ones, and one with set faults."""

import gzip
import http.server
import json
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from harness import PATIENCE


claims = []  # they show other tests which ports are taken, and end with this process


def free_port():
    """A port that no other test gets while this one runs, and no connection either: where nobody listens, a client that gets the very port
    it asks for would meet itself, and the server that comes back would find it taken."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        first_of_connections = int(file.read().split()[0])
    while True:
        port = random.randrange(10000, first_of_connections)
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0atalaya-test-port-{port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        claims.append(claim)
        return port


def get(url):
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return answer.read()


def certificate(folder, name, issuer=None, names="IP:127.0.0.1"):
    """The files of a certificate and its key: an authority's, or one that the issuer gave for these names."""
    key, request, made = (os.path.join(folder, name + end) for end in (".key", ".csr", ".pem"))

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-keyout", key]
    if issuer is None:
        openssl("req", "-x509", *new, "-days", "2", "-out", made)
        return made, key
    openssl("req", *new, "-out", request)
    extensions = os.path.join(folder, name + ".ext")
    with open(extensions, "w") as file:
        file.write(f"subjectAltName={names}\n")
    openssl("x509", "-req", "-in", request, "-CA", issuer[0], "-CAkey", issuer[1], "-CAcreateserial", "-days", "2",
            "-extfile", extensions, "-out", made)
    return made, key


class Server:
    """A real server in a separate folder."""

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE
        while True:
            try:
                get(self.url + self.ready)
                return self
            except (OSError, urllib.error.URLError):
                assert self.process.poll() is None and time.monotonic() < until, f"{self.command[0]} does not start"
                time.sleep(0.05)

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            self.process.wait(PATIENCE)


class VictoriaMetrics(Server):
    program = shutil.which("victoria-metrics")
    ready = "/health"

    def __init__(self, folder):
        port, self.put_port = free_port(), free_port()
        self.url, self.put = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{self.put_port}"
        self.command = [self.program, "-storageDataPath", os.path.join(folder, "vm"), "-retentionPeriod", "100y",
                        "-httpListenAddr", f"127.0.0.1:{port}", "-opentsdbHTTPListenAddr", f"127.0.0.1:{self.put_port}",
                        "-influxMeasurementFieldSeparator", "."]

    def points(self):
        """{(metric, tags, ms): value} of all that is stored."""
        get(self.url + "/internal/force_flush")
        stored = {}
        for line in get(self.url + "/api/v1/export?match[]=" + urllib.parse.quote('{__name__!=""}')).splitlines():
            series = json.loads(line)
            metric = series["metric"].pop("__name__")
            for at, value in zip(series["timestamps"], series["values"]):
                key = metric, frozenset(series["metric"].items()), at
                assert stored.setdefault(key, value) == value, f"{key} twice with different values"
        return stored


class InfluxDb(Server):
    program = shutil.which("influxd")
    ready = "/ping"

    def __init__(self, folder):
        port, self.put_port = free_port(), free_port()
        self.url, self.put = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{self.put_port}"
        config = os.path.join(folder, "influxdb.conf")
        with open(config, "w") as file:
            file.write(f'''reporting-disabled = true
bind-address = "127.0.0.1:{free_port()}"
[meta]
dir = "{folder}/influx/meta"
[data]
dir = "{folder}/influx/data"
wal-dir = "{folder}/influx/wal"
[http]
bind-address = "127.0.0.1:{port}"
log-enabled = false
[[opentsdb]]
enabled = true
bind-address = "127.0.0.1:{self.put_port}"
database = "opentsdb"
''')
        self.command = [self.program, "-config", config]

    def query(self, statement, database=""):
        data = urllib.parse.urlencode({"q": statement, "db": database, "epoch": "ns"}).encode()
        return json.loads(get_post(self.url + "/query", data))["results"][0].get("series", [])

    def points(self, database):
        stored = {}
        for series in self.query("select * from /.*/ group by *", database):
            for row in series["values"]:
                for column, value in list(zip(series["columns"], row))[1:]:
                    if value is None:
                        continue
                    name = series["name"] if column == "value" else series["name"] + "." + column
                    tags = frozenset((key, tag) for key, tag in series["tags"].items() if tag)
                    stored[name, tags, row[0] // 1_000_000] = value
        return stored


def get_post(url, data):
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=PATIENCE) as answer:
        return answer.read()


class Chaos:
    """Answers each request as `script(self, request)` says: a status, (status, headers, body), or one of the words garbage, half, drip,
    close. Points of requests that got 2xx are in `taken`, in order; `requests` are all."""

    def __init__(self, script, certificate=None, authorities=None):
        self.script = script
        self.taken, self.requests = [], []
        self.changed = threading.Condition()
        chaos = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # head and body of an answer are two packets

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.answer([])

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                encoding = self.headers.get("Content-Encoding")
                if encoding == "gzip":
                    body = gzip.decompress(body)
                elif encoding == "zstd":
                    body = subprocess.run(["zstd", "-dc"], input=body, capture_output=True, check=True).stdout
                text = body.decode()
                self.answer(json.loads(text) if text[0] == "[" else [json.loads(line) for line in text.splitlines()])

            def answer(self, points):
                self.points = points
                with chaos.changed:
                    chaos.requests.append((self.command, self.path, dict(self.headers), points))
                    said = chaos.script(chaos, self)
                    status, headers, body = said if isinstance(said, tuple) else (said, {}, b"")
                    if isinstance(status, int) and status // 100 == 2:
                        chaos.taken += points
                    chaos.changed.notify_all()
                try:
                    self.misbehave(status) if isinstance(status, str) else self.behave(status, headers, body)
                except OSError:
                    self.close_connection = True

            def behave(self, status, headers, body):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if status != 204:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def misbehave(self, word):
                self.close_connection = True
                if word == "garbage":
                    self.wfile.write(b"\x00\xff\x17this is no HTTP\r\n\r\n" * 10)
                elif word == "half":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"half")
                elif word == "drip":
                    for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 10000:
                        self.wfile.write(bytes([byte]))
                        time.sleep(0.05)

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.server = Quiet(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            if authorities:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(authorities)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
            self.url = f"https://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    def behave(self):
        with self.changed:
            self.script = lambda *_: 204

    def wait(self, condition):
        with self.changed:
            assert self.changed.wait_for(lambda: condition(self), PATIENCE), f"{len(self.requests)} requests, {len(self.taken)} points"

    def stop(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
