# SPDX-License-Identifier: Apache-2.0
"""What all runs share: programs from Maven Central, control groups, queries of the store, and the rows of results."""

import json
import os
import re
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../integration"))

from harness import BINARY

CPU_TOLERANCE = 0.02
COUNTS, SUMS, CPU, FINDING = "counts", "sums", "CPU, core-s: atalaya, cgroup", "first finding"
CALM = r"no bottleneck found"

POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>atalaya</groupId><artifactId>real</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{dependencies}
  </dependencies>
</project>
"""
DEPENDENCY = "\n    <dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


def java_home():
    return os.environ.get("JAVA_HOME", "/usr/lib/jvm/default-java")


def jars(place, *artefacts):
    """The folder below `place` of these artefacts, GROUP:NAME:VERSION, and of all that they need, by Maven and its settings."""
    folder = os.path.join(os.path.abspath(place), "lib")
    if not os.path.exists(folder + "/complete"):
        os.makedirs(folder, exist_ok=True)
        with open(place + "/pom.xml", "w") as file:
            file.write(POM.format(dependencies="".join(DEPENDENCY.format(*artefact.split(":")) for artefact in artefacts)))
        subprocess.run(["mvn", "-B", "-q", "-ntp", "-Dstyle.color=never", "-f", place + "/pom.xml", "dependency:copy-dependencies",
                        "-DincludeScope=runtime", "-DoutputDirectory=" + folder], check=True)
        open(folder + "/complete", "w").close()
    return folder


JAVA = """#!/bin/sh
case "$*" in {pattern}) echo $$ >{procs} ;; esac
exec {java} "$@"
"""


def wrapped_java(folder, pattern, procs):
    """A JAVA_HOME whose java joins the control group `procs` if its command line matches the pattern."""
    os.makedirs(folder + "/java/bin")
    with open(folder + "/java/bin/java", "w") as file:
        file.write(JAVA.format(java=os.path.realpath(java_home() + "/bin/java"), pattern=pattern, procs=procs))
    os.chmod(folder + "/java/bin/java", 0o755)
    return folder + "/java"


def free_ports(count):
    """Ports of 127.0.0.1 that nothing listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def wait(condition, seconds, what, pause=0.2):
    """The first true value of the condition; an AssertionError with the text of `what()` after the time."""
    until = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < until, what()
        time.sleep(pause)
    return value


class ControlGroup:
    """A group for CPU time, of version 2 or 1, whichever counts here; OSError without the right to create one."""

    def __init__(self, name):
        self.unified = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
        self.path = os.path.join("/sys/fs/cgroup" if self.unified else "/sys/fs/cgroup/cpuacct", name)
        os.mkdir(self.path)
        self.procs = self.path + "/cgroup.procs"

    def seconds(self):
        with open(self.path + ("/cpu.stat" if self.unified else "/cpuacct.usage")) as file:
            text = file.read()
        return int(re.search(r"usage_usec (\d+)", text)[1]) / 1e6 if self.unified else int(text) / 1e9

    def enter(self):
        """For preexec_fn: the calling process joins."""
        with open(self.procs, "w") as file:
            file.write("0")

    def remove(self):
        until = time.monotonic() + 30
        while True:
            try:
                return os.rmdir(self.path)
            except OSError:  # its last process is ending
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)


def ask(agent, *words):
    done = subprocess.run([BINARY, *words, "--store", agent.folder + "/atalaya.db"], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else "exit status %d: %s" % (done.returncode, done.stderr)


def sql(agent, text):
    return json.loads(ask(agent, "sql", "--format", "json", text))


def store_of(agent):
    """Waits for the store."""
    wait(lambda: os.path.exists(agent.folder + "/atalaya.db"), 60, agent.errors)


def spans_of(agent, job):
    """Tuples (name, tags, fields by name) of the job's spans."""
    names = {str(row["id"]): row["name"] for row in sql(agent, "select id, name from metrics")}
    rows = sql(agent, "select s.name, s.duration_ns, e.tags, s.fields from spans s join entities e on e.id = s.entity "
                      f"where json_extract(e.tags, '$.job') = '{job}'")
    for row in rows:
        fields = {names[key]: value for key, value in json.loads(row["fields"] or "{}").items()}
        yield row["name"], row["duration_ns"], json.loads(row["tags"]), fields


def reported_seconds(agent, entity, values):
    """CPU seconds of the rows with one of the values in `atalaya report --by ENTITY`; None without one."""
    text = ask(agent, "report", "--by", entity, "--metric", "proc.cpu.*", "--top", "1000", "--format", "json", "--from", "-2h")
    try:
        rows = json.loads(text)
    except ValueError:
        return None
    used = [row["sum"] for row in rows if row.get(entity) in values and row["metric"] in ("proc.cpu.user", "proc.cpu.kernel")]
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


class Rows:
    """Results of one product: a line for each application, a cell for each comparison."""

    def __init__(self, product, columns):
        self.product, self.columns, self.lines, self.results = product, columns, {}, []

    def add(self, application, column, result, *shown):
        """`shown`: figures of atalaya and of the oracle, or a text."""
        self.results.append(result)
        cell = ": ".join(part for part in (result, ", ".join(str(part) for part in shown)) if part).replace("|", "/")
        self.lines.setdefault(f"{self.product}: {application}", {})[column] = cell
        print(f"{self.product}: {application}", column, cell, sep=" | ", flush=True)

    def same(self, application, column, ours, oracle):
        """Two dictionaries: one comparison for each key of the oracle."""
        differing = [key for key in oracle if ours.get(key) != oracle[key]]
        shown = "; ".join(f"{key} {ours.get(key)}, {oracle[key]}" for key in differing[:3])
        self.add(application, column, "differs" if differing else "pass", shown or f"{len(oracle)} equal")

    def near(self, application, column, ours, used):
        """CPU seconds within the limit."""
        if ours is None:
            return self.add(application, column, "short", f"none, {used:.2f}")
        near = abs(ours - used) <= CPU_TOLERANCE * used
        self.add(application, column, "pass" if near else f"short ({100 * (ours / used - 1):+.1f} %)", f"{ours:.2f}, {used:.2f}")

    def found(self, application, agent, job, expected, oracle):
        """The first lines of `bottleneck`, against a pattern; `oracle`: size of the planted cause."""
        lines = ask(agent, "bottleneck", "--job", job).split("\n\n")[0].strip().splitlines() or ["nothing"]
        if re.match(CALM, lines[0]):  # what was compared names rules, too
            lines = lines[:1]
        first = " ".join(" / ".join(lines[:2]).split())
        first = re.sub(r"/\S*/(?=[^/\s]+\.py)", "", first)[:160]  # no folders of this machine
        self.add(application, FINDING, *(("pass", first) if re.search(expected, first, re.I) else ("short", first, oracle)))

    def table(self, previous):
        """Markdown; `previous`: the table before, whose rows of other applications stay."""
        kept = [line for line in previous.splitlines()[2:] if line.split(" | ")[0].removeprefix("| ") not in self.lines]
        made = [[name, *(cells.get(column, "") for column in self.columns)] for name, cells in self.lines.items()]
        head = [["application", *self.columns], ["---"] * (len(self.columns) + 1)]
        return "\n".join(["| " + " | ".join(line) + " |" for line in head] + kept + ["| " + " | ".join(line) + " |" for line in made])
