# SPDX-License-Identifier: Apache-2.0
"""`explain` on this host: explain_bench.py ATALAYA [SECONDS]. Injects nine causes one after the other: SECONDS of baseline (default: 15),
then as many with the cause. Prints the first finding and the largest relative error of the sums; then pairs of ranges in which
nothing was injected. The host must be idle: what else runs is a finding, too. The tenth cause, a changed setting, is in
integration.explain."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cluster"))
from node_limits import Limits, reason_without_limits  # noqa: E402

PIPELINE = """local a = require "atalaya"
local store = a.sink.sqlite {{ path = "{store}" }}
a.pipeline "host" {{ every = "1s", a.source.proc {{}}, a.source.net {{}}, a.source.jvm {{ top = 0, interval = "10s" }}, a.translate.names {{}}, store }}
"""
HEALTHY, PAIRS = 180, 20  # seconds and pairs
GARBAGE = """public class XpGarbage {
  static volatile byte[][] kept = new byte[600][];
  public static void main(String[] a) {
    for (int i = 0; ; i++) kept[i % kept.length] = new byte[60_000];
  }
}
"""
LOCK = """
import threading
a, b = threading.Semaphore(0), threading.Semaphore(0)
def one():
    while True: a.acquire(); b.release()
def other():
    while True: a.release(); b.acquire()
threading.Thread(target=one, daemon=True).start(); other()
"""
CHATTY = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
def sink():
    client = server.accept()[0]
    while client.recv(1 << 16): pass
threading.Thread(target=sink, daemon=True).start()
client = socket.create_connection(server.getsockname())
while True: client.sendall(bytes(1 << 16)); time.sleep(0.002)
"""
# Cause: the expected resource and the body of a process; its name is "xp-" and the cause without spaces.
CAUSES = {
    "CPU hog": ("cpu", "while True: pass"),
    "memory leak": ("memory", "kept = []\nwhile True: kept.append(b'x' * (2 << 20)); time.sleep(0.05)"),
    "disk hog": ("disk.write", "file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)\n"
                               "while True: os.pwrite(file, bytes(4 << 20), 0); os.fsync(file); time.sleep(0.02)"),
    "chatty peer": ("network", CHATTY),
    "lock contention": ("switches", LOCK),
    "fork storm": ("forks", "while True: subprocess.run([sys.argv[2]])"),
}


class Host:
    def __init__(self, atalaya, folder, seconds):
        self.atalaya, self.folder, self.seconds = atalaya, folder, seconds
        self.store = os.path.join(folder, "atalaya.db")
        file = os.path.join(folder, "explain.lua")
        with open(file, "w") as out:
            out.write(PIPELINE.format(store=self.store))
        self.agent = subprocess.Popen([atalaya, "run", file, "--socket", os.path.join(folder, "s")], stderr=subprocess.DEVNULL,
                                      env=dict(os.environ, STATE_DIRECTORY=folder))
        shutil.copy("/bin/true", os.path.join(folder, "xp-short"))

    def process(self, name, body, enter=None):
        link = os.path.join(self.folder, name)
        if not os.path.exists(link):
            os.symlink(os.path.realpath(sys.executable), link)
        text = f"import os, subprocess, sys, time\nopen('/proc/self/comm', 'w').write({name!r})\n{body}"
        return subprocess.Popen([link, "-c", text, os.path.join(self.folder, "written"), os.path.join(self.folder, "xp-short")], preexec_fn=enter)

    def range(self):
        """(begin, end) in Unix ms of the next seconds, of whole windows."""
        begin = int(time.time()) + 1
        time.sleep(self.seconds + 2)
        return begin * 1000, (begin + self.seconds) * 1000

    def explain(self, before, after):
        done = subprocess.run([self.atalaya, "explain", "--store", self.store, "--from", str(after[0]), "--to", str(after[1]), "--against",
                               f"{before[0]}..{before[1]}", "--format", "json"], capture_output=True, text=True)
        if done.returncode not in (0, 1) or not done.stdout:
            return {"error": done.stderr.strip()}
        return json.loads(done.stdout)


