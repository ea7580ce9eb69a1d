# SPDX-License-Identifier: Apache-2.0
"""Runs applications on a real Spark next to a real agent, and compares what atalaya stored with oracles: the event log, read by
event_log.py, and the CPU time of the control group of the executors."""

import contextlib
import glob
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import event_log
import judge
from judge import CALM, ControlGroup
from harness import Agent

HERE = os.path.dirname(os.path.abspath(__file__))
VERSIONS = {"4": "4.3.0", "3": "3.5.7"}  # of the package pyspark

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
COLUMNS = (judge.COUNTS, judge.SUMS, judge.CPU, judge.FINDING)

def install(version, cache):
    """The folder of this version of pyspark, in a virtual environment below the cache."""
    place = os.path.join(cache, "spark-" + version)
    found = lambda: glob.glob(place + "/lib/python3*/site-packages/pyspark/bin/spark-submit")
    if not found():
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        subprocess.run([place + "/bin/pip", "install", "-q", "pyspark==" + version], check=True)
    return os.path.dirname(os.path.dirname(found()[0])), place + "/bin/python3"


PIPELINE = """local a = require "atalaya"
local common = require "atalaya.common"
local store = a.sink.sqlite {{}}
common.host {{ every = "{window}s", store }}
common.processes {{ every = "{window}s", store }}
a.pipeline "histories" {{ a.source.hadoop {{ path = "{events}", look_every = "1s" }}, store }}
"""


def stored(agent, application):
    """Counts and sums of an application in the store, by the names of event_log.py."""
    facts = dict.fromkeys(("executors", "stages", "stages failed", "tasks", "tasks succeeded", "tasks killed", "tasks failed"), 0)
    keys = {"counter." + ".".join(("Task Metrics", *path)[-2:]).replace(" ", "_"): name for name, path in event_log.METRICS.items()}
    sums = dict.fromkeys(event_log.METRICS, 0)
    for kind, _, _, fields in judge.spans_of(agent, application):
        outcome = fields.get("span.outcome")
        if kind == "executor":
            facts["executors"] += 1
        elif kind == "stage" and outcome in (0, 1):
            facts["stages"] += 1
            facts["stages failed"] += outcome == 1
        elif kind == "task":
            facts["tasks"] += 1
            facts["tasks " + {0: "succeeded", 1: "failed", 2: "killed"}.get(outcome, "failed")] += 1
            for key, name in keys.items():
                sums[name] += fields.get(key, 0)
    return facts, sums


class Run:
    def __init__(self, options):
        self.version = VERSIONS[options.release]
        self.cache, self.window = os.path.abspath(options.cache), options.window
        self.rows = judge.Rows("Spark " + self.version, COLUMNS)

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
                        self.rows.add(name, judge.COUNTS, "failed", "no complete run")

    def one(self, home, python, folder, name, program, arguments, settings, expected):
        events = os.path.join(folder, "events")
        os.mkdir(events)
        group = None
        with contextlib.suppress(OSError):
            group = ControlGroup(f"atalaya-real-{os.getpid()}-{name}")
        agent = Agent(folder, PIPELINE.format(window=self.window, events=events))
        try:
            agent.running()
            judge.store_of(agent)
            self.submit(home, python, folder, events, group, program, arguments, settings)
            judge.wait_for_windows(agent, self.window, 2)
            logs = [path for path in glob.glob(events + "/*") if not path.endswith(".inprogress")]
            assert len(logs) == 1, f"{name}: no event log; see {folder}/spark.log:\n" + open(folder + "/spark.log").read()[-2000:]
            self.compare(agent, name, logs[0], group, expected)
        finally:
            if agent.process.poll() is None:
                agent.stop()
            if group:
                group.remove()

    def submit(self, home, python, folder, events, group, program, arguments, settings):
        java = judge.wrapped_java(folder, "*ExecutorBackend*", group.procs if group else "/dev/null")
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
        environment = dict(os.environ, SPARK_HOME=home, JAVA_HOME=java, PYSPARK_PYTHON=python, SPARK_LOCAL_IP="127.0.0.1",
                           SPARK_LOCAL_DIRS=folder + "/local")
        environment.pop("PYTHONPATH", None)
        with open(folder + "/spark.log", "w") as log:
            subprocess.run(command, stdout=log, stderr=log, env=environment, cwd=folder, timeout=600)

    def compare(self, agent, name, log, group, expected):
        application, facts, sums, planted = event_log.read(log)
        our_facts, our_sums = stored(agent, application)
        self.rows.same(name, judge.COUNTS, our_facts, {key: facts[key] for key in our_facts})
        self.rows.same(name, judge.SUMS, our_sums, sums)
        if group:
            self.rows.near(name, judge.CPU, judge.reported_seconds(agent, "application", [application]), group.seconds())
        self.rows.found(name, agent, application, expected, planted.get(name, "nothing wrong"))
