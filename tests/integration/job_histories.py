# SPDX-License-Identifier: Apache-2.0
"""Job histories as Hadoop and Spark write them, made for the tests, and a naive reader that counts their content.

The reader shares nothing with the agent's: it takes whole files, and looks up the fields in their JSON."""

import json
import struct

JOB = "job_1700000000000_0007"
START = 1_700_000_000_000
TASK_COUNTER = "org.apache.hadoop.mapreduce.TaskCounter"
FILE_COUNTER = "org.apache.hadoop.mapreduce.FileSystemCounter"


# ---- MapReduce: a job of three maps (one fails first) and two reduces -------------------------------------------------------

def counters(**groups):
    return [(group, list(values.items())) for group, values in groups.items()]


def map_counters(n):
    return [(FILE_COUNTER, [("FILE_BYTES_READ", 0), ("FILE_BYTES_WRITTEN", 1000 + n), ("HDFS_BYTES_READ", 5_000_000_000 + n)]),
            (TASK_COUNTER, [("MAP_INPUT_RECORDS", 100 + n), ("SPILLED_RECORDS", 50 + n), ("GC_TIME_MILLIS", 7 + n),
                            ("MAP_OUTPUT_MATERIALIZED_BYTES", 900 + n)]),
            ("My Group$1", [("odd name (é)", -n), ("MAP_INPUT_RECORDS", 1)])]


def reduce_counters(n):
    return [(TASK_COUNTER, [("REDUCE_INPUT_RECORDS", 30 + n), ("SPILLED_RECORDS", 3), ("GC_TIME_MILLIS", 11),
                            ("REDUCE_SHUFFLE_BYTES", 2 ** 40 + n)])]


def total_counters():
    return [(TASK_COUNTER, [("MAP_INPUT_RECORDS", 2 ** 62)])]


