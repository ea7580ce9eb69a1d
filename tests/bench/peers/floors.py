# SPDX-License-Identifier: Apache-2.0
"""Costs that no program can avoid: a bare write, the entropy of the values, the bandwidth of loopback."""

import array
import collections
import lzma
import math
import os
import time

SERIES, OF = 20, 200  # the series that are looked at, of those in the lines of `store_bench day`
BLOCK = 1 << 20


def write_of(size, points, folder):
    """Points per CPU second if they are only written, block by block, and flushed to the disk."""
    block, path = os.urandom(BLOCK), os.path.join(folder, "floor")
    before = time.process_time()
    with open(path, "wb", buffering=0) as file:
        for at in range(0, size, BLOCK):
            file.write(block[:min(BLOCK, size - at)])
        os.fsync(file.fileno())
    cpu = time.process_time() - before
    os.remove(path)
    return {"rate": points / max(cpu, 1e-6) / 1e6, "bytes": size / points}


def values_of(lines):
    """Hundredths of the first series, each in order."""
    series = [array.array("i") for _ in range(SERIES)]
    with open(lines, "rb") as file:
        for number, line in enumerate(file):
            if number % OF < SERIES:
                value = line.rsplit(b" ", 2)[1].partition(b"=")[2]
                series[number % OF].append(round(float(value) * 100))
    return series


def entropy_of(lines):
    """Bytes a point: entropy of the difference to the value before, given whether that was 0."""
    counts = {True: collections.Counter(), False: collections.Counter()}
    for values in values_of(lines):
        for before, value in zip(values, values[1:]):
            counts[before == 0][value - before] += 1
    bits = sum(-count * math.log2(count / sum(counter.values())) for counter in counts.values() for count in counter.values())
    return bits / sum(sum(counter.values()) for counter in counts.values()) / 8


def xz_of(lines):
    """Bytes a point: xz -9 of each series as 16-bit integers."""
    packed = points = 0
    for values in values_of(lines):
        packed += len(lzma.compress(array.array("H", values).tobytes(), preset=9))
        points += len(values)
    return packed / points