def first_of(explanation):
    if "error" in explanation:
        return explanation["error"]
    if not explanation["findings"]:
        return "nothing"
    finding = explanation["findings"][0]
    tags = finding["parts"][0]["tags"] if finding["parts"] else {}
    return f"{finding['resource']}: {tags.get('process') or tags.get('cgroup') or tags.get('disk') or 'total'}"


def error_of(explanation):
    """Of the sums: the named parts and the others against the difference, in %."""
    worst = 0
    for finding in explanation.get("findings", []):
        parts = sum(part["difference"] for part in finding["parts"]) + finding["other"]["difference"]
        worst = max(worst, abs(parts / finding["difference"] - 1) * 100 if finding["difference"] else 0)
    return worst


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def injected(host, cause):
    """(before, after, expected) with the cause in the second range."""
    name = ("xp-" + cause.lower().replace(" ", ""))[:15]  # as long as the kernel keeps names
    if cause in CAUSES:
        before = host.range()
        resource, body = CAUSES[cause]
        process = host.process(name, body)
        after = host.range()
        kill(process)
        return before, after, f"{resource}: " + ("xp-short" if cause == "fork storm" else name)
    if cause == "GC pressure":
        with open(os.path.join(host.folder, "XpGarbage.java"), "w") as out:
            out.write(GARBAGE)
        subprocess.run(["javac", "-d", host.folder, os.path.join(host.folder, "XpGarbage.java")], check=True)
        before = host.range()
        process = subprocess.Popen(["java", "-XX:+UseSerialGC", "-Xmx64m", "-cp", host.folder, "XpGarbage"])
        after = host.range()
        kill(process)
        return before, after, "gc: XpGarbage"
    limits = Limits("atalaya-explain", host.folder)
    try:
        limits.set(2, None, None)
        slow = cause == "slow disk"
        body = ("file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o600)\nimport mmap\nblock = mmap.mmap(-1, 1 << 20)\n"
                "while True: os.pwritev(file, [block], 0); time.sleep(0.02)") if slow else "while True: pass"
        process = host.process(name, body, limits.enter)
        time.sleep(2)
        before = host.range()
        limits.set(2, None, 4 << 20) if slow else limits.set(0.3, None, None)
        after = host.range()
        kill(process)
        return before, after, "disk.write: " + name if slow else "throttled: /atalaya-explain"
    finally:
        time.sleep(1)
        limits.remove()


def main():
    atalaya, seconds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 15
    with tempfile.TemporaryDirectory(prefix="atalaya-explain-") as folder:
        host = Host(atalaya, folder, seconds)
        time.sleep(5)
        causes = [*CAUSES, *(["GC pressure"] if shutil.which("javac") else [])]
        if why := reason_without_limits(folder):
            print("no throttled cgroup and no slow disk:", why)
        else:
            causes += ["throttled cgroup", "slow disk"]
        hits = 0
        for cause in causes:
            before, after, expected = injected(host, cause)
            explanation = host.explain(before, after)
            first = first_of(explanation)
            hits += first == expected
            print(f"  {cause:18} first: {first:36} {'hit' if first == expected else 'MISSED ' + expected}, error of sums {error_of(explanation):.3f} %", flush=True)
            time.sleep(3)
        print(f"{hits} of {len(causes)} causes are named first")
        begin = int(time.time()) + 1
        time.sleep(HEALTHY)
        chosen, quiet = random.Random(1), 0
        for _ in range(PAIRS):
            start = (begin + chosen.randrange(HEALTHY - 2 * seconds - 2)) * 1000
            first = first_of(host.explain((start, start + seconds * 1000), (start + seconds * 1000, start + 2 * seconds * 1000)))
            quiet += first == "nothing"
            if first != "nothing":
                print("  healthy pair:", first)
        print(f"{quiet} of {PAIRS} healthy pairs without a finding")
        host.agent.terminate()
        host.agent.wait()


if __name__ == "__main__":
    main()
