# SPDX-License-Identifier: Apache-2.0
"""Runs pipelines/kafka.lua against a real broker of Apache Kafka, and compares the topic, read by Kafka's own consumer, with the
agent's ledger and with a file that has the same samples."""

import collections
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import judge
from judge import ControlGroup, wait
from harness import Agent

HERE = os.path.dirname(os.path.abspath(__file__))
VERSION = "4.4.0"
SHIPPED = os.path.join(HERE, "../../pipelines/kafka.lua")

# Name, and the events of the run: windows pass, or the broker or the agent ends or starts.
APPLICATIONS = [
    ("steady", ["windows"]),
    ("broker killed twice", ["windows", "kill broker", "windows", "start broker", "windows", "kill broker", "start broker", "windows"]),
    ("agent restarted without a broker", ["windows", "kill broker", "windows", "stop agent", "start agent", "start broker", "windows"]),
]
SMALL = ("broker killed twice",)
COLUMNS = (judge.COUNTS, judge.SUMS, judge.CPU)

SETTINGS = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/log
auto.create.topics.enable=false
offsets.topic.replication.factor=1
"""


class Broker:
    """A broker that is its own controller (KRaft), with the topic atalaya of three partitions."""

    def __init__(self, folder, lib):
        self.folder, self.lib, self.process, self.group, self.pids = folder, lib, None, None, []
        self.port, controller = judge.free_ports(2)
        with open(folder + "/server.properties", "w") as file:
            file.write(SETTINGS.format(port=self.port, controller=controller, folder=folder))
        with contextlib.suppress(OSError):
            self.group = ControlGroup(f"atalaya-real-{os.getpid()}-kafka")

    def create(self):
        cluster = self.tool("kafka.tools.StorageTool", "random-uuid").strip()
        self.tool("kafka.tools.StorageTool", "format", "-t", cluster, "-c", self.folder + "/server.properties")
        self.start()
        self.client("org.apache.kafka.tools.TopicCommand", "--create", "--topic", "atalaya", "--partitions", "3")

    def command(self, main, *words):
        return [judge.java_home() + "/bin/java", "-Xmx384m", "-cp", self.lib + "/*", main, *words]

    def tool(self, *words):
        done = subprocess.run(self.command(*words), capture_output=True, text=True, timeout=180)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    def client(self, main, *words):
        return self.tool(main, "--bootstrap-server", f"127.0.0.1:{self.port}", *words)

    def start(self):
        log = open(self.folder + "/broker.log", "a+")
        start = log.seek(0, os.SEEK_END)
        self.process = subprocess.Popen(self.command("kafka.Kafka", self.folder + "/server.properties"), stdout=log, stderr=log,
                                        preexec_fn=self.group.enter if self.group else None)

        self.pids.append(str(self.process.pid))

        def started():
            assert self.process.poll() is None, self.log()
            log.seek(start)
            return "Kafka Server started" in log.read()

        wait(started, 180, self.log)
        log.close()

    def log(self):
        with open(self.folder + "/broker.log") as log:
            return log.read()[-2000:]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def messages(self):
        """Number of messages in the topic, from the offsets of its partitions."""
        lines = self.client("org.apache.kafka.tools.GetOffsetShell", "--topic", "atalaya").splitlines()
        return sum(int(line.rsplit(":", 1)[1]) for line in lines if line.startswith("atalaya:"))

    def lines(self, messages):
        """All points, one a line, as the console consumer prints them."""
        text = self.client("org.apache.kafka.tools.consumer.ConsoleConsumer", "--topic", "atalaya", "--from-beginning", "--max-messages",
                           str(messages), "--timeout-ms", "60000")
        return collections.Counter(filter(None, text.splitlines()))

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)
        if self.group:
            self.group.remove()


def pipeline(port, folder, every):
    """pipelines/kafka.lua with this broker and interval; its samples also go to a file and the store."""
    with open(SHIPPED) as file:
        text = file.read()
    for pattern, replacement in ((r"127\.0\.0\.1:9092", f"127.0.0.1:{port}"), (r'"spool/kafka"', f'"{folder}/spool"'),
                                 (r'every = "5s", kafka', f'every = "{every}", kafka, copy, store')):
        text, count = re.subn(pattern, replacement, text)
        assert count, f"{SHIPPED} has no {pattern}"
    return text.replace("\ncommon.", f'\nlocal copy, store = a.sink.file {{ path = "{folder}/points" }}, a.sink.sqlite {{}}\ncommon.', 1)


def sums(lines):
    """Sum of the values of each metric."""
    out = collections.Counter()
    for line in sorted(lines):
        point = json.loads(line)
        out[point["metric"]] += point["value"] * lines[line]
    return out


class Run:
    def __init__(self, options):
        self.cache, self.window = os.path.abspath(options.cache), options.window
        self.rows = judge.Rows("Kafka " + VERSION, COLUMNS)

    def all(self, names):
        place = f"{self.cache}/kafka-{VERSION}"
        lib = judge.jars(place, "org.apache.kafka:kafka_2.13:" + VERSION, "org.apache.kafka:kafka-tools:" + VERSION,
                         "org.slf4j:slf4j-simple:1.7.36")
        for name, events in APPLICATIONS:
            if name in names:
                with tempfile.TemporaryDirectory(prefix="atalaya-real-") as folder:
                    try:
                        self.one(folder, lib, name, events)
                    except (AssertionError, subprocess.SubprocessError) as error:  # the other runs still happen
                        print(error, file=sys.stderr)
                        self.rows.add(name, judge.COUNTS, "failed", "no complete run")

    def one(self, folder, lib, name, events):
        broker = Broker(folder, lib)
        self.agent = None
        try:
            self.happen("start agent", broker, folder)
            broker.create()
            for event in events:
                self.happen(event, broker, folder)
            self.compare(name, events, broker, folder)
        finally:
            if self.agent and self.agent.process.poll() is None:
                self.agent.stop()
            broker.stop()

    def happen(self, event, broker, folder):
        if event == "windows":
            judge.wait_for_windows(self.agent, self.window, 4)
        elif event == "kill broker":
            broker.kill()
        elif event == "start broker":
            broker.start()
        elif event == "stop agent":
            assert self.agent.stop() == 0, self.agent.errors()
        elif event == "start agent":
            self.agent = Agent(folder, pipeline(broker.port, folder, f"{self.window}s")).running()
            judge.store_of(self.agent)
            judge.wait_for_windows(self.agent, self.window, 1)  # CPU time counts from the first one

    def compare(self, name, events, broker, folder):
        if broker.group:
            broker.process.send_signal(signal.SIGSTOP)  # both figures are of the same time
            judge.wait_for_windows(self.agent, self.window, 1)
            self.rows.near(name, judge.CPU, judge.reported_seconds(self.agent, "pid", broker.pids), broker.group.seconds())
            broker.process.send_signal(signal.SIGCONT)
        # No further windows, so that the queues become empty.
        self.agent.write(pipeline(broker.port, folder, "24h"))
        self.agent.reload()
        self.agent.wait_line("reloaded")
        status = self.agent.wait_status(lambda status: all(row["queued"] == 0 for row in status["ledger"]))
        sinks = [row for row in status["ledger"] if row["component"] == "sink kafka"]
        messages = broker.messages()
        topic = broker.lines(messages)
        with open(folder + "/points") as file:
            written = collections.Counter(file.read().splitlines())
        ours = {"points": topic.total(), "lost": (written - topic).total(), "repeated": (topic - written).total(),
                "dropped": sum(row["dropped"] + row["dead_letter"] for row in sinks)}
        oracle = {"points": written.total(), "lost": 0, "repeated": 0, "dropped": 0}
        if "stop agent" not in events:  # which starts a new ledger
            ours["messages"], oracle["messages"] = sum(row["out"] for row in sinks), messages
        self.rows.same(name, judge.COUNTS, ours, oracle)
        self.rows.same(name, judge.SUMS, sums(topic), sums(written))
