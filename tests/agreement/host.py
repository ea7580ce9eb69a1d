#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the source proc on this host and compares its samples with /proc, free, df and iostat.

    tests/agreement/host.py --atalaya build/dev/atalaya --plugins build/dev/plugins

A counter is polled all the while. The rate of a window times its length must be between the counter's smallest and largest possible
increase over that window, its two ends known to SLACK_S. A gauge must be in the range of the readings around the window's end. So
nothing is compared by eye, and a host that is busy with other work widens the limits instead of failing. Exit status 0, or 1.
"""
import argparse
import bisect
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

SLACK_S = 0.3
POLL_S = 0.05
SECONDS = 6
MIB = 1024 * 1024
TICKS = os.sysconf("SC_CLK_TCK")

PIPELINE = """local a = require "atalaya"
a.pipeline "agreement" {
  every = "1s",
  a.source.proc { processes = false, host = true, cgroups = false },
  a.sink.file { path = "%s", format = "samples" },
}
"""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Track:
    """Readings of one number over time."""

    def __init__(self):
        self.times, self.values = [], []

    def add(self, at, value):
        self.times.append(at)
        self.values.append(value)

    def around(self, at):
        """The smallest and the largest reading within SLACK_S, one reading further on each side."""
        first = max(0, bisect.bisect_left(self.times, at - SLACK_S) - 1)
        last = bisect.bisect_right(self.times, at + SLACK_S) + 1
        return min(self.values[first:last]), max(self.values[first:last])


class Poller:
    """Reads /proc and iostat until it is stopped."""

    def __init__(self):
        self.tracks = {}
        self.stopped = threading.Event()
        self.iostat = shutil.which("iostat")
        self.threads = [threading.Thread(target=self.run, args=(self.read_proc,))]
        if self.iostat:
            self.threads.append(threading.Thread(target=self.run, args=(self.read_iostat,)))

    def run(self, read_all):
        while not self.stopped.wait(POLL_S):
            read_all()

    def add(self, name, value):
        self.tracks.setdefault(name, Track()).add(time.time(), value)

    def read_proc(self):
        for line in read("/proc/stat").splitlines():
            words = line.split()
            if words[0].startswith("cpu") and words[0] != "cpu":
                ticks = [int(word) for word in words[1:]]
                self.add(("user", words[0][3:]), ticks[0] + ticks[1])
                self.add(("kernel", words[0][3:]), ticks[2])
                self.add(("idle", words[0][3:]), ticks[3])
                self.add(("usage", words[0][3:]), sum(ticks[:3]) + sum(ticks[5:7]))
            elif words[0] in ("ctxt", "intr", "processes"):
                self.add(words[0], int(words[1]))
        for line in read("/proc/meminfo").splitlines():
            key, amount = line.split(":")
            self.add(key, int(amount.split()[0]) / 1024)
        for line in read("/proc/diskstats").splitlines():
            words = line.split()
            for name, column in (("reads", 3), ("sectors read", 5), ("writes", 7), ("sectors written", 9), ("busy", 12)):
                self.add((name, words[2]), int(words[column]))
        for line in read("/proc/net/dev").splitlines()[2:]:
            name, _, numbers = line.rpartition(":")
            numbers = [int(word) for word in numbers.split()]
            self.add(("in", name.strip()), numbers[0])
            self.add(("out", name.strip()), numbers[8])

    def read_iostat(self):
        report = subprocess.run([self.iostat, "-d", "-k", "-o", "JSON"], capture_output=True, text=True, check=True).stdout
        for disk in json.loads(report)["sysstat"]["hosts"][0]["statistics"][0]["disk"]:
            self.add(("kB_read", disk["disk_device"]), disk["kB_read"])
            self.add(("kB_wrtn", disk["disk_device"]), disk["kB_wrtn"])

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for thread in self.threads:
            thread.join()


class Load:
    """Something to see: one busy core, and a file written through to the disk."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "load")
        self.stopped = threading.Event()
        self.writer = threading.Thread(target=self.write)
        self.spinner = None

    def write(self):
        while not self.stopped.wait(0.1):
            with open(self.path, "wb") as file:
                file.write(os.urandom(4 * MIB))
                file.flush()
                os.fsync(file.fileno())

    def __enter__(self):
        self.spinner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        self.writer.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.writer.join()
        self.spinner.kill()
        self.spinner.wait()


