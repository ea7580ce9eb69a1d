# SPDX-License-Identifier: Apache-2.0
"""(h) The reference's own experiment: how much longer jobs take with each preset of its windows and frequencies."""

import contextlib
import os
import re
import sys
import tempfile
import threading
import time

from bench_tools import ROOT, SECOND, Ended, cpu_ns, sleep_until
from peers.programs.atalaya import File
from peers.table import Column, Goal, Table, average_of_pairs, loss
from peers.turns import at_work

sys.path.insert(0, os.path.join(ROOT, "tests", "cluster"))
from cluster import MIX, Cluster, build_engine  # noqa: E402
from node_limits import reason_without_limits  # noqa: E402

ROUNDS, LEAD = 30, 1.5  # and seconds from the start of an agent to the first job
JOBS = (*MIX[:-1:2], 16)  # of tests/cluster, but shorter
PUNCTUAL = 0.04  # of a window: an agent that starts so late after its begin still has the whole window
WINDOW = re.compile(r'every = "(\d+)s"')
NONE = "no agent"
# Of a pipeline file: what stands for each of the reference's two tools.
PARTS = {"monitoring": re.compile(r"^common\.(?!profile ).*\n", re.M),
         "profiling": re.compile(r'^common\.profile [^\n]*\n|^a\.pipeline "profile" \{\n.*?^\}\n', re.M | re.S)}
FILES = {"default": "profile.lua", "aggressive": "aggressive.lua"}
KINDS = {"monitoring": ("profiling",), "profiling": ("monitoring",), "both": ()}  # and the parts that are left out
VARIANTS = {f"{preset}, {kind}": (preset, kind) for preset in FILES for kind in KINDS}
JUDGED = {"default, both": 0.5, "aggressive, both": 2}  # % longer, at most
# Of two rounds: rows with a goal have a turn in both, the others in one.
TURNS = [(*JUDGED, *(f"{preset}, {kind}" for kind in KINDS if kind != "both")) for preset in FILES]
PUBLISHED = {"default, both": 10, "aggressive, monitoring": 4.4, "aggressive, profiling": 19, "aggressive, both": 23}  # % longer, at most


def pipelines(preset, kind):
    """The shipped file, with the windows of the reference, and without the part that the kind has not."""
    with open(os.path.join(ROOT, "pipelines", FILES[preset])) as file:
        text = file.read()
    if preset == "default":
        text = text.replace('every = "5s"', 'every = "20s"')
    for part in KINDS[kind]:
        text, count = PARTS[part].subn("", text)
        if not count:
            raise Ended(f"pipelines/{FILES[preset]} has no part for {part}")
    return text


class Preset(File):
    """An agent with these pipelines. It does not report when it is ready: most of its windows are longer than a run."""

    def ready(self):
        return True


@contextlib.contextmanager
def nodes(folder):
    """A function that runs the jobs and gives their seconds, and those of CPU time of all nodes. One cluster for all runs: code of a JVM is
    compiled in another way in each process. Its nodes share the host's cores and disk without limits, so the agent finds no time that they
    may not use."""
    cluster = Cluster(os.path.join(folder, "cluster"), build_engine(os.path.join(folder, "classes")), None, bare=True)
    try:
        plans = [cluster.plan(f"job{number}", splits) for number, splits in enumerate(JOBS)]

        def used():
            return sum(cpu_ns(node.process.pid) for node in cluster.nodes.values())

        def run():
            begin, before = time.monotonic(), used()
            for plan in plans:
                cluster.run(plan)
            return time.monotonic() - begin, (used() - before) / SECOND
        run()  # its code is compiled
        yield run
    finally:
        cluster.close()


@contextlib.contextmanager
def working(run_jobs):
    """The jobs again and again."""
    ended = threading.Event()

    def work():
        while not ended.is_set():
            run_jobs()
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def wait_for_begin(window, now_ns):
    """Unix ns of a window that begins now, or of the next one."""
    begin = now_ns // (window * SECOND) * window * SECOND
    if now_ns - begin > PUNCTUAL * window * SECOND:
        begin += window * SECOND
        sleep_until(begin)
    return begin


def whole_window(bench, text):
    """CPU time and store of an agent over its longest window and the end of it."""
    window = max(map(int, WINDOW.findall(text)))
    begin = wait_for_begin(window, time.time_ns())
    with at_work(Preset, bench.atalaya, text) as (agent, group, _):
        sleep_until(begin + int(LEAD * SECOND))
        before = group.cpu_ns()
        sleep_until(begin + int((window + LEAD) * SECOND))
        cpu = group.cpu_ns() - before
        group.check()
        agent.stop()
        stored = os.path.getsize(os.path.join(agent.folder, "atalaya.db"))
    return {"core": cpu / window / 1e7, "store": stored / 2**20}