def mapreduce_events():
    """(type, {field: value}) in the order of a history; times in ms."""
    yield "JOB_SUBMITTED", {"jobid": JOB, "jobName": "sort it", "submitTime": START}
    yield "JOB_INITED", {"jobid": JOB, "totalMaps": 3, "totalReduces": 2}
    for n in range(3):
        yield "TASK_STARTED", {"taskid": task("m", n), "taskType": "MAP", "startTime": START + 100 + n, "splitLocations": f"n{n},n9"}
    for n in range(3):
        yield started("m", n, 0, START + 1000 + n, f"n{n + n % 2}", ["NODE_LOCAL", None, "OFF_SWITCH"][n])
    yield "MAP_ATTEMPT_FAILED", {"taskid": task("m", 2), "attemptId": attempt("m", 2, 0), "taskType": "MAP", "status": "FAILED",
                                 "finishTime": START + 1500, "hostname": "n2", "error": "a \"quoted\"\nerror.", "counters": None}
    yield started("m", 2, 1, START + 1600, "n1", "RACK_LOCAL")
    for n in range(3):
        yield "MAP_ATTEMPT_FINISHED", {
            "taskid": task("m", n), "attemptId": attempt("m", n, n // 2), "taskType": "MAP", "taskStatus": "SUCCEEDED",
            "mapFinishTime": START + 5000 + n, "finishTime": START + 5000 + n * 11, "hostname": f"n{n}", "rackname": "/r1",
            "counters": map_counters(n)}
        yield "TASK_FINISHED", {"taskid": task("m", n), "taskType": "MAP", "finishTime": START + 5001 + n * 11, "status": "SUCCEEDED",
                                "counters": map_counters(n)}
    for n in range(2):
        yield "TASK_STARTED", {"taskid": task("r", n), "taskType": "REDUCE", "startTime": START + 200 + n, "splitLocations": ""}
        yield started("r", n, 0, START + 3000 + n, f"n{n}", None)
        yield "REDUCE_ATTEMPT_FINISHED", {
            "taskid": task("r", n), "attemptId": attempt("r", n, 0), "taskType": "REDUCE", "taskStatus": "SUCCEEDED",
            "shuffleFinishTime": START + 6000, "sortFinishTime": START + 6000 + n * 40, "finishTime": START + 9000 + n, "hostname": f"n{n}",
            "counters": reduce_counters(n)}
        yield "TASK_FINISHED", {"taskid": task("r", n), "taskType": "REDUCE", "finishTime": START + 9001 + n, "status": "SUCCEEDED",
                                "counters": reduce_counters(n)}
    yield "JOB_FINISHED", {"jobid": JOB, "finishTime": START + 9500, "totalCounters": total_counters(), "mapCounters": map_counters(9),
                           "reduceCounters": reduce_counters(9)}


def task(kind, n):
    return f"{JOB.replace('job', 'task')}_{kind}_{n:06}"


def attempt(kind, n, tried):
    return f"{task(kind, n).replace('task', 'attempt')}_{tried}"


def started(kind, n, tried, time, host, locality):
    word = "MAP" if kind == "m" else "REDUCE"
    return word + "_ATTEMPT_STARTED", {"taskid": task(kind, n), "attemptId": attempt(kind, n, tried), "taskType": word,
                                       "startTime": time, "trackerName": host, "locality": locality}


# ---- its forms ----------------------------------------------------------------------------------------------------------------

RECORDS = {"JOB_SUBMITTED": "JobSubmitted", "JOB_INITED": "JobInited", "TASK_STARTED": "TaskStarted", "TASK_FINISHED": "TaskFinished",
           "MAP_ATTEMPT_STARTED": "TaskAttemptStarted", "REDUCE_ATTEMPT_STARTED": "TaskAttemptStarted",
           "MAP_ATTEMPT_FAILED": "TaskAttemptUnsuccessfulCompletion", "MAP_ATTEMPT_FINISHED": "MapAttemptFinished",
           "REDUCE_ATTEMPT_FINISHED": "ReduceAttemptFinished", "JOB_FINISHED": "JobFinished"}
SPACE = "org.apache.hadoop.mapreduce.jobhistory"
OPTIONAL = {"locality": "string", "error": "string"}  # as later versions have them


def json_counters(groups):
    return {"name": "COUNTERS", "groups": [
        {"name": group, "displayName": group, "counts": [{"name": n, "displayName": n, "value": v} for n, v in values]}
        for group, values in groups]}


def json_value(record, name, value):
    if name.lower().endswith("counters"):
        whole = json_counters(value) if value is not None else None
        optional = record == "TaskAttemptUnsuccessfulCompletion"
        return {SPACE + ".JhCounters": whole} if optional and whole else whole
    if name in OPTIONAL:
        return None if value is None else {OPTIONAL[name]: value}
    return value


def json_history(events):
    lines = ["Avro-Json", json.dumps(schema())]
    for kind, fields in events:
        record = RECORDS[kind]
        lines.append(json.dumps({"type": kind, "event": {f"{SPACE}.{record}": {
            name: json_value(record, name, value) for name, value in fields.items()}}}, ensure_ascii=False))
    return ("\n".join(lines) + "\n").encode()


def schema():
    """Avro's schema of the events above."""
    group = {"type": "record", "name": "JhCounterGroup", "fields": [
        {"name": "name", "type": "string"}, {"name": "displayName", "type": "string"},
        {"name": "counts", "type": {"type": "array", "items": {"type": "record", "name": "JhCounter", "fields": [
            {"name": "name", "type": "string"}, {"name": "displayName", "type": "string"}, {"name": "value", "type": "long"}]}}}]}
    whole = {"type": "record", "name": "JhCounters", "fields": [
        {"name": "name", "type": "string"}, {"name": "groups", "type": {"type": "array", "items": group}}]}
    known, branches = set(), []
    for kind, fields in mapreduce_events():
        record = RECORDS[kind]
        if record in known:
            continue
        known.add(record)
        members = []
        for name, value in fields.items():
            if name.lower().endswith("counters"):
                of = "JhCounters" if "JhCounters" in known else whole
                known.add("JhCounters")
                members.append({"name": name, "type": ["null", of] if record == "TaskAttemptUnsuccessfulCompletion" else of})
            elif name in OPTIONAL:
                members.append({"name": name, "type": ["null", "string"]})
            else:
                members.append({"name": name, "type": "string" if isinstance(value, str) else "long" if value >= 2 ** 31 else "int"})
        branches.append({"type": "record", "name": record, "fields": members})
    kinds = {"type": "enum", "name": "EventType", "symbols": list(RECORDS)}
    return {"type": "record", "name": "Event", "namespace": SPACE,
            "fields": [{"name": "type", "type": kinds}, {"name": "event", "type": branches}]}


def avro_long(value):
    value = (value << 1) ^ (value >> 63)
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def avro_text(text):
    raw = text.encode()
    return avro_long(len(raw)) + raw


def avro_list(items, negative):
    """One block; a negative count has its size behind it."""
    body = b"".join(items)
    if not items:
        return avro_long(0)
    return (avro_long(-len(items)) + avro_long(len(body)) if negative else avro_long(len(items))) + body + avro_long(0)


def avro_counters(groups):
    return avro_text("COUNTERS") + avro_list([
        avro_text(group) + avro_text(group) + avro_list([avro_text(n) + avro_text(n) + avro_long(v) for n, v in values], True)
        for group, values in groups], False)


def binary_history(events):
    out = b"Avro-Binary\n" + json.dumps(schema()).encode() + b"\n"
    records = list(dict.fromkeys(RECORDS[kind] for kind, _ in mapreduce_events()))
    for kind, fields in events:
        out += avro_long(list(RECORDS).index(kind)) + avro_long(records.index(RECORDS[kind]))
        for name, value in fields.items():
            optional = name in OPTIONAL or (name == "counters" and kind == "MAP_ATTEMPT_FAILED")
            if optional:
                out += avro_long(0 if value is None else 1)
            if value is None:
                continue
            if name.lower().endswith("counters"):
                out += avro_counters(value)
            else:
                out += avro_text(value) if isinstance(value, str) else avro_long(value)
    return out


def escaped(text, letters):
    return "".join("\\" + c if c in letters + "\\" else c for c in text)


def old_counters(groups):
    inner = lambda text: escaped(str(text), "{}()[]")
    return "".join("{(%s)(%s)%s}" % (inner(g), inner(g), "".join("[(%s)(%s)(%s)]" % (inner(n), inner(n), inner(v)) for n, v in values))
                   for g, values in groups)


OLD_NAMES = {"jobid": "JOBID", "jobName": "JOBNAME", "submitTime": "SUBMIT_TIME", "taskid": "TASKID", "attemptId": "TASK_ATTEMPT_ID",
             "taskType": "TASK_TYPE", "startTime": "START_TIME", "splitLocations": "SPLITS", "trackerName": "TRACKER_NAME",
             "locality": "LOCALITY", "hostname": "HOSTNAME", "error": "ERROR", "counters": "COUNTERS", "finishTime": "FINISH_TIME",
             "shuffleFinishTime": "SHUFFLE_FINISHED", "sortFinishTime": "SORT_FINISHED",
             "status": "TASK_STATUS", "taskStatus": "TASK_STATUS", "totalCounters": "COUNTERS", "mapCounters": "MAP_COUNTERS",
             "reduceCounters": "REDUCE_COUNTERS", "totalMaps": "TOTAL_MAPS", "totalReduces": "TOTAL_REDUCES"}


def without_merge(events):
    """The part of the events that a reader of the old text can know."""
    for kind, fields in events:
        yield kind, {**fields, "mapFinishTime": fields["finishTime"]} if "mapFinishTime" in fields else fields


def old_history(events):
    """The text of Hadoop 1, which has no mapFinishTime."""
    out = 'Meta VERSION="1" .\n'
    for kind, fields in events:
        record = "Job" if kind.startswith("JOB") else "Task" if kind.startswith("TASK") else \
            "MapAttempt" if kind.startswith("MAP") else "ReduceAttempt"
        values = []
        for name, value in fields.items():
            if value is None or name not in OLD_NAMES:
                continue
            text = old_counters(value) if name.lower().endswith("counters") else str(value)
            if name == "trackerName":
                text = f"tracker_{value}:localhost/127.0.0.1:4000"
            if name == "hostname":
                text = f"/r1/{value}"
            if value == "SUCCEEDED":
                text = "SUCCESS"
            values.append(f'{OLD_NAMES[name]}="{escaped(text, chr(34) + "=.")}"')
        if kind == "JOB_FINISHED":
            values.append('JOB_STATUS="SUCCESS"')
        out += record + " " + " ".join(values) + " .\n"
    return out.encode()


# ---- content of a history of MapReduce, counted from its events --------------------------------------------------------------------

def plain(value):
    """A value of Avro's JSON without its union."""
    if isinstance(value, dict) and len(value) == 1:
        key = next(iter(value))
        if key in ("string", "long", "int") or "." in key:
            return value[key]
    return value


def counter_fields(found):
    """Fields of a list of (group, [(name, value)]) or Avro's form of it."""
    if isinstance(found, dict):
        found = [(g["name"], [(c["name"], c["value"]) for c in g["counts"]]) for g in found["groups"]]
    safe = lambda text: "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" * len(c.encode()) for c in text)
    return {safe(f"counter.{group}.{name}"): value for group, values in found or [] for name, value in values}


