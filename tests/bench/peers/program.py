# SPDX-License-Identifier: Apache-2.0
"""A program that takes part: where it comes from, what it counts, and how it is started and queried."""

import gzip
import http.client
import os
import re
import shlex
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass

from bench_tools import ROOT, Ended

PATIENCE = 60  # seconds until the first data counts as missing
CHANGELOG = "/usr/share/doc/{}/changelog.Debian.gz"
FIRST_LINE = re.compile(r"^\S+ \(([^)]+)\)")
DATE = re.compile(r"^ -- .*?>  \w+, (\d+) (\w+) (\d{4})")


@dataclass(frozen=True)
class Program:
    """An entry of the list of programs in docs/benchmarks.md."""

    name: str
    package: str  # of Debian; empty: of this tree
    counts: str
    misses: str  # of the work that the others do in the same table

    @property
    def version(self):
        if not self.package:
            return commit()
        said = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", self.package], capture_output=True, text=True, check=False)
        return said.stdout.strip() if said.returncode == 0 else ""

    @property
    def packaged(self):
        """Year and month when Debian first packaged this version of the program."""
        path = CHANGELOG.format(self.package)
        if not self.package or not os.path.exists(path):
            return ""
        with gzip.open(path, "rt", errors="replace") as file:
            return first_packaged(file, upstream(self.version))


def upstream(version):
    return version.split(":")[-1].rsplit("-", 1)[0]


def first_packaged(lines, version):
    """Of the entries of a Debian changelog, newest first, the oldest with this version of the program."""
    found, current = "", ""
    for line in lines:
        if heading := FIRST_LINE.match(line):
            current = upstream(heading[1])
        elif (date := DATE.match(line)) and current == version:
            found = f"{date[2]} {date[3]}"
    return found


def commit():
    said = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return said.stdout.strip()


def binary(*names):
    """The path of the first of these that is installed."""
    for name in names:
        found = name if os.path.isabs(name) and os.access(name, os.X_OK) else shutil.which(name)
        if found:
            return found
    raise Ended(f"{names[0]} is not installed")


def free_port(first=0):
    """Any, or the first free one from this one on."""
    with socket.socket() as probe:
        while True:
            try:
                probe.bind(("127.0.0.1", first))
                return probe.getsockname()[1]
            except OSError:
                first += 1


def get(port, path):
    """The body of a good answer; None while the server does not answer, or answers with an error."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        return body if answer.status == 200 else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def write(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    return path


class Peer:
    """A program at work in a group and a folder of its own. `start` starts it; `ready` is true when its first data can be read."""

    scratch = None  # where its folder is; None: where temporary files are
    asked = False  # whether it collects only on request, by collect()

    def __init__(self, group, folder, every=1):
        self.group, self.folder, self.every = group, folder, every

    def start(self):
        raise NotImplementedError

    def ready(self):
        return True

    def collect(self):
        """One collection, if it collects only on request."""

    def stop(self):
        """Ends its programs, which save what they have. Its folder stays until the end of the group."""
        for process, _ in reversed(self.group.started):
            process.terminate()
            process.wait()

    def commands(self):
        """Those that it started, with FOLDER for its folder; paths of this tree are relative."""
        return [shlex.join(process.args).replace(self.folder, "FOLDER").replace(ROOT + "/", "") for process, _ in self.group.started]

    def wait_until(self, condition):
        until = time.monotonic() + PATIENCE
        while not condition():
            self.group.check()
            if time.monotonic() > until:
                raise Ended(f"no data in {PATIENCE} s")
            time.sleep(0.01)


class OnTheTerminal(Peer):
    """A program that prints its data once a window: the first bytes are its first data."""

    def command(self):
        raise NotImplementedError

    def start(self):
        self.path = os.path.join(self.folder, "output")
        with open(self.path, "wb") as output:
            self.group.start(self.command(), dict(os.environ, LC_ALL="C"), stdout=output)

    def ready(self):
        return os.path.getsize(self.path) > 0


class Scraped(Peer):
    """A program that collects when its page is requested."""

    asked = True
    page = "/metrics"

    def command(self):
        raise NotImplementedError

    def start(self):
        self.port = free_port()
        self.group.start(self.command())

    def ready(self):
        return get(self.port, self.page) is not None

    def collect(self):
        if get(self.port, self.page) is None:
            raise Ended(f"no answer from {self.page}")