# Field, tag that names the entity, counter, one unit of the counter in units of the field, and the error per second by rounding of
# the field and of the counter.
RATES = [
    ("sys.cpu.user", "core", "user", 100 / TICKS, 0.02),
    ("sys.cpu.kernel", "core", "kernel", 100 / TICKS, 0.02),
    ("sys.cpu.idle", "core", "idle", 100 / TICKS, 0.02),
    ("sys.cpu.usage", "core", "usage", 100 / TICKS, 0.02),
    ("sys.disk.read.mb", "disk", "sectors read", 512 / MIB, 0.001),
    ("sys.disk.write.mb", "disk", "sectors written", 512 / MIB, 0.001),
    ("sys.disk.read.ios", "disk", "reads", 1, 0.01),
    ("sys.disk.write.ios", "disk", "writes", 1, 0.01),
    ("sys.disk.usage", "disk", "busy", 0.1, 0.2),
    ("sys.net.in.mb", "interface", "in", 8 / MIB, 0.0001),
    ("sys.net.out.mb", "interface", "out", 8 / MIB, 0.0001),
    ("sys.context.switches", None, "ctxt", 1, 0.1),
    ("sys.interrupts", None, "intr", 1, 0.1),
    ("sys.tasks.created", None, "processes", 1, 0.1),
]
IOSTAT_RATES = [
    ("sys.disk.read.mb", "disk", "kB_read", 1 / 1024, 0.002),
    ("sys.disk.write.mb", "disk", "kB_wrtn", 1 / 1024, 0.002),
]
# Field, key of /proc/meminfo, and the possible change between two readings, in MiB.
GAUGES = [
    ("sys.mem.total", "MemTotal", 0.01),
    ("sys.mem.free", "MemFree", 32),
    ("sys.mem.available", "MemAvailable", 32),
    ("sys.mem.cached", "Cached", 16),
    ("sys.mem.shared", "Shmem", 1),
    ("sys.swap.total", "SwapTotal", 0.01),
    ("sys.swap.free", "SwapFree", 1),
]


class Report:
    def __init__(self):
        self.failures = 0

    def line(self, name, compared, problems):
        if compared == 0:
            problems = ["no value to compare"]
        self.failures += bool(problems)
        print(f"{'FAIL' if problems else 'ok':4} {name}: {compared} values" + "".join(f"\n     {text}" for text in problems[:3]))


def compare_rates(samples, tracks, rates, source, report):
    for field, tag, counter, unit, rounding in rates:
        compared, problems = 0, []
        for sample in samples:
            track = tracks.get((counter, sample["tags"].get(tag)) if tag else counter)
            if field not in sample["fields"] or track is None:
                continue
            end, seconds = sample["time"] / 1e9, sample["duration"] / 1e9
            before, after = track.around(end - seconds), track.around(end)
            least = max(0, after[0] - before[1]) * unit / (seconds + SLACK_S) - rounding
            most = (after[1] - before[0]) * unit / (seconds - SLACK_S) + rounding
            compared += 1
            if not least <= sample["fields"][field] <= most:
                problems.append(f"{sample['fields'][field]} is not within {least:.3f} and {most:.3f} at {end} {sample['tags']}")
        report.line(f"{field} and {source}", compared, problems)


