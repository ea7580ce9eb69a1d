# SPDX-License-Identifier: Apache-2.0
"""A store of 10 GB: a query of a small part costs the same as in a small store, and cost grows with the points that are read.

big_store_bench.py ATALAYA STORE_BENCH [GIGABYTES]. A day of 200 processes at 1 s is written as the agent would; its packed chunks are
then copied for other hosts until the file is so large: writing 10 thousand million points would take more than an hour."""

import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

from bench_tools import spread

ROUNDS = 5
GB = 1_000_000_000


def size(store):
    return os.path.getsize(store) / GB


def grow(store, gigabytes):
    """Copies of all that the first host has, until the file is so large."""
    with sqlite3.connect(store) as database:
        hosts = 1
        database.execute("PRAGMA synchronous = OFF")
        step, sets = (database.execute(f"SELECT max(id) FROM {table}").fetchone()[0] for table in ("entity_rows", "tag_sets"))
        while size(store) < gigabytes:
            database.execute("INSERT INTO tag_sets(id, host, process, tags) SELECT id + ?1 * ?2, 'copy' || ?1, process, tags FROM tag_sets WHERE id <= ?2",
                             (hosts, sets))
            database.execute("INSERT INTO entity_rows(id, tag_set, pid, seen_s, first_s, last_s) "
                             "SELECT id + ?1 * ?2, tag_set + ?1 * ?3, pid, seen_s, first_s, last_s FROM entity_rows WHERE id <= ?2", (hosts, step, sets))
            database.execute("INSERT INTO entity_shapes SELECT entity + ?1 * ?2, shape FROM entity_shapes WHERE entity <= ?2", (hosts, step))
            database.execute("INSERT INTO chunks(entity, first_ns, last_ns, arrived_ns, head, data) "
                             "SELECT entity + ?1 * ?2, first_ns, last_ns, arrived_ns, head, data FROM chunks WHERE entity BETWEEN 1 AND ?2", (hosts, step))
            database.commit()
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            hosts += 1
    return hosts


def ask(atalaya, store, begin, hours, *options):
    """Seconds and MiB of a question, and its answer."""
    command = [atalaya, "query", "--metric", "proc.cpu.user", "--store", store, "--from", str(begin), "--to", str(begin + int(hours * 3600)), "--max-points",
               "1000000000", "--format", "csv", *options]
    with tempfile.TemporaryFile() as out:
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = status
        if status != 0:
            sys.exit("big_store_bench: " + " ".join(command))
        out.seek(0)
        return seconds, usage.ru_maxrss / 1024, out.read()


def measure(atalaya, store, begin, hours, *options):
    """Median and spread of the seconds, and the most memory."""
    answers = [ask(atalaya, store, begin, hours, *options) for _ in range(ROUNDS)]
    return [seconds for seconds, _, _ in answers], max(memory for _, memory, _ in answers)


def report(atalaya, store, begin, hosts):
    print(f"{size(store):.2f} GB, {hosts} hosts:")
    one = ("--tag", "host=bench", "--tag", "pid=1007")
    times, memory = measure(atalaya, store, begin, 0.25, *one, "--every", "1m")
    print(f"  a quarter of an hour of one process, from the start of the program: {spread(times, 3)} s, {memory:.1f} MiB (goal: opens within 1 s)")
    times, memory = measure(atalaya, store, begin, 24, "--tag", "host=bench", "--every", "10m-sum")
    print(f"  a day of one host's 200 series by ten minutes: {spread(times, 3)} s, {memory:.1f} MiB")
    by_length = []
    for hours in (3, 6, 12, 24):
        times, memory = measure(atalaya, store, begin, hours, "--tag", "host=bench", "--every", "10m-p50")
        points = hours * 3600 * 200
        by_length.append(statistics.median(times) / points * 1e9)
        print(f"  {hours:2} h of them by every point: {spread(times, 3)} s, {by_length[-1]:.1f} ns a point, {memory:.1f} MiB")
    print(f"  a point of 24 h costs {by_length[-1] / by_length[0]:.2f} of one of 3 h (linear: 1 or less, as the start is in it)")


def main():
    atalaya, bench = sys.argv[1:3]
    gigabytes = float(sys.argv[3]) if len(sys.argv) > 3 else 10
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-", dir="/var/tmp") as folder:
        store, lines = os.path.join(folder, "big.db"), os.path.join(folder, "lines")
        subprocess.run([bench, "day", store, lines], check=True, stdout=subprocess.DEVNULL)
        os.remove(lines)
        begin = (int(time.time()) // 86400 - 2) * 86400
        report(atalaya, store, begin, 1)
        hosts = grow(store, gigabytes)
        report(atalaya, store, begin, hosts)


if __name__ == "__main__":
    main()
