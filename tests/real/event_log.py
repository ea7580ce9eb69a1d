# SPDX-License-Identifier: Apache-2.0
"""The oracle for imports of Spark's event logs: counts and sums from the lines themselves. It shares no code with atalaya."""

import collections
import json
import statistics

# Name of the sum, and its path in "Task Metrics".
METRICS = {
    "run time (ms)": ("Executor Run Time",),
    "CPU time (ns)": ("Executor CPU Time",),
    "GC time (ms)": ("JVM GC Time",),
    "shuffle read, local (B)": ("Shuffle Read Metrics", "Local Bytes Read"),
    "shuffle read, remote (B)": ("Shuffle Read Metrics", "Remote Bytes Read"),
    "shuffle written (B)": ("Shuffle Write Metrics", "Shuffle Bytes Written"),
    "spill, memory (B)": ("Memory Bytes Spilled",),
    "spill, disk (B)": ("Disk Bytes Spilled",),
    "input (B)": ("Input Metrics", "Bytes Read"),
}


def uneven(times):
    """The largest factor between the longest task of a stage and the median one; `times` has the run times by stage."""
    return max((max(stage) / max(statistics.median(stage), 1) for stage in times.values()), default=0)


def read(path):
    """Facts of one application from its plain event log: its id, counts, sums, and the size of each cause that is planted."""
    facts = collections.Counter()
    sums = dict.fromkeys(METRICS, 0)
    times = collections.defaultdict(list)
    application = None
    with open(path) as lines:
        for line in lines:
            event = json.loads(line)
            kind = event["Event"]
            if kind == "SparkListenerApplicationStart":
                application = event["App ID"]
            elif kind == "SparkListenerJobStart":
                facts["jobs"] += 1
            elif kind == "SparkListenerJobEnd":
                facts["jobs failed"] += event["Job Result"]["Result"] != "JobSucceeded"
            elif kind == "SparkListenerExecutorAdded":
                facts["executors"] += 1
            elif kind == "SparkListenerStageCompleted":
                facts["stages"] += 1
                facts["stages failed"] += "Failure Reason" in event["Stage Info"]
            elif kind == "SparkListenerTaskEnd":
                reason = event["Task End Reason"]["Reason"]
                outcome = {"Success": "succeeded", "TaskKilled": "killed"}.get(reason, "failed")
                facts["tasks"] += 1
                facts["tasks " + outcome] += 1
                times[event["Stage ID"]].append((event.get("Task Metrics") or {}).get("Executor Run Time", 0))
                for name, (first, *rest) in METRICS.items():
                    value = (event.get("Task Metrics") or {}).get(first, 0)
                    for key in rest:
                        value = (value or {}).get(key, 0)
                    sums[name] += value or 0
    planted = {"failing": f"{facts['tasks failed']} tasks failed",
               "gc": f"GC is {100 * sums['GC time (ms)'] / max(sums['run time (ms)'], 1):.0f} % of the run time",
               "skew": f"the longest task of a stage takes {uneven(times):.1f} times the median",
               "one-partition": f"{facts['tasks']} of {facts['executors']} slots used"}
    return application, facts, sums, planted