def compare_gauges(samples, tracks, report):
    for field, key, moves in GAUGES:
        compared, problems = 0, []
        for sample in samples:
            if field not in sample["fields"] or key not in tracks:
                continue
            least, most = tracks[key].around(sample["time"] / 1e9)
            compared += 1
            if not least - moves <= sample["fields"][field] <= most + moves:
                problems.append(f"{sample['fields'][field]} is not within {least:.2f} and {most:.2f} of {key}")
        report.line(f"{field} and /proc/meminfo", compared, problems)


def values(samples, field, **tags):
    wanted = [sample for sample in samples if field in sample["fields"] and tags.items() <= sample["tags"].items()]
    return [sample["fields"][field] for sample in wanted]


def compare_free(samples, report):
    if not shutil.which("free"):
        print("skip free: it is not installed")
        return
    lines = subprocess.run(["free", "-m"], capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout
    for row, field in (("Mem:", "sys.mem.total"), ("Swap:", "sys.swap.total")):
        total = next(int(line.split()[1]) for line in lines.splitlines() if line.startswith(row))
        seen = values(samples, field)
        report.line(f"{field} and free -m", len(seen), [f"{value} is not {total}" for value in seen if abs(value - total) > 1])


def df():
    """Of each mount the bytes: size, used, available, and the per cent in use."""
    command = ["df", "-B1", "--output=target,size,used,avail,pcent"]
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()[1:]
    return {words[0]: words[1:] for words in map(str.split, lines)}


def compare_df(samples, before, report):
    mounts = sorted({sample["tags"]["mount"] for sample in samples if "sys.fs.size" in sample["fields"]})
    if not mounts or not shutil.which("df"):
        print("skip df: no file system was sampled" if not mounts else "skip df: it is not installed")
        return
    after = df()
    for mount in mounts:
        if mount not in before or mount not in after:
            print(f"skip df of {mount}: it has come or gone meanwhile")
            continue
        size, used, available, percent = after[mount]
        # The load comes and goes between the last window and df, and others write too.
        margin = 64 + 2 * abs(int(used) - int(before[mount][1])) / MIB
        for field, expected, margin in (("size", int(size) / MIB, 0.01), ("used", int(used) / MIB, margin), ("available", int(available) / MIB, margin),
                                        ("usage", int(percent.rstrip("%")) - 0.5, 1 + 100 * margin * MIB / int(size))):
            seen = values(samples, "sys.fs." + field, mount=mount)[-1:]
            report.line(f"sys.fs.{field} of {mount} and df", len(seen),
                        [f"{value} is not {expected} within {margin}" for value in seen if abs(value - expected) > margin])


def run(options, folder):
    output, pipeline = os.path.join(folder, "samples.json"), os.path.join(folder, "agreement.lua")
    with open(pipeline, "w", encoding="utf-8") as file:
        file.write(PIPELINE % output)
    command = [options.atalaya, "run", pipeline, "--plugins", options.plugins, "--for", f"{SECONDS}s"]
    with Load(folder), Poller() as poller:
        time.sleep(SLACK_S + 2 * POLL_S)  # so that there are readings on both sides of every window
        subprocess.run(command, check=True, timeout=SECONDS + 30)
        time.sleep(SLACK_S + 2 * POLL_S)
    return [json.loads(line) for line in read(output).splitlines()], poller


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--atalaya", required=True, help="the binary")
    parser.add_argument("--plugins", required=True, help="the folder of its plugins")
    options = parser.parse_args()
    report = Report()
    # Next to the build, not in /tmp: that is often memory, and the load must reach a disk.
    before = df() if shutil.which("df") else {}
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(options.atalaya))) as folder:
        samples, poller = run(options, folder)
        compare_rates(samples, poller.tracks, RATES, "/proc", report)
        if poller.iostat:
            compare_rates(samples, poller.tracks, IOSTAT_RATES, "iostat", report)
        else:
            print("skip iostat: it is not installed (package sysstat)")
        compare_gauges(samples, poller.tracks, report)
        compare_free(samples, report)
        compare_df(samples, before, report)
    print(f"{report.failures} disagreements")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
