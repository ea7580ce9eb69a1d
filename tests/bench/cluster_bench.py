# SPDX-License-Identifier: Apache-2.0
"""How often `bottleneck` names the fault of a small cluster (tests/cluster), and the gain of removing it.

cluster_bench.py ATALAYA [RUNS [FAULT...]]: RUNS runs of each kind (default 10) of a mix of jobs; hits, misses, false findings,
and, in the first three of a fault, the time of the largest job before and after the cause was removed, and the difference between
this time and the prediction of `bottleneck --critical-path`.
"""

import json

import os
import shutil
import statistics
import sys
import tempfile
import time

os.environ["ATALAYA"] = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
from cluster import FAULTS, MIX, Cluster, build_engine  # noqa: E402
from node_limits import reason_without_limits  # noqa: E402
from verdict import missing  # noqa: E402

WITHOUT_FAULT = 3  # runs of each fault that continue without it
PUBLISHED = 19  # per cent that the run time of jobs fell in the publication (E5.8)


def run_mix(cluster, round_):
    """Seconds of the largest job, its name and its tasks; the small ones go before."""
    for number, splits in enumerate(MIX[:-1]):
        cluster.run_job(f"{round_}-{number}", splits)
    begin = time.monotonic()
    tasks = cluster.run_job(f"{round_}-big", MIX[-1])
    return time.monotonic() - begin, f"{round_}-big", tasks


def predicted(cluster, job, fault):
    """Seconds of the job if the node of the fault were as fast as the others; the job's spans only, as the prediction's replay."""
    path = json.loads(cluster.bottleneck("--job", job, "--critical-path", "--format", "json"))
    change = f"node {FAULTS[fault][0]} as fast as the others"
    return next((one["seconds"] for one in path["whatIf"]["predictions"] if one["change"] == change), None), path["seconds"]


def one_run(folder, classes, fault, continues_without):
    """Missing or false parts of the report, by how many per cent the largest job is shorter without the fault, and by how many per cent
    the prediction misses this."""
    os.mkdir(folder)
    cluster = Cluster(folder, classes, fault)
    try:
        seconds, job, tasks = run_mix(cluster, "before")
        wrong = missing(cluster.report(job, tasks), FAULTS[fault], fault)
        if not continues_without:
            return wrong, None, None
        prediction, _ = predicted(cluster, job, fault)
        cluster.remove_fault()
        cluster.fault = None
        seconds_without, job, tasks = run_mix(cluster, "after")
        cluster.report(job, tasks)
        _, in_spans = predicted(cluster, job, fault)
        miss = None if prediction is None else 100 * (prediction / in_spans - 1)
        return wrong, 100 * (1 - seconds_without / seconds), miss
    finally:
        cluster.close()
        shutil.rmtree(folder)


def main():
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    folder = tempfile.mkdtemp(prefix="atalaya-cluster-")
    try:
        reason = reason_without_limits(folder)
        if reason:
            print("skipped:", reason)
            return
        classes = build_engine(os.path.join(folder, "classes"))
        for fault in sys.argv[3:] or FAULTS:
            results = []
            for number in range(runs):
                wrong, gain, miss = one_run(os.path.join(folder, f"{fault}-{number}"), classes, fault, fault != "healthy" and number < WITHOUT_FAULT)
                if wrong:
                    print(f"  {fault} {number} missed:", "; ".join(wrong), flush=True)
                results.append((wrong, gain, miss))
            hits = sum(not wrong for wrong, _, _ in results)
            line = f"{fault}: {hits} of {runs} as it should be"
            gains = [gain for _, gain, _ in results if gain is not None]
            misses = [miss for _, _, miss in results if miss is not None]
            if gains:
                line += (f"; without the fault, the largest job took {statistics.median(gains):.0f} % less "
                         f"({min(gains):.0f} to {max(gains):.0f}; {PUBLISHED} % in the publication)")
            if misses:
                line += f"; predictions differ from this by {', '.join(f'{miss:+.0f}' for miss in misses)} %"
            print(line, flush=True)
    finally:
        shutil.rmtree(folder)


main()
