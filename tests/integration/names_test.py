# SPDX-License-Identifier: Apache-2.0
"""Names of processes: real JVMs whose main classes have the real names, started as the frameworks start them; real scripts."""

import collections
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import zipfile

from harness import PATIENCE, AgentCase, main

PIPELINE = """
local a = require "atalaya"
a.pipeline "names" {
  every = "1s",
  a.source.proc { host = false, cgroups = false, backend = "procfs" },
  a.translate.names { %s },
  a.sink.file { path = "%s", format = "samples" },
}
"""

# A stub, started with as little of a JVM as there can be.
JAVA = ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-Xmx16m"]
STUB = """
package %s;
public class %s {
  public static void main(String[] arguments) throws Exception {
    System.out.println("up");
    System.in.read();
  }
}
"""
AT_ONCE = 13  # JVMs

HADOOP = "-Dproc_x -Djava.net.preferIPv4Stack=true -Dyarn.log.dir=/var/log/hadoop -Dhadoop.root.logger=INFO,RFA"
SPARK = "org.apache.spark.deploy.SparkSubmit --master yarn --conf spark.driver.memory=1g"
EXECUTOR = "--driver-url spark://CoarseGrainedScheduler@h:4711 --executor-id 3 --hostname h --cores 2 --app-id application_1_0002"
YARN_CHILD = "org.apache.hadoop.mapred.YarnChild 127.0.0.1 40000"

