# SPDX-License-Identifier: Apache-2.0
"""bottleneck over a store that the real agent wrote: jobs as a hub receives them, spans and metrics of four nodes. One of them has a worn
disk, reads over the network, or runs another program next to the tasks; then all nodes are healthy."""

import json
import os
import random
import re
import subprocess
import time
import unittest
import urllib.request

import browser
import job_histories
from harness import BINARY, PATIENCE, Agent, AgentCase, main
from questions import DECLARATIONS

T0 = 1_700_000_000
NODES = ["n1", "n2", "n3", "n4"]
PHASES = {"read": 2, "map": 4, "collect": 0.5, "spill": 2, "merge": 1.5}
MIB = 1 << 20
WAVES, WAVE = 8, 16  # how many tasks each node runs, and how often one begins, in seconds


def sample(kind, start, length, tags, fields, text=""):
    return {"kind": kind, "time": int(start * 1e9), "duration": int(length * 1e9), "text": text, "tags": tags, "fields": fields}


def tasks(job, slow=None, phase=None, factor=1, remote=None):
    """One task after the other on each node; on the slow one the phase takes this factor longer."""
    chance = random.Random(job)
    for wave in range(WAVES):
        for node in NODES:
            tags = {"job": job, "framework": "hadoop", "stage": "map", "task": f"{job}_m_{wave}_{node}", "attempt": f"{job}_m_{wave}_{node}_0", "host": node}
            at = start = T0 + wave * WAVE
            for name, seconds in PHASES.items():
                seconds *= chance.uniform(0.9, 1.1) * (factor if (node, name) == (slow, phase) else 1)
                yield sample("span", at, seconds, {**tags, "phase": name}, {"span.bytes": 64 * MIB}, "phase")
                at += seconds
            share = 0.4 if node == remote else 0.02
            yield sample("span", start, at - start, tags,
                         {"span.bytes": 64 * MIB, "span.bytes.remote": int(64 * MIB * share), "span.outcome": 0,
                          "counter.task.SPILL_MILLIS": int(PHASES["spill"] * 1000 * (factor if (node, "spill") == (slow, phase) else 1)) + wave},
                         "task")
    yield sample("span", T0, WAVES * WAVE, {"job": job, "framework": "hadoop", "name": "sort"}, {"span.outcome": 0}, "job")


def metrics(written, busy=None):
    """Reports of an agent on each node, one window per second."""
    chance = random.Random(7)
    for second in range(1, WAVES * WAVE + 1):
        for node in NODES:
            def point(metric, value, node=node, second=second, **tags):
                return sample("metrics", T0 + second, 1, {"host": node, **tags}, {metric: value * chance.uniform(0.97, 1.03)})
            yield point("sys.cpu.usage", 97 if node == busy else 40, core="0")
            yield point("sys.disk.write.mb", written.get(node, 147.74), disk="sda")
            yield point("sys.mem.free", 900)
            yield point("proc.cpu.user", 60, pid="5", process=f"worker-{node}")


def of_node(node, far):
    """How far a task's data is and how many times as long it takes: the far one reads over the network."""
    return ("OFF_SWITCH", 2) if node == far else ("NODE_LOCAL", 1)


def mapreduce_job(far):
    """A history of Hadoop with a map after the other on each node."""
    start = T0 * 1000
    yield "JOB_SUBMITTED", {"jobid": job_histories.JOB, "jobName": "sort", "submitTime": start}
    counters = [(job_histories.FILE_COUNTER, [("HDFS_BYTES_READ", 64 * MIB)]),
                (job_histories.TASK_COUNTER, [("MAP_OUTPUT_MATERIALIZED_BYTES", 64 * MIB)])]
    for number in range(WAVES * len(NODES)):
        node, begin = NODES[number % len(NODES)], start + number // len(NODES) * WAVE * 1000
        word, factor = of_node(node, far)
        end = begin + (5000 + number * 37 % 500) * factor
        attempt = {"taskid": job_histories.task("m", number), "attemptId": job_histories.attempt("m", number, 0), "taskType": "MAP"}
        yield "TASK_STARTED", {"taskid": attempt["taskid"], "taskType": "MAP", "startTime": begin, "splitLocations": ""}
        yield job_histories.started("m", number, 0, begin, node, word)
        yield "MAP_ATTEMPT_FINISHED", {**attempt, "taskStatus": "SUCCEEDED", "mapFinishTime": end, "finishTime": end + 300, "hostname": node,
                                       "rackname": "/r1", "counters": counters}
    yield "JOB_FINISHED", {"jobid": job_histories.JOB, "finishTime": start + WAVES * WAVE * 1000, "totalCounters": [], "mapCounters": [],
                           "reduceCounters": []}


