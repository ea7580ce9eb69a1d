# SPDX-License-Identifier: Apache-2.0
"""Predictions of `bottleneck --critical-path` against the same job on a small cluster (tests/cluster) after the change was made.

what_if_bench.py ATALAYA [RUNS [KIND...]]: RUNS runs of each kind (default 3): one executor more (3 and 4 nodes), a node as fast as
the others, no remote reads.
"""

import json
import os
import shutil
import statistics
import sys
import tempfile

os.environ["ATALAYA"] = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
import cluster as mini  # noqa: E402
from cluster import NODES, Cluster, build_engine  # noqa: E402
from node_limits import reason_without_limits  # noqa: E402

SPLITS = 24
mini.CORES = 0.2  # of each node: four of them must fit on this machine, or one more is none
GOAL = 10  # per cent
# Kind: the fault before, the nodes before and after, and the words of the prediction.
KINDS = {
    "one executor more": (None, NODES[:3], NODES),
    "node n3 as fast as the others": ("cpu", NODES, NODES),
    "no remote reads": ("remote", NODES, NODES),
}


def job_on(folder, classes, fault, names):
    """The critical path of a job, its length as its spans have it and the predictions."""
    os.mkdir(folder)
    cluster = Cluster(folder, classes, fault, names)
    try:
        cluster.run_job("small", 1)
        tasks = cluster.run_job("big", SPLITS)
        cluster.report("big", tasks)
        return json.loads(cluster.bottleneck("--job", "big", "--critical-path", "--format", "json"))
    finally:
        cluster.close()
        shutil.rmtree(folder)


def one_run(folder, classes, kind):
    """Seconds before, predicted and done; predicted is None if the report has no such prediction."""
    fault, before, after = KINDS[kind]
    path = job_on(folder + "-before", classes, fault, before)
    predicted = next((one["seconds"] for one in path["whatIf"]["predictions"] if one["change"] == kind), None)
    return path["seconds"], predicted, job_on(folder + "-after", classes, None, after)["seconds"]


def main():
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    folder = tempfile.mkdtemp(prefix="atalaya-whatif-")
    try:
        reason = reason_without_limits(folder)
        if reason:
            print("skipped:", reason)
            return
        classes = build_engine(os.path.join(folder, "classes"))
        near = 0
        for number, kind in enumerate(sys.argv[3:] or KINDS):
            misses = []
            for run in range(runs):
                before, predicted, done = one_run(os.path.join(folder, f"{number}-{run}"), classes, kind)
                misses.append(float("inf") if predicted is None else 100 * (predicted / done - 1))
                print(f"  {kind}: {before:.1f} s before, predicted {predicted if predicted is None else round(predicted, 1)} s, "
                      f"done {done:.1f} s: {misses[-1]:+.1f} %", flush=True)
            miss = statistics.median(misses)
            near += abs(miss) <= GOAL
            print(f"{kind}: the prediction differs by {miss:+.1f} % (median of {runs}; {min(misses):+.1f} to {max(misses):+.1f})", flush=True)
        print(f"{near} of {len(sys.argv[3:] or KINDS)} kinds within {GOAL} %")
    finally:
        shutil.rmtree(folder)


main()
