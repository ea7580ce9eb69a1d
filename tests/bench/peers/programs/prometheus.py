# SPDX-License-Identifier: Apache-2.0
import json
import struct

from peers.database import Database
from peers.program import Program, binary, free_port, write

PROGRAM = Program("prometheus", "prometheus", "points with a name and labels",
                  "receives remote write, which needs less parsing than lines; old points in any order; stacks, spans")

POINTS = 20_000  # of a request
HEADERS = {"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf", "X-Prometheus-Remote-Write-Version": "0.1.0"}


class Store(Database):
    health, parts = "/-/ready", ("snapshots",)

    def start(self):
        self.port = free_port()
        self.group.start([binary("prometheus"), f"--config.file={write(self.folder, 'prometheus.yml', '')}", f"--storage.tsdb.path={self.data}",
                          f"--web.listen-address=127.0.0.1:{self.port}", "--storage.tsdb.retention.time=10y", "--web.enable-remote-write-receiver",
                          "--web.enable-admin-api"])

    def send(self, lines):
        for points in batches(lines):
            self.request("POST", "/api/v1/write", snappy(write_request(points)), HEADERS)

    def merge(self):
        """A snapshot has all points in blocks."""
        json.loads(self.request("POST", "/api/v1/admin/tsdb/snapshot"))

    def sums(self, begin, hours):
        return self.sums_by_promql(begin, hours, "proc_cpu_user")


def batches(lines):
    """Dictionaries of (tags, field): its encoded samples, in the order of the lines."""
    points, count = {}, 0
    with open(lines, "rb") as file:
        for line in file:
            series, fields, time_ns = line.rsplit(b" ", 2)
            stamp = b"\x10" + varint(int(time_ns) // 1_000_000)
            for field in fields.split(b","):
                name, _, value = field.partition(b"=")
                sample = b"\x09" + struct.pack("<d", float(value.rstrip(b"i"))) + stamp
                points.setdefault((series, name), []).append(message(2, sample))
                count += 1
            if count >= POINTS:
                yield points
                points, count = {}, 0
    if points:
        yield points


def write_request(points):
    return b"".join(message(1, labels(*key) + b"".join(samples)) for key, samples in points.items())


def labels(series, name):
    pairs = [(b"__name__", name.replace(b".", b"_"))]
    pairs += [tuple(tag.replace(b"\\", b"").split(b"=", 1)) for tag in split_tags(series)[1:]]
    return b"".join(message(1, message(1, key) + message(2, value)) for key, value in sorted(pairs))


def split_tags(series):
    """At commas without a backslash."""
    parts = [b""]
    for piece in series.split(b","):
        if parts[-1].endswith(b"\\"):
            parts[-1] += b"," + piece
        else:
            parts.append(piece)
    return parts[1:]


def varint(number):
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def message(field, content):
    """A field of protobuf with a length."""
    return bytes([field << 3 | 2]) + varint(len(content)) + content


def snappy(content):
    """The block format with literals only: the receiver decodes it, and it is not smaller."""
    blocks = [varint(len(content))]
    for at in range(0, len(content), 65536):
        block = content[at:at + 65536]
        blocks += [b"\xf4" + struct.pack("<H", len(block) - 1), block]
    return b"".join(blocks)
