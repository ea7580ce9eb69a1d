# SPDX-License-Identifier: Apache-2.0
"""The oracle for imports of MapReduce's histories: counts and sums of a .jhist file as JSON. It shares no code with atalaya: fastavro
reads the binary form, the json module the other one. Run by a Python that has fastavro: jhist.py FILE."""

import collections
import io
import json
import re
import statistics
import sys

import fastavro


def plain(value):
    """Removes the names of the types that Avro's JSON puts around the values of unions."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and next(iter(value)) in ("string", "long", "int", "boolean", "array", "map"):
        return plain(next(iter(value.values())))
    if len(value) == 1 and next(iter(value)).startswith("org.apache.hadoop."):
        return plain(next(iter(value.values())))
    return {key: plain(one) for key, one in value.items()}


def events(content):
    """Pairs (type, fields) of a history in either form."""
    form, schema, body = content.split(b"\n", 2)
    if form == b"Avro-Json":
        for line in filter(None, body.split(b"\n")):
            record = json.loads(line)
            yield record["type"], plain(record["event"])
        return
    assert form == b"Avro-Binary", form
    schema, file = fastavro.parse_schema(json.loads(schema)), io.BytesIO(body)
    while file.tell() < len(body):
        record = fastavro.schemaless_reader(file, schema)
        yield record["type"], record["event"]


def counter_name(group, name):
    return "counter." + re.sub(r"[^A-Za-z0-9._/-]", "_", f"{group}.{name}")


def add_phases(kind, start, event, sums):
    if kind == "map":
        ends = [("map", event["mapFinishTime"]), ("merge", event["finishTime"])]
    else:
        ends = [("shuffle", event["shuffleFinishTime"]), ("sort", event["sortFinishTime"]), ("reduce", event["finishTime"])]
    for phase, end in ends:
        sums["ms of the phase " + phase] += end - start
        start = end


def read(content):
    """Counts of attempts and stages; sums of all counters of all attempts, and of the times of the phases; the size of each cause."""
    sums, starts = collections.Counter(), {}
    counts = collections.Counter({f"{stage} attempts {end}": 0 for stage in ("map", "reduce") for end in ("succeeded", "failed", "killed")})
    durations, records, outcome = [], [], None
    for kind, event in events(content):
        if kind.endswith("_ATTEMPT_STARTED"):
            starts[event["attemptId"]] = event["startTime"]
        elif match := re.fullmatch(r"(MAP|REDUCE)_ATTEMPT_(FINISHED|FAILED|KILLED)", kind):
            if event["attemptId"] not in starts:  # killed before it had a container
                continue
            stage, end = match[1].lower(), match[2].lower().replace("finished", "succeeded")
            counts[f"{stage} attempts {end}"] += 1
            for group in (event["counters"] or {"groups": []})["groups"]:
                for counter in group["counts"]:
                    sums[counter_name(group["name"], counter["name"])] += counter["value"]
                    if counter["name"] == "REDUCE_INPUT_RECORDS":
                        records.append(counter["value"])
            if end == "succeeded":
                add_phases(stage, starts[event["attemptId"]], event, sums)
                if stage == "map":
                    durations.append(event["finishTime"] - starts[event["attemptId"]])
        elif kind in ("JOB_FINISHED", "JOB_FAILED", "JOB_KILLED", "JOB_ERROR"):
            outcome = {"JOB_FINISHED": "succeeded", "JOB_KILLED": "killed"}.get(kind, "failed")
    counts["job " + outcome] = 1
    total = lambda name: sums["counter.org.apache.hadoop.mapreduce.TaskCounter." + name]
    planted = (f"longest map {max(durations, default=0) / 1000:.1f} s of a median of {statistics.median(durations or [0]) / 1000:.1f} s; "
               f"records of the reduces: {', '.join(map(str, records)) or 'none'}; spilled: {total('SPILLED_RECORDS')}; "
               f"GC: {total('GC_TIME_MILLIS') / 1000:.1f} s of {sum(durations) / 1000:.1f} s of maps")
    return {"counts": dict(counts), "sums": dict(sums), "planted": planted}


def main():
    with open(sys.argv[1], "rb") as file:
        json.dump(read(file.read()), sys.stdout)


if __name__ == "__main__":
    main()