def map_lines(far):
    """Output of examples/btrace/HadoopMap.java for the same tasks, as source btrace has it: without the source of the input."""
    for number in range(WAVES * len(NODES)):
        node, begin = NODES[number % len(NODES)], T0 + number // len(NODES) * WAVE
        length = (5 + number * 37 % 500 / 1000) * of_node(node, far)[1]
        tags = {"job": job_histories.JOB, "framework": "hadoop", "stage": "map", "task": job_histories.task("m", number),
                "attempt": job_histories.attempt("m", number, 0), "host": node}
        at = begin + 0.2
        for phase, seconds, source in (("read", length - 3, {}), ("map", 1.5, {}), ("collect", 0.5, {}), ("spill", 0.4, {"source": "memory"}),
                                       ("merge", 0.25, {"source": "disk"})):
            yield sample("span", at, seconds, {**tags, **source, "phase": phase}, {"span.bytes": 64 * MIB}, "phase")
            at += seconds


def spark_job(far):
    """A log of Spark with a task after the other on each node."""
    begin, *_, last, end = job_histories.spark_events()
    yield begin
    yield {"Event": "SparkListenerApplicationStart", "App Name": "sort", "App ID": "app_1", "Timestamp": T0 * 1000, "User": "u"}
    for number in range(WAVES * len(NODES)):
        node = NODES[number % len(NODES)]
        word, factor = of_node(node, far)
        length, launch = (5000 + number * 37 % 500) * factor, (T0 + number // len(NODES) * WAVE) * 1000
        for kind in ("Start", "End"):
            event = job_histories.task_event("SparkListenerTask" + kind, 0, number, number, length)
            event["Task Info"].update({"Launch Time": launch, "Finish Time": launch + length if kind == "End" else 0, "Host": node,
                                       "Locality": "ANY" if word == "OFF_SWITCH" else word, "Getting Result Time": 0})
            if kind == "End":
                event["Task Metrics"].update({"Executor Run Time": length - 100, "Input Metrics": {"Bytes Read": 64 * MIB, "Records Read": 7}})
            yield event
    yield last
    yield {**end, "Timestamp": (T0 + WAVES * WAVE) * 1000}


# The luminance of the page's background, and the weakest contrast of a text with what is behind it.
CONTRAST = """(() => {
    const numbers = text => (text.match(/[\\d.]+/g) || []).map(Number);
    const luminance = ([r, g, b]) => [r, g, b].map(part => part / 255)
        .map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
    const page = numbers(getComputedStyle(document.body).backgroundColor);
    const background = page.length === 3 || page[3] > 0 ? luminance(page) : 1;
    const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    let weakest = 21;
    for (const one of document.querySelectorAll('h1, h2, h3, p, li, td, th, svg text')) {
        const svg = one.closest('svg'), style = getComputedStyle(one);
        const behind = svg ? luminance(numbers(getComputedStyle(svg.querySelector('.paper')).fill)) : background;
        weakest = Math.min(weakest, contrast(luminance(numbers(svg ? style.fill : style.color)), behind));
    }
    return [background, weakest];
})()"""


class Bottleneck(AgentCase):
    def setUp(self):
        super().setUp()
        self.store = self.path("atalaya.db")
        agent = self.run_agent('local a = require "atalaya"\n'
                               f'local sink = a.sink.sqlite {{ path = "{self.store}", retain = "0s" }}\n'
                               'a.pipeline "hub" { a.source.receive { listen = "127.0.0.1:0", store_timeout = "50s" }, sink }\n' + DECLARATIONS)
        self.url = "http://" + agent.wait_line("listening on ").split("listening on ")[1].split()[0] + "/api/jsonlines"

    def send(self, *lists):
        body = "".join(json.dumps(one) + "\n" for documents in lists for one in documents).encode()
        urllib.request.urlopen(urllib.request.Request(self.url, body), timeout=PATIENCE).close()

    def bottleneck(self, *words, status=0):
        done = subprocess.run([BINARY, "bottleneck", *words, "--store", self.store], capture_output=True, text=True, timeout=PATIENCE,
                              cwd=self.folder, env=dict(os.environ, TZ="UTC"))
        self.assertEqual(done.returncode, status, done.stderr)
        self.errors = done.stderr
        return done.stdout

    def answer(self, job, *words):
        return json.loads(self.bottleneck("--job", job, *words, "--format", "json"))

    def finding(self, answer):
        self.assertEqual(len(answer["findings"]), 1, answer["findings"])
        found = answer["findings"][0]
        return found["node"], found["stage"], found["phase"], found["reason"]

    def test_a_worn_disk(self):
        self.send(tasks("job_1", "n3", "spill", 2), metrics({"n3": 115.35}))
        answer = self.answer("job_1")
        self.assertEqual(self.finding(answer), ("n3", "map", "spill", "disk"))
        self.assertRegex(answer["findings"][0]["summary"], r"^spill of map tasks is slow on node n3: disk write 2[12] % below the other nodes; CPU, "
                         "other programs.* ruled out")
        self.assertEqual(answer["findings"][0]["index"], "dps")
        self.assertEqual({one["metric"] for one in answer["findings"][0]["metrics"][:2]}, {"sys.disk.write.mb", "counter.task.SPILL_MILLIS"})
        nodes = {node["node"]: node for node in answer["nodes"]}
        self.assertEqual([name for name, node in nodes.items() if node["bottleneck"]], ["n3"])
        self.assertEqual([name for name, node in nodes.items() if node["top"]], ["n3"])
        phases = {phase["phase"]: phase for phase in answer["phases"]}
        self.assertEqual(set(phases), set(PHASES))
        self.assertEqual([name for name, phase in phases.items() if phase["bottleneck"]], ["spill"])
        self.assertEqual([name for name, phase in phases.items() if phase["top"]], ["spill"])
        self.assertEqual(len(answer["tasks"]), WAVES * len(NODES))
        slow = [task for task in answer["tasks"] if task["bottleneck"]]
        self.assertEqual({task["node"] for task in slow}, {"n3"})
        self.assertEqual({task["outcome"] for task in answer["tasks"]}, {"succeeded"})
        table = self.bottleneck("--job", "job_1")
        self.assertRegex(table, r"(?m)^\* spill of map tasks is slow on node n3: disk write")
        self.assertRegex(table, r"(?m)^    found: disk write 11[56] MiB/s, 14[78] MiB/s on the other nodes")
        self.assertRegex(table, r"(?m)^job_1 \(sort\) +succeeded +32 ")
        kmeans = self.answer("job_1", "--clustering", "kmeans")
        self.assertEqual(self.finding(kmeans), ("n3", "map", "spill", "disk"))

    def test_remote_reads(self):
        self.send(tasks("job_1", "n1", "read", 3, remote="n1"), metrics({}))
        answer = self.answer("job_1")
        self.assertEqual(self.finding(answer), ("n1", "map", "read", "remote reads"))
        self.assertEqual({node["node"]: round(node["remoteShare"], 2) for node in answer["nodes"]}, {"n1": 0.4, "n2": 0.02, "n3": 0.02, "n4": 0.02})

    def read_history(self, name, raw):
        """Source hadoop sends its spans through the same path."""
        folder = self.path("agent-" + name)
        os.mkdir(folder)
        with open(self.path(name), "wb") as file:
            file.write(raw)
        agent = Agent(folder, f'local a = require "atalaya"\na.pipeline "jobs" {{ a.source.hadoop {{ path = "{self.path(name)}", follow = false }}, '
                               f'a.sink.http {{ url = "{self.url}", format = "jsonlines" }} }}\n')
        self.agents.append(agent)
        self.assertEqual(agent.join(), 0, agent.errors())

    def test_histories_name_the_reason_too(self):
        self.send(metrics({}))
        self.read_history(job_histories.JOB + ".jhist", job_histories.json_history(mapreduce_job("n1")))
        answer = self.answer(job_histories.JOB)
        self.assertEqual(self.finding(answer), ("n1", "map", "map", "remote reads"))
        self.assertEqual({node["node"]: node["remoteShare"] for node in answer["nodes"]}, {"n1": 1, "n2": 0, "n3": 0, "n4": 0})
        self.read_history("app_1", job_histories.spark_log(spark_job("n2")))
        self.assertEqual(self.finding(self.answer("app_1")), ("n2", "0", "compute", "remote reads"))

    def test_lines_alone_do_not_rule_remote_reads_out(self):
        self.send(map_lines("n1"), metrics({}))
        answer = self.answer(job_histories.JOB)
        self.assertEqual(self.finding(answer), ("n1", "map", "read", "unknown"))
        self.assertEqual([check["verdict"] for check in answer["findings"][0]["checks"] if check["what"] == "remote reads"], ["unknown"])
        for row in answer["nodes"] + answer["tasks"]:
            self.assertFalse({"remoteShare", "remote"} & set(row))

    def test_lines_and_a_history_of_the_same_tasks(self):
        self.send(map_lines("n1"), metrics({}))
        alone = self.answer(job_histories.JOB)
        self.read_history(job_histories.JOB + ".jhist", job_histories.json_history(mapreduce_job("n1")))
        answer = self.answer(job_histories.JOB)
        self.assertEqual(self.finding(answer), ("n1", "map", "read", "remote reads"))
        self.assertEqual(answer["notes"], ["phases of 32 tasks are reported by their lines and by a history: the lines count"])
        speeds = [{phase["phase"]: phase["speed"] for phase in one["phases"]} for one in (alone, answer)]
        self.assertEqual(speeds[0], speeds[1])
        self.assertLess(sum(phase["share"] for phase in answer["phases"]), 1)
        self.assertEqual({task["locality"] for task in answer["tasks"] if task["node"] == "n2"}, {"node"})

    def test_another_program(self):
        hog = (sample("metrics", T0 + second, 1, {"host": "n2", "pid": "9", "process": "stress"}, {"proc.cpu.user": 150.0})
               for second in range(1, WAVES * WAVE))
        self.send(tasks("job_1", "n2", "map", 2), metrics({}, busy="n2"), hog)
        answer = self.answer("job_1")
        self.assertEqual(self.finding(answer), ("n2", "map", "map", "other programs"))
        self.assertIn('another program, "stress"', answer["findings"][0]["summary"])

    def test_healthy_nodes(self):
        self.send(*(tasks(f"job_{i}") for i in range(10)), metrics({}))
        answer = self.answer("all", "--from", str(T0), "--to", str(T0 + 600))
        self.assertEqual(len(answer["jobs"]), 10)
        self.assertEqual(answer["findings"], [])
        self.assertFalse(any(row["bottleneck"] for kind in ("tasks", "nodes", "phases") for row in answer[kind]))
        self.assertTrue(self.bottleneck("--job", "job_3").startswith("no bottleneck found\n"))
        # Another time.
        self.assertEqual(self.answer("all")["jobs"], [])
        self.assertIn("no tasks of jobs from ", self.errors)
        self.assertIn(f"the jobs in the store ran from {time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(T0))} to ", self.errors)
        self.assertEqual(len(self.answer("all", "--from", str(T0 - 86400))["jobs"]), 10)

    def test_a_running_job_lasts_until_now(self):
        self.send([{**sample("span", T0, 0, {"job": "live"}, {}, "job"), "duration": -1}])
        self.answer("all")
        began = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(T0))
        self.assertRegex(self.errors, f"the jobs in the store ran from {began} to {time.strftime('%Y-%m-%d ', time.gmtime())}")

    def test_before_and_after(self):
        self.send(tasks("job_1", "n3", "spill", 3), tasks("job_2"))
        answer = self.answer("job_1", "--compare", "job_2")
        speeds = {(one["stage"], one.get("phase")): one for one in answer["compare"]["speeds"]}
        self.assertEqual(len(speeds), 6)
        self.assertGreater(speeds["map", None]["after"], speeds["map", None]["before"])
        self.assertEqual({finding["job"] for finding in answer["findings"]}, {"job_1"})

    def test_critical_path(self):
        self.send(tasks("job_1", "n3", "spill", 3), metrics({}), [{**sample("span", T0, 0, {"job": "live"}, {}, "job"), "duration": -1}])
        path = json.loads(self.bottleneck("--job", "job_1", "--critical-path", "--format", "json"))
        length = WAVES * WAVE
        self.assertEqual((path["job"], path["seconds"]), ("job_1", length))
        self.assertAlmostEqual(sum(part["seconds"] for part in path["parts"]), length, places=6)
        self.assertEqual({part["part"] for part in path["parts"] if part["seconds"] > 1e-3}, {f"map {name}" for name in PHASES} | {"between tasks", "after the last task"})
        at = 0
        for step in path["steps"]:
            self.assertAlmostEqual(step["at"], at, places=6)
            at += step["seconds"]
        self.assertAlmostEqual(at, length, places=6)
        # The slow node runs its tasks in turn.
        on_path = [step for step in path["steps"] if step["kind"] == "task"]
        self.assertEqual([step["node"] for step in on_path], ["n3"] * WAVES)
        self.assertEqual([step["after"] for step in on_path], ["start"] + ["slot"] * (WAVES - 1))
        predictions = {one["change"]: one["seconds"] for one in path["whatIf"]["predictions"]}
        self.assertEqual(set(predictions), {"one executor more", "node n3 as fast as the others"})
        self.assertLess(predictions["node n3 as fast as the others"], length)
        table = self.bottleneck("--job", "job_1", "--critical-path")
        self.assertIn("Critical path of job_1 (sort): 128 s", table)
        self.assertRegex(table, r"(?m)^all +128 +100 %$")
        self.assertRegex(table, r"(?m)^node n3 as fast as the others ")
        for words, error in ((("--job", "all"), "needs --job with a single job"), (("--job", "job_1", "--compare", "live"), "without --compare"),
                             (("--job", "job_1", "--format", "html"), "use --format table or json"),
                             (("--job", "live"), "has no ended task in this range, or still runs")):
            self.bottleneck(*words, "--critical-path", status=2)
            self.assertIn(error, self.errors)

    def test_regions(self):
        self.send(sample("span", T0 + i, seconds, {"name": name, "host": "n1"}, {}, "region")
                  for i in range(3) for name, seconds in (("Parser.parse", 9), ("Codec.read", 5), ("Main.log", 0.1), ("Sort.cmp", 0.5)))
        answer = self.answer("all", "--from", str(T0), "--to", str(T0 + 60))
        self.assertEqual([(one["region"], one["class"], one["critical"]) for one in answer["regions"]],
                         [("Parser.parse", "very severe", True), ("Codec.read", "severe", True), ("Sort.cmp", "moderate", False),
                          ("Main.log", "slight", False)])
        self.assertEqual([one["region"] for one in answer["findings"]], ["Parser.parse", "Codec.read"])

    def test_regions_without_a_job_are_of_the_job_that_ran_there_then(self):
        self.send(tasks("job_1"), (sample("span", T0 + at, 20, {"name": name, "host": host, "pid": "7", "process": "java"}, {}, "region")
                                   for name, host, at in (("Parser.parse", "n1", 5), ("Parser.parse", "n1", 30), ("Codec.read", "n9", 5),
                                                          ("Main.log", "n1", 900))))
        answer = self.answer("job_1")
        self.assertEqual([(one["region"], one["runs"], one["critical"]) for one in answer["regions"]], [("Parser.parse", 2, True)])
        self.assertEqual(answer["notes"], ["2 runs of code regions have no job: they ran on its nodes in its time, and may belong to another job"])

    def test_regions_of_two_jobs_are_separate(self):
        def regions(job, costs):
            return (sample("span", T0 + 1, seconds, {"job": job, "name": name, "host": "n1"}, {}, "region") for name, seconds in costs.items())
        self.send(tasks("job_1"), tasks("job_2"), regions("job_1", {"parse": 60, "write": 5}), regions("job_2", {"parse": 30, "write": 4}))
        for words in (("job_1", "--compare", "job_2"), ("all", "--from", str(T0), "--to", str(T0 + 600))):
            answer = self.answer(*words)
            self.assertEqual([(one["job"], one["region"], one["runs"], one["seconds"], round(one["share"], 2), one["critical"]) for one in answer["regions"]],
                             [("job_1", "parse", 1, 60, 0.92, True), ("job_2", "parse", 1, 30, 0.88, True), ("job_1", "write", 1, 5, 0.08, False),
                              ("job_2", "write", 1, 4, 0.12, False)])
            self.assertEqual([(one["job"], one["region"]) for one in answer["findings"]], [("job_1", "parse"), ("job_2", "parse")])
        self.assertIn("* job_2 (sort): critical code region parse: ", self.bottleneck("--job", "job_1", "--compare", "job_2"))

    def test_regions_that_had_runs_in_no_span_are_named(self):
        def short(name, runs, seconds, **tags):
            return (sample("metrics", T0 + second, 1, {"name": name, "host": "n1", **tags}, {"region.calls": 1000, "region.short": runs, "region.dropped": 0})
                    for second in seconds)
        self.send(tasks("job_1"), (sample("span", T0 + i, 0.1, {"name": "hot", "host": "n1"}, {}, "region") for i in range(10)),
                  short("hot", 990, range(-30, 101)), short("parse", 7, range(5, 9), job="job_1"), short("quiet", 0, range(1, 101)),
                  short("elsewhere", 7, range(1, 101), host="n9"), short("later", 7, range(900, 910)))
        answer = self.answer("job_1")
        region, = answer["regions"]
        self.assertEqual((region["region"], region["runs"], round(region["seconds"], 6), region["critical"]), ("hot", 10, 1, False))
        self.assertEqual([note for note in answer["notes"] if "region.short" in note],
                         ['code regions "hot", "parse" had runs that were too short or too many to be spans (region.short, region.dropped): '
                          'their cost is higher than shown; region.time includes them'])

    def test_a_node_without_lvm_moves_no_less(self):
        volumes = (sample("metrics", T0 + second, 1, {"host": node, "disk": "dm-0"}, {"sys.disk.write.mb": 147.74})
                   for second in range(1, WAVES * WAVE + 1) for node in NODES if node != "n3")
        self.send(tasks("job_1", "n3", "spill", 2), metrics({}), volumes)
        self.assertEqual(self.finding(self.answer("job_1")), ("n3", "map", "spill", "unknown"))

    def test_an_open_task_is_replaced_when_it_ends(self):
        tags = {"job": "live", "stage": "map", "task": "m", "attempt": "m_0", "host": "n1"}
        self.send([{**sample("span", T0, 0, tags, {}, "task"), "duration": -1}])
        self.assertEqual([task["outcome"] for task in self.answer("live")["tasks"]], ["running"])
        self.send([sample("span", T0, 5, tags, {"span.bytes": 1024, "span.outcome": 1}, "task")])
        task, = self.answer("live")["tasks"]
        self.assertEqual((task["outcome"], task["seconds"], task["bytes"]), ("failed", 5, 1024))
        self.assertNotIn("grade", task)

    @unittest.skipUnless(browser.BINARY, "no browser")
    def test_the_page_in_a_browser(self):
        self.send(tasks("job_1", "n3", "spill", 2), tasks("job_2"), metrics({"n3": 115.35}))
        self.bottleneck("--job", "job_1", "--compare", "job_2", "-o", "job.html")
        page = browser.Browser(1100, 1600)
        try:
            page.open(self.path("job.html"))
            self.assertIn("spill of map tasks is slow on node n3: disk write", page.value("document.querySelector('.finding').innerText"))
            self.assertEqual(page.value("document.querySelectorAll('svg').length"), 1 + 2 * 2 * 6)
            self.assertEqual(page.value("""[...document.querySelectorAll('h2')].find(title => title.innerText == 'Bottleneck tasks')
                .nextElementSibling.nextElementSibling.querySelectorAll('tr').length"""), 1 + WAVES)
            # Points and bars lie within their pictures.
            outside = page.value("""[...document.querySelectorAll('svg')].filter(svg => { const all = svg.getBoundingClientRect();
                return [...svg.querySelectorAll('circle, rect, text')].some(one => { const box = one.getBoundingClientRect();
                    return box.right > all.right + 1 || box.left < all.left - 1 || box.bottom > all.bottom + 1 || box.top < all.top - 1 }) }).length""")
            self.assertEqual(outside, 0)
            self.assertLessEqual(page.value("document.documentElement.scrollWidth"), 1100)
            if os.environ.get("ATALAYA_PICTURES"):
                page.picture(os.path.join(os.environ["ATALAYA_PICTURES"], "bottleneck.png"))
        finally:
            page.close()

    @unittest.skipUnless(browser.BINARY, "no browser")
    def test_the_page_is_readable_in_the_dark_and_on_a_phone(self):
        self.send(tasks("job_1", "n3", "spill", 2), tasks("job_2"), metrics({"n3": 115.35}))
        self.bottleneck("--job", "job_1", "--compare", "job_2", "-o", "job.html")
        for width in (1400, 400):
            page = browser.Browser(width, 1600)
            try:
                page.open(self.path("job.html"))
                self.assertLessEqual(page.value("document.documentElement.scrollWidth"), width)
                for scheme in ("light", "dark"):
                    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                    background, weakest = page.value(CONTRAST)
                    self.assertEqual(background < 0.5, scheme == "dark", background)
                    self.assertGreaterEqual(weakest, 4.5)  # WCAG 2, level AA
                    if os.environ.get("ATALAYA_PICTURES"):
                        page.picture(os.path.join(os.environ["ATALAYA_PICTURES"], f"bottleneck-{scheme}-{width}.png"))
            finally:
                page.close()

    def test_errors_are_reported(self):
        self.send(tasks("job_1526_0001"))
        for words, message in (
                (("--job", "job_1526_0002"), 'job "job_1526_0002" is not in the store .*; did you mean "job_1526_0001"'),
                (("--job", ""), "--job: empty; name a job, or all"),
                (("--job", "all", "--compare", "x"), "--compare: needs --job with a single job"),
                (("--job", "x", "--compare", "x"), "--compare: the same job"),
                (("--job", "all", "-o", "report.pdf"), "-o report.pdf: unknown suffix; use .html, .json or .txt"),
                ((), "job")):
            self.bottleneck(*words, status=2)
            self.assertTrue(re.search(message, self.errors), self.errors)
        self.bottleneck("--job", "job_1526_0001", "--max-points", "10", status=1)
        self.assertIn("narrow the query with one --job, --tag or a shorter time range", self.errors)


if __name__ == "__main__":
    main()