def events_of_json(raw):
    for line in raw.decode().splitlines()[2:]:
        if line:
            event = json.loads(line)
            yield event["type"], {name: plain(value) for name, value in next(iter(event["event"].values())).items()}


def count_mapreduce(events):
    """{(level, task's attempt or stage or job, phase): (start, length, counters)} in ms."""
    out, begins, stages = {}, {}, {}
    job = submitted = None
    for kind, f in events:
        if kind == "JOB_SUBMITTED":
            job, submitted = f["jobid"], f["submitTime"]
        elif kind == "TASK_STARTED":
            stages.setdefault(f["taskType"].lower(), [f["startTime"], 0])
        elif kind in ("TASK_FINISHED", "TASK_FAILED"):
            stage = stages[f["taskType"].lower()]
            stage[1] = max(stage[1], f["finishTime"])
        elif kind.endswith("ATTEMPT_STARTED"):
            begins[f["attemptId"]] = f["startTime"]
        elif "ATTEMPT_" in kind:
            begin, who = begins[f["attemptId"]], f["attemptId"]
            out["task", who, ""] = (begin, f["finishTime"] - begin, counter_fields(f.get("counters")))
            if f.get("error"):
                out["error", who, ""] = (f["finishTime"], 0, {})
            steps = []
            if kind == "MAP_ATTEMPT_FINISHED":
                steps = [("map", begin, f["mapFinishTime"]), ("merge", f["mapFinishTime"], f["finishTime"])]
            if kind == "REDUCE_ATTEMPT_FINISHED":
                steps = [("shuffle", begin, f["shuffleFinishTime"]), ("sort", f["shuffleFinishTime"], f["sortFinishTime"]),
                         ("reduce", f["sortFinishTime"], f["finishTime"])]
            for phase, a, b in steps:
                if b > a or phase not in ("merge", "sort"):
                    out["phase", who, phase] = (a, b - a, {})
        elif kind == "JOB_FINISHED":
            out["job", job, ""] = (submitted, f["finishTime"] - submitted, counter_fields(f["totalCounters"]))
            for name, (begin, end) in stages.items():
                out["stage", name, ""] = (begin, end - begin, counter_fields(f[name + "Counters"]))
    return out


