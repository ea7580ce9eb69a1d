# SPDX-License-Identifier: Apache-2.0
"""Cost of the agent for a window that it reads, names, encodes, compresses and sends: 1,000 idle and 20 busy processes, 1 s windows.

send_bench.py ATALAYA. The receiver is a hub, whose own cost is not counted. The reference agent (atop, its pipeline, gzip and HTTP) cost
108 ms with as many processes on a machine where atop alone cost 39 ms. So it is 2.8 times atop, and atop is in this run.
"""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile

from bench_tools import ACTIVE, Atalaya, Ended, load, process_count, spread, verdict, watch

WARM_UP, WINDOWS, ROUNDS = 2, 4, 3
REFERENCE_MS, ITS_ATOP_MS = 108, 39


@contextlib.contextmanager
def hub(atalaya):
    """Its address; received samples are written to a file."""
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder:
        path, out = os.path.join(folder, "hub.lua"), os.path.join(folder, "out")
        with open(path, "w") as file:
            file.write(f"""local a = require "atalaya"
                a.pipeline "hub" {{ a.source.receive {{ listen = "127.0.0.1:0" }}, a.sink.file {{ path = "{out}", format = "samples" }} }}""")
        process = subprocess.Popen([atalaya.binary, "run", path], stderr=subprocess.PIPE, text=True, env=atalaya.environment(folder))
        try:
            address = next(line.split("listening on ")[1].split()[0] for line in process.stderr if "listening on" in line)
            yield address, out
        finally:
            process.terminate()
            process.stderr.close()
            process.wait()


def points(out):
    with open(out) as file:
        return sum(len(json.loads(line)["fields"]) for line in file)


def main():
    atalaya = Atalaya(sys.argv[1])
    with load(), hub(atalaya) as (address, out):
        print(f"{process_count()} processes; {ROUNDS} rounds of {WINDOWS} windows of 1 s")
        def agent(sink, *filters, source='backend = "bpf"'):
            return lambda: atalaya.watch(WINDOWS, WARM_UP, source, "names", *filters,
                                         f'a.sink.http {{ url = "http://{address}", {sink} }}')[0]
        zstd, puts = 'format = "jsonlines", compress = "zstd"', 'format = "opentsdb", compress = "gzip"'
        contenders = {"busy ones, opentsdb, gzip": agent(puts, ACTIVE), "busy ones, jsonlines, zstd": agent(zstd, ACTIVE),
                      "busy ones by active_only": agent(puts, ACTIVE, source='backend = "bpf", active_only = true'),
                      "all, opentsdb, gzip": agent(puts), "all, jsonlines, zstd": agent(zstd),
                      "atop -P PRC,PRM,PRD": lambda: watch(["atop", "-P", "PRC,PRM,PRD", "1"], WINDOWS, WARM_UP)}
        figures, sent = {name: [] for name in contenders}, {}
        for _ in range(ROUNDS):
            for name, once in contenders.items():
                before = points(out)
                try:
                    figures[name].append(once().ms)
                except Ended as error:
                    print(f"{name}: left out: {error}")
                sent[name] = (points(out) - before) // (WARM_UP + WINDOWS)
        atop = statistics.median(figures["atop -P PRC,PRM,PRD"] or [ITS_ATOP_MS])
        reference = REFERENCE_MS / ITS_ATOP_MS * atop
        for name, costs in figures.items():
            if not costs:
                continue
            middle = statistics.median(costs)
            print(f"{name:28} {spread(costs):>20} ms a window" + (f", about {sent[name]} points" if sent[name] else ""))
            if "busy" in name:
                print(f"    1/{reference / middle:.0f} of the reference agent ({reference:.0f} ms here, by way of atop; as measured there "
                      f"1/{REFERENCE_MS / middle:.0f}); goal at most 1/100: {verdict(middle <= reference / 100)}")


main()