def without_agent(run_jobs):
    time.sleep(LEAD)
    begin = time.monotonic()
    seconds, cpu = run_jobs()
    return begin, 0, {"seconds": seconds, "cpu": cpu}


def with_agent(bench, run_jobs, text, core):
    """`core`: its CPU time over whole windows, in % of a core. That beyond the CPU time in the run comes later."""
    with at_work(Preset, bench.atalaya, text) as (_, group, _):
        time.sleep(LEAD)
        begin, before = time.monotonic(), group.cpu_ns()
        seconds, cpu = run_jobs()
        own = group.cpu_ns() - before
        group.check()
    share = core / os.cpu_count()
    return begin, share, {"seconds": seconds, "cpu": cpu, "later": share - own / seconds / 1e7 / os.cpu_count()}


def one_round(recorder, once, names):
    """`once` gives the moment of a row's turn, the agent's share of all cores in % and the values. A run without an agent comes first and last:
    the time between both, at the moment of a run, is that without its agent, also on a machine that becomes slower in the round. The same for
    the CPU time."""
    runs, without = [], []
    for name in (NONE, *names, NONE):
        if recorder.is_missing(name):
            continue
        with recorder.turn(name):
            moment, share, values = once(name)
            recorder.add(name, **values)
            (without if name == NONE else runs).append((name, moment, share, values))
    if len(without) < 2:
        return
    for name, moment, share, values in runs:
        recorder.add(name, longer=more("seconds", moment, values, *without) + values["later"], full=more("cpu", moment, values, *without) + share)


def more(key, moment, values, before, after):
    """In % of the value without an agent."""
    (_, begin, _, first), (_, end, _, last) = before, after
    return 100 * (values[key] / (first[key] + (last[key] - first[key]) * (moment - begin) / (end - begin)) - 1)


def measure(bench, recorder):
    for name, most in PUBLISHED.items():
        recorder.add(name, published=most)
    with tempfile.TemporaryDirectory(prefix="atalaya-bench-") as folder:
        reason = reason_without_limits(folder)
        if reason:
            for name in recorder.rows:
                recorder.miss(name, reason)
            return
        texts = {name: pipelines(*variant) for name, variant in VARIANTS.items()}
        with nodes(folder) as run_jobs:
            with working(run_jobs):
                for name, text in texts.items():
                    with recorder.turn(name):
                        recorder.add(name, **whole_window(bench, text))

            def once(name):
                return without_agent(run_jobs) if name == NONE else with_agent(bench, run_jobs, texts[name], recorder.rows[name]["values"]["core"][0])
            for number in range(bench.rounds or ROUNDS):
                one_round(recorder, once, TURNS[number % len(TURNS)])


TABLES = (Table(
    name="presets",
    title="Jobs with each preset of the reference",
    text=("How much longer a mix of jobs takes with monitoring, profiling, or both: the experiment of the reference, BDWatchdog. Its default "
          "preset has windows of 20 s, and profiles of 60 s at 101 Hz; the aggressive one has 5 s, and 30 s at 202 Hz. Here they are "
          "`pipelines/profile.lua` with windows of 20 s, and `pipelines/aggressive.lua`, into the embedded store on the disk of the jobs. The "
          f"jobs are {len(JOBS)} map/reduce jobs of {min(JOBS)} to {max(JOBS)} MiB on the small cluster of `tests/cluster`: four JVMs, which run for the "
          "whole time, in control groups and network namespaces without limits, observed by one agent.",
          "A round begins and ends with a run without an agent, with whose time the others are compared. An agent starts just before its "
          "run, and also runs for its longest window next to the jobs, whose CPU time counts; all names and stacks are new to it.",
          "Judged is the time on full cores: the growth of the jobs' own CPU time, plus the agent's share of all cores, without waits for the agent's "
          "disk writes. The time by the clock is that of the runs, plus the agent's CPU time beyond that in a run as a share of all cores. The "
          "reference's figures are by the clock, its highest, as means of 10 runs on a real cluster; it calls monitoring with its default preset "
          "negligible."),
    columns=(Column("full", "longer on full cores, % (mean, 95 % interval)", text=average_of_pairs),
             Column("longer", "by the clock, % (mean, 95 % interval)", text=average_of_pairs), Column("later", "of it added, %", detail=True),
             Column("published", "reference, %", 1), Column("core", "CPU of the agent, % of a core", detail=True), Column("cpu", "CPU of a run, s", detail=True),
             Column("seconds", "run, s", detail=True), Column("store", "store after a window, MiB", 1, detail=True)),
    rows={NONE: "", **{name: "atalaya" for name in VARIANTS}},
    goals=tuple(Goal(f"{name}: at most {most} %", loss(name, "full", most)) for name, most in JUDGED.items()),
    measure=measure,
    minutes=27,
),)
