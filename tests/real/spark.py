# SPDX-License-Identifier: Apache-2.0
"""Runs applications on a real Spark next to a real agent, and compares what atalaya stored with oracles: the event log, read by
event_log.py, and the CPU time of the control group of the executors."""

import contextlib
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../integration"))
sys.dont_write_bytecode = True

import event_log
from harness import BINARY, Agent

HERE = os.path.dirname(os.path.abspath(__file__))
VERSIONS = {"4": "4.3.0", "3": "3.5.7"}  # of the package pyspark
CPU_TOLERANCE = 0.02
CALM = r"no bottleneck found"

# Name, program, arguments, settings, and a pattern that the first lines of `bottleneck` match. {examples} and {data} are in the wheel.
APPLICATIONS = [
    ("pi", "{examples}/pi.py", ["8"], {}, CALM),
    ("pagerank", "{examples}/pagerank.py", ["{data}/mllib/pagerank_data.txt", "3"], {}, CALM),
    ("join", "spark_jobs.py", ["join", "4000000"], {}, CALM),
    ("skew", "spark_jobs.py", ["skew", "400000"], {"spark.sql.adaptive.enabled": "false"}, r"skew|more (bytes|data|records)|hot key"),
    ("failing", "spark_jobs.py", ["failing", "100000"], {}, r"fail"),
    ("gc", "spark_jobs.py", ["gc", "2400000"], {
        "spark.memory.fraction": "0.85", "spark.sql.shuffle.partitions": "4", "spark.sql.adaptive.enabled": "false",
        "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "10000000"}, r"garbage collection"),
    ("one-partition", "spark_jobs.py", ["one-partition", "300000"], {}, r"partition|slots|at a time|parallel"),
]
SMALL = ("pi", "join", "failing")

# The executors run in a control group of their own: the JAVA_HOME of Spark has this program as java.
JAVA = """#!/bin/sh
case "$*" in *ExecutorBackend*) echo $$ >{procs} ;; esac
exec {java} "$@"
"""


def install(version, cache):
    """The folder of this version of pyspark, in a virtual environment below the cache."""
    place = os.path.join(cache, "spark-" + version)
    found = lambda: glob.glob(place + "/lib/python3*/site-packages/pyspark/bin/spark-submit")
    if not found():
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        subprocess.run([place + "/bin/pip", "install", "-q", "pyspark==" + version], check=True)
    return os.path.dirname(os.path.dirname(found()[0])), place + "/bin/python3"


class ControlGroup:
    """A group for CPU time, of version 2 or 1, whichever counts here; none without the right to create one."""

    def __init__(self, name):
        unified = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
        root = "/sys/fs/cgroup" if unified else "/sys/fs/cgroup/cpuacct"
        self.path = os.path.join(root, name)
        os.mkdir(self.path)
        self.procs = self.path + "/cgroup.procs"
        self.unified = unified

    def seconds(self):
        with open(self.path + ("/cpu.stat" if self.unified else "/cpuacct.usage")) as file:
            text = file.read()
        return int(re.search(r"usage_usec (\d+)", text)[1]) / 1e6 if self.unified else int(text) / 1e9

    def remove(self):
        until = time.monotonic() + 30
        while True:
            try:
                return os.rmdir(self.path)
            except OSError:  # its last process is ending
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)


PIPELINE = """local a = require "atalaya"
local common = require "atalaya.common"
local store = a.sink.sqlite {{}}
common.host {{ every = "{window}s", store }}
common.processes {{ every = "{window}s", store }}
a.pipeline "histories" {{ a.source.hadoop {{ path = "{events}", look_every = "1s" }}, store }}
"""


def ask(agent, *words):
    done = subprocess.run([BINARY, *words, "--store", agent.folder + "/atalaya.db"], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else "exit status %d: %s" % (done.returncode, done.stderr)


def sql(agent, text):
    return json.loads(ask(agent, "sql", "--format", "json", text))


def stored(agent, application):
    """Counts and sums of an application in the store, by the names of event_log.py."""
    facts = dict.fromkeys(("executors", "stages", "stages failed", "tasks", "tasks succeeded", "tasks killed", "tasks failed"), 0)
    names = {str(row["id"]): row["name"] for row in sql(agent, "select id, name from metrics")}
    spans = sql(agent, "select s.name, s.fields from spans s join entities e on e.id = s.entity "
                       f"where json_extract(e.tags, '$.job') = '{application}'")
    keys = {"counter." + ".".join(("Task Metrics", *path)[-2:]).replace(" ", "_"): name for name, path in event_log.METRICS.items()}
    sums = dict.fromkeys(event_log.METRICS, 0)
    for span in spans:
        fields = {names[key]: value for key, value in json.loads(span["fields"] or "{}").items()}
        outcome = fields.get("span.outcome")
        if span["name"] == "executor":
            facts["executors"] += 1
        elif span["name"] == "stage" and outcome in (0, 1):
            facts["stages"] += 1
            facts["stages failed"] += outcome == 1
        elif span["name"] == "task":
            facts["tasks"] += 1
            facts["tasks " + {0: "succeeded", 1: "failed", 2: "killed"}.get(outcome, "failed")] += 1
            for key, name in keys.items():
                sums[name] += fields.get(key, 0)
    return facts, sums


def reported_seconds(agent, application):
    """CPU seconds in `atalaya report --by application`; None if it has no row."""
    text = ask(agent, "report", "--by", "application", "--metric", "proc.cpu.*", "--top", "1000", "--format", "json", "--from", "-2h")
    try:
        rows = json.loads(text)
    except ValueError:
        return None
    used = [row["sum"] for row in rows if application in row.values() and row["metric"] in ("proc.cpu.user", "proc.cpu.kernel")]
    return sum(used) if used else None


def newest_window(agent):
    """Time of the newest window in the store, in seconds; 0 without one."""
    return (sql(agent, "select max(time_ns) t from windows")[0]["t"] or 0) / 1e9


def wait_for_windows(agent, window, count):
    """Until the store has windows that began after this moment, the number times."""
    end = time.time() + window * count
    until = time.monotonic() + window * count + 60
    while newest_window(agent) < end:
        assert time.monotonic() < until, "no window arrived:\n" + agent.errors()
        time.sleep(0.5)


class Run:
    def __init__(self, release, cache, window):
        self.version = VERSIONS[release]
        self.cache, self.window = os.path.abspath(cache), window
        self.rows = []

    def row(self, compared, ours, oracle, result):
        self.rows.append((f"Spark {self.version}", compared, str(ours), str(oracle), result))
        print(*self.rows[-1], sep=" | ", flush=True)

    def all(self, names):
        home, python = install(self.version, self.cache)
        with tempfile.TemporaryDirectory(prefix="atalaya-real-") as folder:
            for name, *parts in APPLICATIONS:
                if name in names:
                    os.mkdir(os.path.join(folder, name))
                    try:
                        self.one(home, python, os.path.join(folder, name), name, *parts)
                    except (AssertionError, subprocess.TimeoutExpired) as error:  # the other applications still run
                        print(error, file=sys.stderr)
                        self.row(f"{name}: run", "none", "a complete run", "failed")

    def one(self, home, python, folder, name, program, arguments, settings, expected):
        events = os.path.join(folder, "events")
        os.mkdir(events)
        group = None
        with contextlib.suppress(OSError):
            group = ControlGroup(f"atalaya-real-{os.getpid()}-{name}")
        agent = Agent(folder, PIPELINE.format(window=self.window, events=events))
        try:
            agent.running()
            until = time.monotonic() + 60
            while not os.path.exists(folder + "/atalaya.db"):
                assert time.monotonic() < until, agent.errors()
                time.sleep(0.1)
            self.submit(home, python, folder, events, group, program, arguments, settings)
            wait_for_windows(agent, self.window, 2)
            logs = [path for path in glob.glob(events + "/*") if not path.endswith(".inprogress")]
            assert len(logs) == 1, f"{name}: no event log; see {folder}/spark.log:\n" + open(folder + "/spark.log").read()[-2000:]
            self.compare(agent, name, logs[0], group, expected)
        finally:
            if agent.process.poll() is None:
                agent.stop()
            if group:
                group.remove()

    def submit(self, home, python, folder, events, group, program, arguments, settings):
        os.makedirs(folder + "/java/bin")
        real = os.path.realpath(os.path.join(os.environ.get("JAVA_HOME", "/usr/lib/jvm/default-java"), "bin/java"))
        with open(folder + "/java/bin/java", "w") as file:
            file.write(JAVA.format(java=real, procs=group.procs if group else "/dev/null"))
        os.chmod(folder + "/java/bin/java", 0o755)
        places = {"examples": home + "/examples/src/main/python", "data": home + "/data"}
        # One plain file, whose end is the end of the application; loopback only.
        settings = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": "file://" + events, "spark.eventLog.rolling.enabled": "false",
                    "spark.eventLog.compress": "false", "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1",
                    "spark.driver.bindAddress": "127.0.0.1", "spark.sql.shuffle.partitions": "8", "spark.executor.memory": "512m",
                    "spark.driver.memory": "512m", **settings}
        command = [home + "/bin/spark-submit", "--master", "local-cluster[2,1,512]"]
        for key, value in settings.items():
            command += ["--conf", f"{key}={value}"]
        command += [os.path.join(HERE, program.format(**places)), *(word.format(**places) for word in arguments)]
        environment = dict(os.environ, SPARK_HOME=home, JAVA_HOME=folder + "/java", PYSPARK_PYTHON=python, SPARK_LOCAL_IP="127.0.0.1",
                           SPARK_LOCAL_DIRS=folder + "/local")
        environment.pop("PYTHONPATH", None)
        with open(folder + "/spark.log", "w") as log:
            subprocess.run(command, stdout=log, stderr=log, env=environment, cwd=folder, timeout=600)

    def compare(self, agent, name, log, group, expected):
        application, facts, sums, planted = event_log.read(log)
        our_facts, our_sums = stored(agent, application)
        for label, ours, oracle in (("counts of executors, stages, tasks, outcomes", our_facts, {key: facts[key] for key in our_facts}),
                                    (f"{len(sums)} sums of task metrics", our_sums, sums)):
            differing = [key for key in oracle if ours[key] != oracle[key]]
            show = differing or [max(oracle, key=oracle.get)] if label[0] != "c" else differing or ["tasks"]
            self.row(f"{name}: {label}", ", ".join(f"{key} {ours[key]}" for key in show),
                     ", ".join(f"{key} {oracle[key]}" for key in show), "differs" if differing else "pass")
        if group:
            used, ours = group.seconds(), reported_seconds(agent, application)
            near = ours is not None and abs(ours - used) <= CPU_TOLERANCE * used
            self.row(f"{name}: CPU of the executors, windows of {self.window} s", "none" if ours is None else f"{ours:.2f} core-s",
                     f"{used:.2f} core-s", "pass" if near else "short" if ours is None else f"short ({100 * (ours / used - 1):+.1f} %)")
        first = ask(agent, "bottleneck", "--job", application).split("\n\n")[0].strip().splitlines()
        first = " ".join(" / ".join(first[:2]).replace("|", "/").split())[:160] if first else "nothing"
        named = re.search(expected, first, re.I)
        self.row(f"{name}: first finding", first, planted.get(name, "nothing wrong"), "pass" if named else "short")
