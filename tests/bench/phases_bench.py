# SPDX-License-Identifier: Apache-2.0
"""Phases of real programs: phases_bench.py ATALAYA PHASES_BENCH [RUNS [PROGRAM,...]]. Prints four tables:

1. the time of mining by the length of the trace,
2. accuracy (100 - mean absolute percentage error) of Java programs in the spirit of HiBench (Workloads.java): RUNS inputs for
   training (default: 15), then 4 unseen inputs x 4 runs, beside the baselines and other algorithms of phases_baselines.py,
3. planted faults: RUNS normal runs for training, then 25 normal runs and 25 of each fault (fewer if RUNS is below 15),
4. the cost of watching a program at 1 Hz, in pairs of runs.

Models are trained with training runs alone. The machine should be idle; the whole takes about 40 minutes."""

import json
import os
import signal
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "cluster")]
from node_limits import Limits, reason_without_limits  # noqa: E402
from phases_baselines import ALGORITHMS, BASELINES, Series  # noqa: E402

# Program: smallest and largest input.
PROGRAMS = {"sort": (40, 110), "wordcount": (30, 80), "kmeans": (60, 150), "pagerank": (40, 100), "nweight": (60, 150), "join": (40, 100), "kv": (5, 95)}
UNSEEN = (13, 37, 62, 88)  # percent of the range of inputs
# Fault: its metric, and the fault of Workloads.java.
FAULTS = {"CPU bug": ("cpu", "cpu"), "memory leak": ("memory", "leak"), "slow disk": ("time", ""), "unusual traffic": ("writes", "traffic")}
NOTHING = {"time": 0, "cpu": 0, "memory": 0, "reads": 0, "writes": 0}
SLOW_DISK = 30 << 20  # bytes a second: sort takes 1.6 times as long; 100 MiB/s cost it 13 %
METHODS = {**BASELINES, **ALGORITHMS}
JAVA = ["java", "-XX:+UseG1GC", "-Xmx1500m"]  # loops reach safepoints, so that dumps do not wait for their end
PIPELINE = """local a = require "atalaya"
a.pipeline "phases" {
  every = "%(every)s",
  a.source.jvm { threads = "all", budget = 30, interval = "%(every)s", top = 0 },
  a.source.proc { host = false, cgroups = false },
  a.translate.names {},
  %(phases)s
  a.filter.match { process = "Workloads", absent = "pass" },
  a.sink.sqlite { path = "%(store)s" },
}
"""


class Bench:
    def __init__(self, atalaya, folder, every="100ms", phases=""):
        self.atalaya, self.folder = atalaya, folder
        self.store = os.path.join(folder, "phases.db")
        self.file = os.path.join(folder, "phases.lua")
        with open(self.file, "w") as file:
            file.write(PIPELINE % {"every": every, "store": self.store, "phases": phases})
        subprocess.run(["javac", "-d", folder, os.path.join(HERE, "Workloads.java")], check=True)

    def __enter__(self):
        env = dict(os.environ, STATE_DIRECTORY=self.folder)
        self.agent = subprocess.Popen([self.atalaya, "run", self.file, "--socket", os.path.join(self.folder, "s")],
                                      stderr=subprocess.PIPE, text=True, env=env)
        said = []
        while "running" not in (said or [""])[-1]:
            said.append(self.agent.stderr.readline())
            if not said[-1]:
                raise RuntimeError("the agent ended: " + "".join(said))
        return self

    def __exit__(self, *_):
        self.agent.send_signal(signal.SIGTERM)
        self.agent.communicate()
        usage = os.times()
        self.cpu = usage.children_user + usage.children_system

    def run(self, program, size, fault="", enter=None):
        """One run; returns (start in ms, end in ms, seconds)."""
        begin = time.time()
        words = [*JAVA, "-cp", self.folder, "Workloads", program, str(size), self.folder, "1", *([fault] if fault else [])]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, timeout=300, preexec_fn=enter)
        end = time.time()
        time.sleep(0.5)  # the last window of the process
        return int(begin * 1000), int((end + 0.4) * 1000), end - begin

    def phases(self, verb, begin, end, *words, output="json"):
        done = subprocess.run([self.atalaya, "phases", verb, "--store", self.store, "--from", str(begin), "--to", str(end),
                               *(["--format", "json"] if output == "json" else []), *words], capture_output=True, text=True, timeout=600)
        if output != "json":
            return done.stdout
        return json.loads(done.stdout) if done.stdout else None