# ---- Spark --------------------------------------------------------------------------------------------------------------------------

def spark_events(app="application_1700000000000_0042", tasks=4):
    """A log as Spark 3 writes it: a stage that reads, and one that shuffles, whose second task fails."""
    yield {"Event": "SparkListenerLogStart", "Spark Version": "3.5.1"}
    yield {"Event": "SparkListenerEnvironmentUpdate", "JVM Information": {}, "Spark Properties": {
        "spark.executor.cores": "2", "spark.hadoop.fs.s3a.secret.key": "hidden", "spark.app.name": "x"}}
    yield {"Event": "SparkListenerApplicationStart", "App Name": "count words", "App ID": app, "Timestamp": START, "User": "u"}
    task_id = 0
    for stage in (0, 1):
        info = {"Stage ID": stage, "Stage Attempt ID": 0, "Stage Name": f"map at a.py:{stage}", "Number of Tasks": tasks,
                "Submission Time": START + 100 + stage * 10000}
        yield {"Event": "SparkListenerStageSubmitted", "Stage Info": info, "Properties": {}}
        for index in range(tasks):
            yield task_event("SparkListenerTaskStart", stage, index, task_id + index, 0)
        for index in range(tasks):
            yield task_event("SparkListenerTaskEnd", stage, index, task_id + index, 4000 + index * 100)
        task_id += tasks
        yield {"Event": "SparkListenerStageCompleted", "Stage Info": dict(info, **{
            "Completion Time": START + 9000 + stage * 10000, "Accumulables": [
                {"ID": 1, "Name": "internal.metrics.executorRunTime", "Value": 5, "Internal": True},
                {"ID": 2, "Name": "rows", "Value": 3}, {"ID": 3, "Name": "rows", "Value": "4"}]})}
    yield {"Event": "SparkListenerJobEnd", "Job ID": 0, "Completion Time": START + 20000, "Job Result": {"Result": "JobSucceeded"}}
    yield {"Event": "SparkListenerApplicationEnd", "Timestamp": START + 20100}