# options and arguments as the framework's own scripts pass them -> name, and tags that are added
FRAMEWORKS = [
    (f"{HADOOP} org.apache.hadoop.hdfs.server.namenode.NameNode", "NameNode"),
    (f"{HADOOP} org.apache.hadoop.hdfs.server.namenode.SecondaryNameNode", "SecondaryNameNode"),
    (f"{HADOOP} org.apache.hadoop.hdfs.server.datanode.DataNode", "DataNode"),
    (f"{HADOOP} org.apache.hadoop.hdfs.server.datanode.SecureDataNodeStarter", "DataNode"),
    (f"{HADOOP} org.apache.hadoop.hdfs.qjournal.server.JournalNode", "JournalNode"),
    (f"{HADOOP} org.apache.hadoop.hdfs.tools.DFSZKFailoverController", "ZKFC"),
    (f"{HADOOP} org.apache.hadoop.yarn.server.resourcemanager.ResourceManager", "ResourceManager"),
    (f"{HADOOP} org.apache.hadoop.yarn.server.nodemanager.NodeManager", "NodeManager"),
    (f"{HADOOP} org.apache.hadoop.mapreduce.v2.app.MRAppMaster", "MRAppMaster"),
    (f"{HADOOP} org.apache.hadoop.yarn.server.applicationhistoryservice.ApplicationHistoryServer", "ApplicationHistoryServer"),
    (f"{HADOOP} org.apache.hadoop.yarn.server.timelineservice.reader.TimelineReaderServer", "TimelineReaderServer"),
    (f"{HADOOP} org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer", "JobHistoryServer"),
    (f"{YARN_CHILD} attempt_1550857210098_0003_m_000002_0 4", "YarnChild", {"attempt": "attempt_1550857210098_0003_m_000002_0"}),
    (f"{YARN_CHILD} attempt_1550857210098_0003_r_000000_1 9", "YarnChild", {"attempt": "attempt_1550857210098_0003_r_000000_1"}),
    (f"{SPARK} --class com.example.etl.Nightly --jars a.jar,b.jar job.jar 2026", "driver Nightly"),
    (f"{SPARK} --py-files deps.py /srv/jobs/count.py in.py", "driver count.py"),
    (f"{SPARK} --name PySparkShell pyspark-shell", "driver"),
    (f"{SPARK} --class org.apache.spark.sql.hive.thriftserver.HiveThriftServer2 spark-internal", "SparkThriftServer"),
    ("org.apache.spark.deploy.worker.DriverWrapper spark://Worker@h:7078 /w/driver-1/job.jar com.example.Job 5", "driver Job"),
    ("org.apache.spark.deploy.master.Master --host h --port 7077 --webui-port 8080", "SparkMaster"),
    ("org.apache.spark.deploy.worker.Worker --webui-port 8081 spark://h:7077", "SparkWorker"),
    ("org.apache.spark.deploy.history.HistoryServer", "SparkHistoryServer"),
    ("org.apache.spark.deploy.yarn.ApplicationMaster --class com.example.Job --jar job.jar", "SparkApplicationMaster"),
    ("org.apache.spark.deploy.yarn.ExecutorLauncher --arg h:4711", "SparkApplicationMaster"),
] + [
    (f"{backend} {EXECUTOR}", "executor 3", {"executor": "3", "application": "application_1_0002", "job": "application_1_0002"})
    for backend in ("org.apache.spark.executor.CoarseGrainedExecutorBackend",
                    "org.apache.spark.executor.YarnCoarseGrainedExecutorBackend",
                    "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend")
] + [
    ("kafka.Kafka config/server.properties", "Kafka"),
    ("org.apache.kafka.connect.cli.ConnectDistributed config/connect.properties", "KafkaConnect"),
    ("org.apache.kafka.connect.cli.ConnectStandalone config/connect.properties", "KafkaConnect"),
    ("org.apache.zookeeper.server.quorum.QuorumPeerMain conf/zoo.cfg", "ZooKeeper"),
    ("org.apache.zookeeper.server.ZooKeeperServerMain conf/zoo.cfg", "ZooKeeper"),
    ("org.apache.cassandra.service.CassandraDaemon", "Cassandra"),
    ("-Dproc_master org.apache.hadoop.hbase.master.HMaster start", "HMaster"),
    ("-Dproc_regionserver org.apache.hadoop.hbase.regionserver.HRegionServer start", "HRegionServer"),
    ("org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint --configDir conf --executionMode cluster", "JobManager"),
    ("org.apache.flink.container.entrypoint.StandaloneApplicationClusterEntryPoint --configDir conf", "JobManager"),
    ("org.apache.flink.yarn.entrypoint.YarnJobClusterEntrypoint", "JobManager"),
    ("org.apache.flink.yarn.entrypoint.YarnSessionClusterEntrypoint", "JobManager"),
    ("org.apache.flink.yarn.entrypoint.YarnApplicationClusterEntryPoint", "JobManager"),
    ("org.apache.flink.kubernetes.entrypoint.KubernetesSessionClusterEntrypoint", "JobManager"),
    ("org.apache.flink.runtime.taskexecutor.TaskManagerRunner --configDir conf -D taskmanager.memory.network.min=67108864b", "TaskManager"),
    ("org.apache.flink.yarn.YarnTaskExecutorRunner -D taskmanager.cpu.cores=1.0 --configDir .", "TaskManager"),
    ("org.apache.flink.kubernetes.taskmanager.KubernetesTaskExecutorRunner --configDir conf", "TaskManager"),
    ("-Des.path.home=/usr/share/elasticsearch org.elasticsearch.bootstrap.Elasticsearch -d", "Elasticsearch"),
    ("org.elasticsearch.launcher.CliToolLauncher -d", "ElasticsearchLauncher"),
    ("org.opensearch.bootstrap.OpenSearch -d", "OpenSearch"),
    ("org.apache.hadoop.util.RunJar /opt/hive/lib/hive-service.jar org.apache.hive.service.server.HiveServer2 --hiveconf a=b", "HiveServer2"),
    ("org.apache.hadoop.util.RunJar /opt/hive/lib/hive-metastore.jar org.apache.hadoop.hive.metastore.HiveMetaStore", "HiveMetaStore"),
    ("org.apache.storm.daemon.nimbus.Nimbus", "Nimbus"),
    ("org.apache.storm.daemon.supervisor.Supervisor", "Supervisor"),
    ("org.apache.storm.daemon.worker.Worker topology-1 supervisor-1 6700 worker-1", "StormWorker"),
]


class Changes:
    """Waits until files of a folder are written to."""

    MODIFIED = 2  # inotify(7)

    def __init__(self, folder):
        library = ctypes.CDLL(None, use_errno=True)
        self.file = library.inotify_init1(os.O_NONBLOCK)
        if library.inotify_add_watch(self.file, folder.encode(), self.MODIFIED) < 0:
            raise OSError(ctypes.get_errno(), folder)

    def wait(self, seconds):
        ready, _, _ = select.select([self.file], [], [], seconds)
        if ready:
            os.read(self.file, 65536)

    def close(self):
        os.close(self.file)


def main_class(words):
    return next(word for word in words if not word.startswith("-"))


def setUpModule():
    global classes
    folder = tempfile.TemporaryDirectory(prefix="atalaya-test-")
    unittest.addModuleCleanup(folder.cleanup)
    classes = folder.name
    sources = []
    for name in {main_class(case[0].split()) for case in FRAMEWORKS} | {"com.example.Stub"}:
        package, _, short = name.rpartition(".")
        sources.append(os.path.join(classes, name + "-source", short + ".java"))
        os.mkdir(os.path.dirname(sources[-1]))
        with open(sources[-1], "w") as file:
            file.write(STUB % (package, short))
    subprocess.run(["javac", "-J-Xshare:auto", "-J-XX:TieredStopAtLevel=1", "-d", classes, *sources], check=True)