def inputs_of(program, count):
    low, high = PROGRAMS[program]
    return [low + (high - low) * (i * 7 % count) // max(count - 1, 1) for i in range(count)]


def unseen_inputs(program):
    low, high = PROGRAMS[program]
    return [low + (high - low) * part // 100 for part in UNSEEN]


def observed(bench, ranges, sizes):
    """(phase, metric) -> [(run, input, value, numbers of the two phases before)] of the stored runs; run is the position in ranges."""
    seen = {}
    shown = bench.phases("show", ranges[0][0], ranges[-1][1])
    for run in shown["runs"] if shown else []:
        at = next((i for i, (begin, end, _) in enumerate(ranges) if begin <= run["start"] <= end), None)
        steps = [step for step in run["phases"] if step["phase"] != "idle"] if at is not None else []
        for i, step in enumerate(steps):
            before = [step_before[metric] or 0 for step_before in [NOTHING, NOTHING, *steps[:i]][-2:] for metric in NOTHING]
            for metric in ("time", "cpu", "memory", "writes"):
                if step[metric] is not None and not step["open"]:
                    seen.setdefault((step["phase"], metric), []).append((at, sizes[at], step[metric], before))
    return seen


def first_phase(bench, ranges):
    """The phase that begins most runs: no earlier phase depends on its input."""
    shown = bench.phases("show", ranges[0][0], ranges[-1][1])
    firsts = [run["phases"][0]["phase"] for run in (shown["runs"] if shown else []) if run["phases"]]
    return statistics.mode(firsts) if firsts else None


def accuracy_of(pairs):
    """Of (predicted, seen): 100 - mean absolute percentage error, each at most 100 %."""
    errors = [min(abs(predicted - seen) / seen, 1) for predicted, seen in pairs if seen > 0]
    return 100 - 100 * sum(errors) / len(errors) if errors else None


def shown(value):
    return "     -" if value is None else f"{value:6.1f}"


def predictions(bench, program, runs):
    """Prints the accuracy of each cell; returns them as {name: [(accuracy, whether phases come before)]}."""
    sizes, tests = inputs_of(program, runs), unseen_inputs(program) * (4 if runs >= 15 else 1)
    with bench:
        trained = [bench.run(program, size) for size in sizes]
        tested = [bench.run(program, size) for size in tests]
    bench.phases("learn", trained[0][0], trained[-1][1], output="")
    bench.phases("learn", tested[0][0], tested[-1][1], output="")
    training = ["--train-from", str(trained[0][0]), "--train-to", str(trained[-1][1])]
    ours, sources = {}, {}
    for run in bench.phases("predict", tested[0][0], tested[-1][1], *training) or []:
        for one in run["predictions"]:
            cell = one["phase"], one["of"]
            if one["seen"] is not None:
                ours.setdefault(cell, []).append((one["predicted"], one["seen"]))
                sources[cell] = one["from"]
    before, after = observed(bench, trained, sizes), observed(bench, tested, tests)
    print(f"\n{program}: {statistics.median(run[2] for run in trained):.1f} s a run, {len(trained)} + {len(tested)} runs")
    print(f"  {'phase':32} {'of':7} {'runs':>4} {'ours':>6} {'from':7}" + "".join(f" {name:>6}" for name in METHODS))
    first, scores = first_phase(bench, tested), {}
    for cell in sorted(after):
        past, future = Series(before.get(cell, [])), Series(after[cell])
        if statistics.fmean(future.values) < 0.5 or len(past.values) < 8:
            continue  # amounts that do not matter, such as 0.1 MiB of writes; too few runs for any method
        row = {"ours": accuracy_of(ours.get(cell, []))}
        for name, predict in METHODS.items():
            values = predict(past, future)
            row[name] = accuracy_of(zip(values, future.values)) if values is not None else None
        for name, score in row.items():
            scores.setdefault(name, []).append((score, cell[0] != first))
        print(f"  {cell[0]:32} {cell[1]:7} {len(future.values):4} {shown(row['ours'])} {sources.get(cell, '-'):7}" +
              "".join(f" {shown(row[name])}" for name in METHODS))
    return scores


def print_medians(all_scores):
    for title, kinds in (("all cells", (True, False)), ("cells with a phase before them", (True,))):
        print(f"\nmedian of {title}:", end="")
        for name in ("ours", *METHODS):
            values = [score for scores in all_scores for score, kind in scores.get(name, []) if score is not None and kind in kinds]
            print(f"  {name} {statistics.median(values):.1f} ({len(values)})" if values else f"  {name} -", end="")
    print()


def faulty_runs(bench, fault, count, limits):
    """(start, end, seconds) of each run with the fault of that name."""
    _, planted = FAULTS[fault]
    if fault != "slow disk":
        return [bench.run("sort", size, planted) for size in test_inputs(count)]
    limits.set(2, None, SLOW_DISK)
    try:
        return [bench.run("sort", size, enter=limits.enter) for size in test_inputs(count)]
    finally:
        limits.set(2, None, None)


def test_inputs(count):
    low, high = PROGRAMS["sort"]
    return [low + (high - low) * ((i * 11 + 3) % 25) // 25 for i in range(count)]


def judged(bench, ranges, training):
    """For each run the set of metrics that are not normal, and None where there is no verdict."""
    verdicts = [None] * len(ranges)
    for run in bench.phases("anomalies", ranges[0][0], ranges[-1][1], *training) or []:
        for i, (begin, end, _) in enumerate(ranges):
            if begin <= run["start"] <= end and run["compared"] > 0:
                verdicts[i] = {one["of"] for one in run["anomalies"]}
    return verdicts


def table_one(atalaya, folder, runs):
    bench = Bench(atalaya, folder)
    count = 25 if runs >= 15 else 4
    why = reason_without_limits(folder)
    limits = None if why else Limits("atalaya-phases", folder)
    faults = [fault for fault in FAULTS if fault != "slow disk" or limits]
    sizes = inputs_of("sort", runs)
    with bench:
        trained = [bench.run("sort", size) for size in sizes + sizes]
        normal = [bench.run("sort", size) for size in test_inputs(count)]
        faulty = {fault: faulty_runs(bench, fault, count, limits) for fault in faults}
    if limits:
        limits.remove()
    for ranges in (trained, normal, *faulty.values()):
        bench.phases("learn", ranges[0][0], ranges[-1][1], output="")
    training = ["--train-from", str(trained[0][0]), "--train-to", str(trained[-1][1])]
    before, good = observed(bench, trained, sizes + sizes), judged(bench, normal, training)
    print(f"\nplanted faults: sort, {len(trained)} runs for training, {count} normal and {count} of each fault; FPR/FNR" + (f"; no slow disk: {why}" if why else ""))
    print(f"  {'fault':16} {'ours':>9}" + "".join(f" {name:>9}" for name in BASELINES))
    found = 0
    for fault in faults:
        metric = FAULTS[fault][0]
        bad = judged(bench, faulty[fault], training)
        found += sum(bool(one) for one in bad)
        rates = [sum(one is not None and metric in one for one in good) / count, sum(one is None or metric not in one for one in bad) / count]
        row = f"  {fault:16} {rates[0]:4.2f}/{rates[1]:4.2f}"
        for predict in BASELINES.values():
            row += " " + baseline_rates(predict, before, observed(bench, normal, test_inputs(count)), observed(bench, faulty[fault], test_inputs(count)), metric, count)
        print(row)
    accused = sum(bool(one) for one in good)
    print(f"  any finding: {accused} of {count} normal runs, {found} of {count * len(faults)} faulty ones: precision "
          f"{100 * found / max(found + accused, 1):.1f} %, recall {100 * found / (count * len(faults)):.1f} %; "
          f"{sum(one is None for one in good)} normal runs without a verdict")


def baseline_rates(predict, before, normal, faulty, metric, count):
    """Alarms of a baseline: a run whose value lies beyond 1.5 times the largest error of the training runs in a phase of this metric."""
    alarms = {"good": set(), "bad": set()}
    for cell in before:
        past = Series(before[cell])
        if cell[1] != metric or len(past.values) < 8:
            continue
        half = len(past.values) // 2
        held_out = predict(past.part(0, half), past.part(half, None))
        if held_out is None:
            return f"{'-':>9}"
        limit = 1.5 * max(abs(predicted - seen) for predicted, seen in zip(held_out, past.values[half:]))
        for name, seen in (("good", normal.get(cell, [])), ("bad", faulty.get(cell, []))):
            tests = Series(seen)
            for run, predicted, value in zip(tests.runs, predict(past, tests, learn=False), tests.values):
                if abs(predicted - value) > limit:
                    alarms[name].add(run)
    return f"{len(alarms['good']) / count:4.2f}/{1 - len(alarms['bad']) / count:4.2f}"


def cost_of_watching(atalaya, folder, pairs):
    """Slow-down of a program by an agent at 1 Hz, in pairs of runs in turns, and the size of the trace."""
    bench = Bench(atalaya, folder, every="1s", phases="a.translate.phases {},")
    ratios, costs = [], []
    for _ in range(pairs):
        alone = bench.run("pagerank", 100)[2]
        before = os.times()
        with bench:
            begin, end, watched = bench.run("pagerank", 100)
        both = bench.cpu - before.children_user - before.children_system
        ratios.append(100 * (watched / alone - 1))
        costs.append(both / (end - begin) * 100_000)
    trace = subprocess.run([atalaya, "query", "--store", bench.store, "--from", "-1h", "--metric", "phases.trace", "--format", "json"],
                           capture_output=True, text=True, timeout=60).stdout
    bits = [value for line in json.loads(trace) for _, value in line["dps"] if value] if trace else []
    print(f"\ncost of watching at 1 Hz, {pairs} pairs: the program takes {statistics.median(ratios):+.1f} % "
          f"({min(ratios):+.1f} to {max(ratios):+.1f}); agent and program together {statistics.median(costs):.0f} % of a core; "
          f"trace {statistics.median(bits) if bits else 0:.0f} bit/s")


def main():
    atalaya, mining = sys.argv[1:3]
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 15
    wanted = sys.argv[4].split(",") if len(sys.argv) > 4 else list(PROGRAMS)
    subprocess.run([mining, "10000000" if runs >= 15 else "100000"], check=True)
    if not shutil.which("javac"):
        print("no JDK: the programs do not run")
        return
    scores = []
    for program in wanted:
        with tempfile.TemporaryDirectory(prefix="atalaya-phases-") as folder:
            scores.append(predictions(Bench(atalaya, folder), program, runs))
            sys.stdout.flush()
    print_medians(scores)
    with tempfile.TemporaryDirectory(prefix="atalaya-phases-") as folder:
        table_one(atalaya, folder, runs)
    with tempfile.TemporaryDirectory(prefix="atalaya-phases-") as folder:
        cost_of_watching(atalaya, folder, 5)


if __name__ == "__main__":
    main()