def run_again(events, run, later):
    """The same log as that of a later run of its application, `later` ms later."""
    times = {"Timestamp", "Submission Time", "Completion Time", "Launch Time", "Finish Time", "Getting Result Time"}

    def moved(value):
        if not isinstance(value, dict):
            return value
        return {name: inner + later if name in times and inner else moved(inner) for name, inner in value.items()}

    for event in events:
        event = moved(event)
        if event["Event"] == "SparkListenerApplicationStart":
            event["App Attempt ID"] = str(run)
        yield event


def task_event(event, stage, index, number, length):
    launch = START + 200 + stage * 10000 + index
    info = {"Task ID": number, "Index": index, "Attempt": 0, "Partition ID": index, "Launch Time": launch,
            "Executor ID": str(1 + index % 2), "Host": f"n{index % 2}.example.com",
            "Locality": ["NODE_LOCAL", "PROCESS_LOCAL", "ANY", "RACK_LOCAL"][index % 4], "Speculative": False,
            "Getting Result Time": launch + length - 50 if index == 3 and length else 0, "Finish Time": launch + length if length else 0,
            "Failed": False, "Killed": False, "Accumulables": []}
    whole = {"Event": event, "Stage ID": stage, "Stage Attempt ID": 0, "Task Info": info}
    if event == "SparkListenerTaskEnd":
        failed = stage == 1 and index == 1
        info["Failed"] = failed
        info["Accumulables"] = [{"ID": 2, "Name": "rows", "Update": 5, "Value": 9},
                                {"ID": 9, "Name": "internal.metrics.resultSize", "Update": 1, "Internal": True}]
        whole["Task End Reason"] = {"Reason": "ExceptionFailure"} if failed else {"Reason": "Success"}
        whole["Task Executor Metrics"] = {"JVMHeapMemory": 1000 + number}
        whole["Task Metrics"] = {
            "Executor Deserialize Time": 20 + index, "Executor Run Time": 3500, "Result Size": 10, "JVM GC Time": 40,
            "Result Serialization Time": index % 2, "Memory Bytes Spilled": 0, "Disk Bytes Spilled": 2 ** 33,
            "Shuffle Read Metrics": {"Remote Blocks Fetched": 1, "Local Blocks Fetched": 1, "Fetch Wait Time": 300 * stage,
                                     "Remote Bytes Read": 1000 * stage, "Local Bytes Read": 500 * stage, "Total Records Read": 5 * stage},
            "Shuffle Write Metrics": {"Shuffle Bytes Written": 700, "Shuffle Write Time": 250_999_999, "Shuffle Records Written": 6},
            "Input Metrics": {"Bytes Read": 0 if stage else 100_000, "Records Read": 0 if stage else 77},
            "Output Metrics": {"Bytes Written": 0, "Records Written": 0}, "Updated Blocks": []}
    return whole


