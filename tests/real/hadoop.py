# SPDX-License-Identifier: Apache-2.0
"""Runs MapReduce jobs on real daemons of Hadoop (HDFS, YARN, JobHistoryServer) next to a real agent, and compares what atalaya stored
with oracles: the history, read by jhist.py with fastavro, and the CPU time of the control groups of the containers and daemons."""

import contextlib
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True

import judge
from judge import CALM, ControlGroup, wait
from harness import Agent

HERE = os.path.dirname(os.path.abspath(__file__))
VERSION = "3.5.0"
FASTAVRO = "1.12.1"
STAGING = "/tmp/hadoop-yarn/staging"

# Name, main class, arguments, and a pattern that the first lines of `bottleneck` match.
PLANTED = "PlantedJobs"
JSON = "-Dmapreduce.jobhistory.jhist.format=json"
APPLICATIONS = [
    ("text", "org.apache.hadoop.RandomTextWriterJob", [
        "-Dmapreduce.randomtextwriter.bytespermap=20000000", "-Dmapreduce.randomtextwriter.totalbytes=40000000", "/text"], CALM),
    ("words", "org.apache.hadoop.mapred.WordCount", [JSON, "-m", "2", "-r", "1", "/text", "/words"], CALM),
    ("dfsio", "org.apache.hadoop.fs.TestDFSIO", ["-write", "-nrFiles", "2", "-size", "64MB"], CALM),
    ("even", PLANTED, ["-Dmapreduce.job.reduces=2", "even", "4", "20000", "/even"], CALM),
    ("failing", PLANTED, ["-Dmapreduce.map.maxattempts=2", "failing", "4", "10000", "/failing"], r"planted error"),
    ("slow-map", PLANTED, ["-Dmapreduce.job.reduces=1", "slow-map", "6", "10000", "/slow-map"], r"slow|longer|times"),
    ("skew", PLANTED, ["-Dmapreduce.job.reduces=3", "skew", "4", "30000", "/skew"], r"skew|hot key|more (bytes|data|records)"),
    ("tiny", PLANTED, ["-Dmapreduce.job.reduces=1", "tiny", "12", "100", "/tiny"], r"tiny|small|many tasks|start"),
    ("spill", PLANTED, ["-Dmapreduce.task.io.sort.mb=1", "-Dmapreduce.task.io.sort.factor=2", "-Dmapreduce.job.reduces=1", "spill", "2",
                        "50000", "/spill"], r"spill|io\.sort\.mb"),
    ("gc", PLANTED, ["-Dmapreduce.map.java.opts=-Xmx96m -XX:+UseSerialGC", "-Dmapreduce.task.io.sort.mb=8", "gc", "4", "15000", "/gc"],
     r"garbage collection"),
]
SMALL = ("even",)
BY_JOB, RUNNING = "the same by job", "while it runs"
COLUMNS = (judge.COUNTS, judge.SUMS, judge.CPU, BY_JOB, RUNNING, judge.FINDING)

DAEMONS = {
    "NameNode": "org.apache.hadoop.hdfs.server.namenode.NameNode",
    "DataNode": "org.apache.hadoop.hdfs.server.datanode.DataNode",
    "ResourceManager": "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager",
    "NodeManager": "org.apache.hadoop.yarn.server.nodemanager.NodeManager",
    "JobHistoryServer": "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer",
}
# The second ones connect to the first ones, with pauses of seconds if these are not ready.
FIRST, SECOND = ("NameNode", "DataNode", "ResourceManager"), ("NodeManager", "JobHistoryServer")
OPENS = [word for package in ("lang", "util", "net", "nio") for word in ("--add-opens", f"java.base/java.{package}=ALL-UNNAMED")]

LOG4J = """log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
"""
PIPELINE = """local a = require "atalaya"
local common = require "atalaya.common"
local store = a.sink.sqlite {{}}
common.host {{ every = "{window}s", store }}
common.processes {{ every = "{window}s", store }}
"""
# Added when HDFS answers: after an answer that takes long, the source pauses for twenty times as long.
HISTORIES = """a.pipeline "histories" {{ a.source.hadoop {{ path = "auto", root = "{root}", look_every = "1s" }}, store }}
"""


def fastavro(cache):
    """A Python with fastavro, in a virtual environment below the cache."""
    place = os.path.join(cache, "fastavro-" + FASTAVRO)
    if not glob.glob(place + "/lib/python3*/site-packages/fastavro"):
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        subprocess.run([place + "/bin/pip", "install", "-q", "fastavro==" + FASTAVRO], check=True)
    return place + "/bin/python3"