class Names(AgentCase):
    def setUp(self):
        super().setUp()
        self.started = []
        os.mkdir(self.path("out"))
        self.out = self.path("out/samples.jsonl")
        self.changes = Changes(self.path("out"))

    def tearDown(self):
        for process in self.started:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()
        self.changes.close()
        super().tearDown()

    def start(self, *words, **options):
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False, **options)
        self.started.append(process)
        return process

    def await_up(self, process):
        """Behind possible output of the JVM itself, as of a file in /tmp that another one of its number holds."""
        line = None
        while line != b"up\n":
            line = process.stdout.readline()
            self.assertTrue(line, "the JVM has ended")

    def start_java(self, *words, java=JAVA, **options):
        return self.start(*java, "-cp", classes, *words, **options)

    def watch(self, parameters=""):
        self.run_agent(PIPELINE % (parameters, self.out)).running()

    def samples(self):
        """The whole samples so far, by pid and in their order."""
        found = collections.defaultdict(list)
        if os.path.exists(self.out):
            with open(self.out) as file:
                for line in file.read().split("\n")[:-1]:
                    sample = json.loads(line)
                    if "pid" in sample["tags"]:  # those that ended have none
                        found[int(sample["tags"]["pid"])].append(sample)
        return found

    def await_samples(self, condition, description):
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            samples = self.samples()
            if condition(samples):
                return samples
            self.assertIsNone(self.agents[0].process.poll(), self.agents[0].errors())
            self.changes.wait(max(0, until - time.monotonic()))
        self.fail(f"condition not met: {description}\n" + json.dumps({pid: [s["tags"] for s in samples[pid]] for pid in samples if pid in
                                                              {process.pid for process in self.started}}, indent=1))

    def names(self, samples, pid):
        return [sample["tags"]["process"] for sample in samples[pid]]

    def await_name(self, process, name):
        return self.await_samples(lambda samples: name in self.names(samples, process.pid), f"{process.pid} is called {name}")

    def assert_named(self, samples, pid, name, tags=None):
        """It has the name in the second window after it appears, at the latest: a busy host may delay the reader for more than one."""
        later = samples[pid][2:]
        self.assertTrue(later)
        for sample in later:
            self.assertEqual(sample["tags"]["process"], name, self.names(samples, pid))
            added = {tag: value for tag, value in sample["tags"].items() if tag not in ("host", "pid", "process")}
            self.assertEqual(added, tags or {})

    def test_each_framework_is_called_by_its_role_a_window_later(self):
        self.watch()
        for begin in range(0, len(FRAMEWORKS), AT_ONCE):
            cases = FRAMEWORKS[begin:begin + AT_ONCE]
            processes = [self.start_java(*case[0].split()) for case in cases]
            for process in processes:
                self.await_up(process)
            samples = self.await_samples(lambda samples: all(len(samples[process.pid]) >= 3 for process in processes), "three windows")
            for process, case in zip(processes, cases):
                with self.subTest(case=case[0]):
                    self.assert_named(samples, process.pid, *case[1:])
                process.kill()

    def test_a_jvm_is_named_by_its_jar_its_module_or_its_source(self):
        jar = self.path("an app-1.2.jar")
        with zipfile.ZipFile(jar, "w") as file:
            file.writestr("META-INF/MANIFEST.MF", "Main-Class: com.example.Stub\n")
            file.write(os.path.join(classes, "com/example/Stub.class"), "com/example/Stub.class")
        source = self.path("Hello.java")
        with open(source, "w") as file:
            file.write("public class Hello { public static void main(String[] a) throws Exception { System.in.read(); } }")
        modules = self.path("modules")
        module = [self.path("module-info.java"), self.path("Main.java")]
        for path, text in zip(module, ("module shop {}", STUB % ("com.example.shop", "Main"))):
            with open(path, "w") as file:
                file.write(text)
        subprocess.run(["javac", "-J-XX:TieredStopAtLevel=1", "-d", modules, *module], check=True)
        cases = [
            (self.start(*JAVA, "-jar", jar, "argument"), "an app-1.2"),
            (self.start(*JAVA, "-p", modules, "-m", "shop/com.example.shop.Main"), "Main"),
            (self.start(*JAVA, source, "argument"), "Hello.java"),
            (self.start_java("-XX:-UsePerfData", "com.example.Stub"), "Stub"),
            (self.start_java("--add-opens", "java.base/java.lang=ALL-UNNAMED", "-Dx=y z", "com.example.Stub"), "Stub"),
        ]
        self.watch()
        for process, name in cases:
            with self.subTest(name=name, words=process.args):
                self.await_name(process, name)

    def test_a_jvm_whose_program_has_another_name_is_found_when_it_begins(self):
        # A link: the kernel calls the process by it.
        link = self.path("shop")
        os.symlink(os.path.realpath(shutil.which("java")), link)
        self.watch()
        self.await_samples(lambda samples: samples, "a first window")
        process = self.start_java("com.example.Stub", java=[link, *JAVA[1:]])
        self.await_name(process, "Stub")

    def test_a_stopped_jvm_delays_nothing(self):
        stopped = self.start_java("com.example.Stub")
        self.await_up(stopped)
        stopped.send_signal(signal.SIGSTOP)
        self.watch()
        early = self.start_java("com.example.Stub")
        early.send_signal(signal.SIGSTOP)  # before there is anything to read in its file
        samples = self.await_samples(lambda samples: len(samples[stopped.pid]) >= 4 and len(samples[early.pid]) >= 4, "four windows")
        self.assert_named(samples, stopped.pid, "Stub")
        self.assert_named(samples, early.pid, "Stub")
        other = self.start_java("com.example.Stub")
        self.await_name(other, "Stub")
        times = sorted({sample["time"] for sample in self.samples()[stopped.pid]})
        status = self.agents[0].status()
        self.assert_balanced(status)
        gaps = self.agents[0].row("names", "proc", status)["gaps"]
        self.assertLessEqual((times[-1] - times[0]) // 1_000_000_000 - (len(times) - 1), gaps)

    def test_scripts_are_called_by_their_files(self):
        sleeper = {"python3": "import sys; sys.stdin.read()", "perl": "<STDIN>", "sh": "read x", "bash": "read x",
                   "node": "process.stdin.resume()"}
        odd = "it's \"odd\" (a b)\n\u00e9"
        cases = []
        for interpreter, text in sleeper.items():
            # A shim that runs the interpreter in the end would do, but is itself a script for a while.
            program = next((path for path in (f"/usr/bin/{interpreter}", f"/bin/{interpreter}") if os.path.exists(path)), None)
            if program is None:
                continue
            script = self.path(f"{odd} {interpreter}")
            with open(script, "w") as file:
                file.write(text + "\n")
            cases.append((self.start(program, script), os.path.basename(script)))
        self.assertGreaterEqual(len(cases), 3)
        cases.append((self.start("/usr/bin/python3", "-um", "http.server", "0", "--bind", "127.0.0.1", stderr=subprocess.DEVNULL), "http.server"))
        cases.append((self.start("/bin/sh", "-c", "read x; true"), "sh"))
        self.watch()
        for process, name in cases:
            samples = self.await_samples(lambda samples: len(samples[process.pid]) >= 3, "three windows")
            if process.args[0].endswith("node"):
                continue  # newer ones call their process MainThread
            self.assert_named(samples, process.pid, name)

    def test_exec_of_another_script_by_the_same_interpreter_is_noticed(self):
        first, second = self.path("first.py"), self.path("second.py")
        with open(second, "w") as file:
            file.write("import sys; sys.stdin.read()\n")
        with open(first, "w") as file:
            file.write(f"import os, sys; sys.stdin.readline(); os.execv('/usr/bin/python3', ['python3', {second!r}])\n")
        process = self.start("/usr/bin/python3", first)
        self.watch()
        self.await_name(process, "first.py")
        process.stdin.write(b"\n")
        process.stdin.flush()
        self.await_name(process, "second.py")

    @unittest.skipIf(os.geteuid() != 0, "a process namespace needs root")
    def test_a_jvm_in_a_container_is_queried_by_its_inner_pid(self):
        # Its own /tmp and number: only its own report, in there, names the class in its file of options.
        shutil.copytree(classes, self.path("classes"))
        with open(self.path("all.options"), "w") as file:
            file.write("-cp /mnt/classes com.example.Stub")
        shell = self.start("unshare", "--pid", "--fork", "--mount", "--kill-child", "sh", "-c",
                           f"mount --bind {self.folder} /mnt && mount -t tmpfs tmpfs /tmp && exec {' '.join(JAVA)} @/mnt/all.options argument")
        self.await_up(shell)
        self.watch()
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(shell.pid)], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(len(children), 1)
        self.await_samples(lambda samples: "Stub" in self.names(samples, int(children[0])), "Stub")

    def test_only_the_name_of_a_command_line_is_sent(self):
        process = self.start_java("-Dpassword=hunter2", "com.example.Stub", "--token", "hunter2")
        self.watch()
        self.await_name(process, "Stub")
        with open(self.out) as file:
            self.assertNotIn("hunter2", file.read())
        self.assertNotIn("hunter2", self.agents[0].errors())


if __name__ == "__main__":
    main()