def spark_log(events):
    return "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events).encode()


def count_spark(raw):
    """{(level, attempt or stage or application, phase): (start, length, counters)}; of phases the start is not logged."""
    out = {}
    app = begun = None
    run = ""  # of the ids in a later run of the application
    for line in raw.decode().splitlines():
        e = json.loads(line)
        kind = e["Event"]
        if kind == "SparkListenerApplicationStart":
            app, begun = e["App ID"], e["Timestamp"]
            run = e.get("App Attempt ID", "1") + "/"
            run = "" if run == "1/" else run
        elif kind == "SparkListenerApplicationEnd":
            out["job", app, ""] = (begun, e["Timestamp"] - begun, {})
        elif kind == "SparkListenerStageCompleted":
            info = e["Stage Info"]
            sums = {}
            for one in info.get("Accumulables", []):
                if "Value" in one and str(one["Value"]).lstrip("-").isdigit():
                    sums[one["Name"]] = sums.get(one["Name"], 0) + int(one["Value"])
            out["stage", run + str(info["Stage ID"]), ""] = (
                info["Submission Time"], info["Completion Time"] - info["Submission Time"],
                counter_fields([("Accumulables", list(sums.items()))]))
        elif kind == "SparkListenerTaskEnd":
            info, m = e["Task Info"], e["Task Metrics"]
            who, begin, end = run + str(info["Task ID"]), info["Launch Time"], info["Finish Time"]
            groups = [("Task Metrics", [(k, v) for k, v in m.items() if isinstance(v, int)])]
            groups += [(k, list(v.items())) for k, v in m.items() if isinstance(v, dict)]
            groups = [(g, [(k, v) for k, v in values if isinstance(v, int)]) for g, values in groups]
            groups.append(("Task Executor Metrics", list(e.get("Task Executor Metrics", {}).items())))
            groups.append(("Accumulables", [(a["Name"], a["Update"]) for a in info.get("Accumulables", [])
                                            if not a["Name"].startswith("internal.")]))
            out["task", who, ""] = (begin, end - begin, counter_fields(groups))
            if e["Task End Reason"]["Reason"] != "Success":
                out["error", who, ""] = (end, 0, {})
            read, write = m.get("Shuffle Read Metrics", {}), m.get("Shuffle Write Metrics", {})
            wait, written = read.get("Fetch Wait Time", 0), write.get("Shuffle Write Time", 0) // 10 ** 6
            result = info["Getting Result Time"]
            lengths = {"deserialize": m["Executor Deserialize Time"], "shuffle-read": wait, "shuffle-write": written,
                       "compute": m["Executor Run Time"] - wait - written, "result-serialize": m["Result Serialization Time"],
                       "result-fetch": end - result if result else 0}
            for phase, length in lengths.items():
                if length:
                    out["phase", who, phase] = (None, length, {})
    return out


# ---- Spark's codecs, each in its simplest form ------------------------------------------------------------------------------------

def pieces(raw, size):
    return [raw[i:i + size] for i in range(0, len(raw), size)]


def lz4_blocks(raw):
    """LZ4BlockOutputStream with stored blocks, and the empty one that ends it."""
    head = lambda size: b"LZ4Block" + bytes([0x15]) + struct.pack("<iiI", size, size, 0)
    return b"".join(head(len(piece)) + piece for piece in pieces(raw, 4096)) + head(0)


def snappy_blocks(raw):
    """SnappyOutputStream; each block is one literal."""
    out = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
    for piece in pieces(raw, 5000):
        size, length = len(piece), b""
        while size > 127:
            length += bytes([size & 127 | 128])
            size >>= 7
        block = length + bytes([size]) + bytes([61 << 2]) + struct.pack("<H", len(piece) - 1) + piece
        out += struct.pack(">i", len(block)) + block
    return out


def lzf_chunks(raw):
    return b"".join(b"ZV\0" + struct.pack(">H", len(piece)) + piece for piece in pieces(raw, 60000))