def request(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read()


class Cluster:
    """A NameNode, DataNode, ResourceManager, NodeManager and JobHistoryServer on 127.0.0.1."""

    def __init__(self, folder, lib):
        self.folder, self.lib = folder, lib
        self.root = folder + "/root"  # has etc/hadoop/conf
        self.conf = self.root + "/etc/hadoop/conf"
        os.makedirs(self.conf)
        self.processes, self.groups = {}, {}
        # A link to the group of the containers that start next.
        self.containers = folder + "/containers"
        self.java = judge.wrapped_java(folder, "*mapred.YarnChild*|*app.MRAppMaster*", self.containers + "/cgroup.procs")
        self.build()
        self.configure()

    def build(self):
        subprocess.run([judge.java_home() + "/bin/javac", "-nowarn", "-cp", self.lib + "/*", "-d", self.folder + "/classes",
                        HERE + "/PlantedJobs.java"], check=True)
        self.jar = self.folder + "/planted-jobs.jar"
        subprocess.run([judge.java_home() + "/bin/jar", "cf", self.jar, "-C", self.folder + "/classes", "."], check=True)

    def configure(self):
        hdfs, web, *ports = judge.free_ports(11)
        self.web = f"http://127.0.0.1:{web}"
        self.resource_manager = f"http://127.0.0.1:{ports[0]}"
        self.history_server = f"http://127.0.0.1:{ports[8]}"
        local = "127.0.0.1:0"
        self.write("core", {"fs.defaultFS": f"hdfs://127.0.0.1:{hdfs}", "hadoop.tmp.dir": self.folder + "/tmp",
                            "hadoop.http.staticuser.user": "root"})
        self.write("hdfs", {
            "dfs.namenode.http-address": f"127.0.0.1:{web}", "dfs.datanode.address": local, "dfs.datanode.http.address": local,
            "dfs.datanode.ipc.address": local, "dfs.replication": "1", "dfs.datanode.hostname": "127.0.0.1",
            "dfs.blocksize": "33554432", "dfs.namenode.safemode.extension": "0", "dfs.datanode.du.reserved": "0"})
        self.write("yarn", {
            "yarn.resourcemanager.hostname": "127.0.0.1", "yarn.resourcemanager.webapp.address": f"127.0.0.1:{ports[0]}",
            "yarn.resourcemanager.address": f"127.0.0.1:{ports[1]}", "yarn.resourcemanager.scheduler.address": f"127.0.0.1:{ports[2]}",
            "yarn.resourcemanager.resource-tracker.address": f"127.0.0.1:{ports[3]}",
            "yarn.resourcemanager.admin.address": f"127.0.0.1:{ports[4]}", "yarn.nodemanager.hostname": "127.0.0.1",
            "yarn.nodemanager.address": local, "yarn.nodemanager.localizer.address": f"127.0.0.1:{ports[5]}",
            "yarn.nodemanager.webapp.address": local, "yarn.nodemanager.aux-services": "mapreduce_shuffle",
            "yarn.nodemanager.resource.memory-mb": "1536", "yarn.scheduler.minimum-allocation-mb": "256",
            "yarn.nodemanager.vmem-check-enabled": "false", "yarn.nodemanager.local-dirs": self.folder + "/local",
            "yarn.nodemanager.log-dirs": self.folder + "/logs", "yarn.nodemanager.delete.debug-delay-sec": "3600",
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
            "yarn.node-attribute.fs-store.root-dir": f"file://{self.folder}/attributes",
            "yarn.application.classpath": f"{self.conf},{self.lib}/*"})
        self.write("mapred", {
            "mapreduce.framework.name": "yarn", "mapreduce.shuffle.port": "0", "mapreduce.application.classpath": f"{self.conf},{self.lib}/*",
            "yarn.app.mapreduce.am.resource.mb": "512", "yarn.app.mapreduce.am.command-opts": "-Xmx256m",
            "mapreduce.map.memory.mb": "512", "mapreduce.map.java.opts": "-Xmx320m", "mapreduce.reduce.memory.mb": "512",
            "mapreduce.reduce.java.opts": "-Xmx320m", "mapreduce.jobhistory.address": f"127.0.0.1:{ports[6]}",
            "mapreduce.jobhistory.webapp.address": f"127.0.0.1:{ports[8]}", "mapreduce.jobhistory.admin.address": f"127.0.0.1:{ports[7]}",
            "mapreduce.jobhistory.move.interval-ms": "2000", "yarn.app.mapreduce.am.staging-dir": STAGING})
        with open(self.conf + "/log4j.properties", "w") as file:
            file.write(LOG4J)

    def write(self, name, settings):
        with open(f"{self.conf}/{name}-site.xml", "w") as file:
            properties = "".join(f"<property><name>{key}</name><value>{value}</value></property>\n" for key, value in settings.items())
            file.write(f"<configuration>\n{properties}</configuration>\n")

    def command(self, main, *words, heap="256m"):
        return [judge.java_home() + "/bin/java", "-Xmx" + heap, *OPENS, "-cp", f"{self.conf}:{self.jar}:{self.lib}/*", main, *words]

    def environment(self):
        return dict(os.environ, JAVA_HOME=self.java, HADOOP_CONF_DIR=self.conf, HADOOP_USER_NAME="root")

    def start(self):
        with open(self.folder + "/format.log", "w") as log:
            subprocess.run(self.command(DAEMONS["NameNode"], "-format", "-nonInteractive"), stdout=log, stderr=log, check=True,
                           timeout=300)
        for names in FIRST, SECOND:
            for name in names:
                self.launch(name)
            wait(self.ready, 300, self.problems, 1)

    def launch(self, name):
        with contextlib.suppress(OSError):
            self.groups[name] = ControlGroup(f"atalaya-real-{os.getpid()}-{name}")
        group = self.groups.get(name)
        with open(f"{self.folder}/{name}.log", "w") as log:
            self.processes[name] = subprocess.Popen(self.command(DAEMONS[name]), stdout=log, stderr=log, env=self.environment(),
                                                    cwd=self.folder, preexec_fn=group.enter if group else None)

    def ready(self):
        """Whether each of the processes serves the others."""
        assert all(process.poll() is None for process in self.processes.values()), self.problems()
        try:
            beans = json.loads(request(self.web + "/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"))["beans"]
            nodes = json.loads(request(self.resource_manager + "/ws/v1/cluster/metrics"))["clusterMetrics"]["activeNodes"]
            history = "JobHistoryServer" not in self.processes or request(self.history_server + "/ws/v1/history/info")
        except OSError:
            return False
        return bool(beans) and beans[0]["NumLiveDataNodes"] == 1 and nodes == ("NodeManager" in self.processes) and bool(history)

    def problems(self):
        """The end of each daemon's log."""
        lines = []
        for name in self.processes:
            with open(f"{self.folder}/{name}.log") as log:
                lines += [name, *log.read().splitlines()[-5:]]
        return "\n".join(lines)

    def moved_histories(self, job):
        try:
            return self.histories(job)
        except OSError:  # the JobHistoryServer moves files now
            return []

    def histories(self, job, folder=STAGING + "/history"):
        """Paths in HDFS of the job's history, when the JobHistoryServer has moved it."""
        found = []
        for entry in json.loads(request(f"{self.web}/webhdfs/v1{folder}?op=LISTSTATUS"))["FileStatuses"]["FileStatus"]:
            path = f"{folder}/{entry['pathSuffix']}"
            if entry["type"] == "DIRECTORY":
                found += self.histories(job, path)
            elif "/done/" in path and entry["pathSuffix"].startswith(job) and path.endswith(".jhist"):
                found.append(path)
        return found

    def fetch(self, path, target):
        with open(target, "wb") as file:
            file.write(request(f"{self.web}/webhdfs/v1{urllib.parse.quote(path)}?op=OPEN"))  # names of files contain %2D

    def stop(self):
        for process in reversed(self.processes.values()):
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for group in self.groups.values():
            group.remove()


def stored(agent, job):
    """Counts and sums of the job in the store, by the names of jhist.py."""
    counts = dict.fromkeys((f"{stage} attempts {end}" for stage in ("map", "reduce") for end in ("succeeded", "failed", "killed")), 0)
    sums = {}
    outcomes = {0: "succeeded", 1: "failed", 2: "killed", None: "open"}
    for name, duration, tags, fields in judge.spans_of(agent, job):
        outcome = outcomes[fields.get("span.outcome")]
        key = f"{tags['stage']} attempts {outcome}" if name == "task" else f"job {outcome}" if name == "job" else None
        if key:
            counts[key] = counts.get(key, 0) + 1
        if name == "phase":
            key = "ms of the phase " + tags["phase"]
            sums[key] = sums.get(key, 0) + duration // 1_000_000
        if name == "task":
            for key, value in fields.items():
                if key.startswith("counter."):
                    sums[key] = sums.get(key, 0) + value
    return counts, sums


class Run:
    def __init__(self, options):
        self.cache, self.window = os.path.abspath(options.cache), options.window
        self.rows = judge.Rows("Hadoop " + VERSION, COLUMNS)

    def all(self, names):
        lib = judge.jars(f"{self.cache}/hadoop-{VERSION}", "org.apache.hadoop:hadoop-minicluster:" + VERSION)
        self.python = fastavro(self.cache)
        with tempfile.TemporaryDirectory(prefix="atalaya-real-") as folder:
            cluster = Cluster(folder, lib)
            os.mkdir(folder + "/agent")
            pipeline = PIPELINE.format(window=self.window)
            self.agent = Agent(folder + "/agent", pipeline)
            try:
                self.agent.running()
                judge.store_of(self.agent)
                cluster.start()
                self.agent.write(pipeline + HISTORIES.format(root=cluster.root))
                self.agent.reload()
                self.agent.wait_line("reloaded")
                for name, *parts in APPLICATIONS:
                    if name in names:
                        self.try_one(cluster, name, *parts)
                self.daemons(cluster)
            finally:
                cluster.stop()
                if self.agent.process.poll() is None:
                    self.agent.stop()

    def try_one(self, cluster, name, *parts):
        """The other applications still run after a failure."""
        group = None
        with contextlib.suppress(OSError):
            group = ControlGroup(f"atalaya-real-{os.getpid()}-{name}")
        with contextlib.suppress(FileNotFoundError):
            os.remove(cluster.containers)
        os.symlink(group.path if group else "/nonexistent", cluster.containers)
        try:
            self.one(cluster, name, group, *parts)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            print(error, file=sys.stderr)
            self.rows.add(name, judge.COUNTS, "failed", "no complete run")
        finally:
            if group:
                group.remove()

    def one(self, cluster, name, group, main, words, expected):
        log = f"{cluster.folder}/{name}.log"
        with open(log, "w") as file:
            client = subprocess.Popen(cluster.command(main, *words), stdout=file, stderr=file, env=cluster.environment(),
                                      cwd=cluster.folder)
        try:
            running = self.seen_while_running(client, log)
            client.wait(600)
        finally:
            client.kill()
            client.wait()
        with open(log) as file:
            text = file.read()
        found = re.search(r"Submitted application (application_(\d+_\d+))", text)
        assert found, f"{name} was not submitted:\n{text[-2000:]}"
        job = "job_" + found[2]
        paths = wait(lambda: cluster.moved_histories(job), 60, lambda: f"{name}: no history of {job}:\n{text[-2000:]}")
        cluster.fetch(paths[0], f"{cluster.folder}/{name}.jhist")
        judge.wait_for_windows(self.agent, self.window, 2)
        with contextlib.suppress(AssertionError):  # if the job never ends in the store, its comparisons fail
            wait(lambda: self.ended(job), 60, str)
        self.compare(name, found[1], job, f"{cluster.folder}/{name}.jhist", group, expected)
        if running is not None:
            self.rows.add(name, RUNNING, "pass" if running else "short", "spans of the job" if running else "nothing")

    def ended(self, job):
        return any(name == "job" and "span.outcome" in fields for name, _, _, fields in judge.spans_of(self.agent, job))

    def seen_while_running(self, client, log):
        """Whether the store has a span of the open job while its maps run; None if that time was too short."""
        def text():
            with open(log) as file:
                return file.read()

        started, ended = r"map [1-9]\d*%", r"map 100%|Job \S+ (completed|failed)"
        wait(lambda: client.poll() is not None or re.search(started, text()), 600, lambda: "no progress in " + log)
        found = re.search(r"Running job: (job_\d+_\d+)", text())
        seen, checks = False, 0
        while found and not seen and client.poll() is None and not re.search(ended, text()):
            seen = any(True for _ in judge.spans_of(self.agent, found[1])) and not self.ended(found[1])
            checks += 1
            with contextlib.suppress(subprocess.TimeoutExpired):
                client.wait(1)
        return seen if checks > 5 or seen else None

    def compare(self, name, application, job, history, group, expected):
        done = subprocess.run([self.python, HERE + "/jhist.py", history], capture_output=True, text=True, check=True)
        oracle = json.loads(done.stdout)
        counts, sums = stored(self.agent, job)
        self.rows.same(name, judge.COUNTS, counts, oracle["counts"])
        self.rows.same(name, judge.SUMS, sums, oracle["sums"])
        if group:
            self.rows.near(name, judge.CPU, judge.reported_seconds(self.agent, "application", [application]), group.seconds())
            self.rows.near(name, BY_JOB, judge.reported_seconds(self.agent, "job", [application]), group.seconds())
        self.rows.found(name, self.agent, job, expected, oracle["planted"])

    def daemons(self, cluster):
        """CPU time of the daemons that start no other program. They stop for a window, so that both figures are of the same time."""
        names = [name for name in ("NameNode", "DataNode", "ResourceManager", "JobHistoryServer") if name in cluster.groups]
        for name in names:
            cluster.processes[name].send_signal(signal.SIGSTOP)
        judge.wait_for_windows(self.agent, self.window, 1)
        for name in names:
            pid = str(cluster.processes[name].pid)
            self.rows.near("daemon " + name, judge.CPU, judge.reported_seconds(self.agent, "pid", [pid]), cluster.groups[name].seconds())
            cluster.processes[name].send_signal(signal.SIGCONT)
