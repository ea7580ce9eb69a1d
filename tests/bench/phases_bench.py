# SPDX-License-Identifier: Apache-2.0
"""Phases of real programs: phases_bench.py ATALAYA PHASES_BENCH [RUNS]. First the time of mining by length. Then Java programs in the
spirit of HiBench (Workloads.java): RUNS training runs with different inputs, unseen inputs, and planted faults. Prints the accuracy
(100 - mean absolute percentage error) of each phase and metric next to the naive prediction (as in the run before), the alarms of
normal and faulty runs, and the costs of watching. The machine should be idle."""

import os
import re
import signal
import shutil
import subprocess
import sys
import tempfile
import time

PROGRAMS = {"sort": (40, 110), "wordcount": (30, 80), "kmeans": (60, 150), "pagerank": (40, 100), "nweight": (60, 150), "join": (40, 100)}
FAULTS = ["cpu", "leak", "traffic"]
PIPELINE = """local a = require "atalaya"
a.pipeline "phases" {
  every = "200ms",
  a.source.jvm { threads = "all", budget = 20, interval = "100ms", top = 0 },
  a.source.proc { host = false, cgroups = false },
  a.translate.names {},
  function(s) if s.tags.process ~= "Workloads" then return nil end; return s end,
  a.sink.sqlite { path = "%s" },
}
"""


class Bench:
    def __init__(self, atalaya, folder):
        self.atalaya, self.folder = atalaya, folder
        self.store = os.path.join(folder, "phases.db")
        self.file = os.path.join(folder, "phases.lua")
        with open(self.file, "w") as file:
            file.write(PIPELINE % self.store)
        here = os.path.dirname(os.path.abspath(__file__))
        subprocess.run(["javac", "-d", folder, os.path.join(here, "Workloads.java")], check=True)

    def start(self):
        env = dict(os.environ, STATE_DIRECTORY=self.folder)
        self.agent = subprocess.Popen([self.atalaya, "run", self.file, "--socket", os.path.join(self.folder, "s")],
                                      stderr=subprocess.PIPE, text=True, env=env)
        while "running" not in self.agent.stderr.readline():
            pass

    def stop(self):
        self.agent.send_signal(signal.SIGTERM)
        self.agent.communicate()

    def run(self, program, size, fault=""):
        """One run; returns its range in ms and its seconds."""
        begin = time.time()
        words = ["java", "-XX:+UseSerialGC", "-Xmx700m", "-cp", self.folder, "Workloads", program, str(size), self.folder, "1", *([fault] if fault else [])]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, timeout=300)
        end = time.time()
        time.sleep(1)
        return int(begin * 1000), int((end + 0.8) * 1000), end - begin

    def phases(self, verb, begin, end, *words):
        done = subprocess.run([self.atalaya, "phases", verb, "--store", self.store, "--from", str(begin), "--to", str(end), *words],
                              capture_output=True, text=True, timeout=300)
        return done.stdout + done.stderr


def sizes(low, high, count):
    return [low + (high - low) * (i * 7 % count) // max(count - 1, 1) for i in range(count)]


def accuracy(lines):
    """(phase, metric) -> predicted, seen, from the table of predict."""
    for line in lines.splitlines():
        found = re.match(r"(\S+)\s+(time|CPU|memory|disk writes|disk reads)\s+([0-9.]+) \S+\s+([0-9.]+) \S+\s+(inputs|mean)", line)
        if found:
            yield found[1], found[2], float(found[3]), float(found[4]), found[5]


def evaluate(bench, program, runs):
    low, high = PROGRAMS[program]
    bench.start()
    trained = [bench.run(program, size) for size in sizes(low, high, runs)]
    unseen = [bench.run(program, low + (high - low) * part // 100) for part in (13, 37, 62, 88)]
    faulty = {fault: bench.run(program, (low + high) // 2, fault) for fault in FAULTS}
    bench.stop()
    learned = bench.phases("learn", trained[0][0], faulty[FAULTS[-1]][1])
    print(f"{program}: {learned.splitlines()[0] if learned else 'nothing learned'}")
    training = ["--train-from", str(trained[0][0]), "--train-to", str(trained[-1][1])]
    cells, previous = {}, {}
    for begin, end, _ in unseen:
        for phase, metric, predicted, seen, source in accuracy(bench.phases("predict", begin, end, *training)):
            cell = cells.setdefault((phase, metric), {"ours": [], "naive": [], "from": source})
            if seen > 0:
                cell["ours"].append(min(abs(predicted - seen) / seen, 1))
                if (phase, metric) in previous:
                    cell["naive"].append(min(abs(previous[phase, metric] - seen) / seen, 1))
            previous[phase, metric] = seen
    for (phase, metric), cell in sorted(cells.items()):
        score = lambda errors: f"{100 - 100 * sum(errors) / len(errors):5.1f} %" if errors else "      -"
        print(f"  {phase:32} {metric:12} accuracy {score(cell['ours'])}  naive {score(cell['naive'])}  from {cell['from']}")
    normal = [bench.phases("anomalies", begin, end, *training) for begin, end, _ in unseen]
    alarms = sum("not normal" in text for text in normal)
    silent = sum("no verdict" in text for text in normal)
    print(f"  normal runs: {alarms} of {len(normal)} accused, {silent} without a verdict")
    for fault, (begin, end, _) in faulty.items():
        said = re.findall(r"phase \S+ (?:took|had) .*", bench.phases("anomalies", begin, end, *training))
        print(f"  fault {fault}: {'found: ' + said[0] if said else 'NOT found'}")


def main():
    atalaya, mining = sys.argv[1:3]
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 15
    wanted = sys.argv[4].split(",") if len(sys.argv) > 4 else list(PROGRAMS)
    subprocess.run([mining, "10000000" if runs >= 15 else "1000000"], check=True)
    if not shutil.which("javac"):
        print("no JDK: the programs do not run")
        return
    for program in wanted:
        with tempfile.TemporaryDirectory(prefix="atalaya-phases-") as folder:
            evaluate(Bench(atalaya, folder), program, runs)


main()
