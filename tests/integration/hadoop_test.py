# SPDX-License-Identifier: Apache-2.0
"""Job histories through the agent: every task, phase and counter equals an independent count; growing files are followed, spans
are not sent twice, damage is reported."""

import glob
import http.server
import json
import os
import re
import sqlite3
import subprocess
import threading
import time
import urllib.parse

import job_histories as made
from harness import BINARY, PATIENCE, AgentCase, main

MS = 1_000_000
HADOOP = '{ n0 = "/dc1/r0", n1 = "/dc1/r1", n2 = "/dc1/r2", n9 = "/dc2/r1" }'


def spans_of(output):
    return [json.loads(line) for line in output.decode().splitlines()]


def keyed(spans):
    """As job_histories counts them; the last of a span wins."""
    out = {}
    for span in spans:
        tags, level = span["tags"], span["text"]
        who = {"job": tags.get("job"), "stage": tags.get("stage")}.get(level, tags.get("attempt"))
        counters = {name: value for name, value in span["fields"].items() if name.startswith("counter.")}
        if level != "fact":
            out[level, who, tags.get("phase", "")] = (span["time"] // MS, span["duration"] // MS, counters)
    return out


def without_placed(found):
    """Spark logs no start of a phase."""
    return {key: (None if key[0] == "phase" else begin, length, counters) for key, (begin, length, counters) in found.items()}


def rolled_name(app):
    return "eventlog_v2_" + app


class HadoopTest(AgentCase):
    maxDiff = None

    def put(self, name, content):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def append(self, path, content):
        with open(path, "ab") as file:
            file.write(content)

    def lua(self, path, more="", sink='a.sink.stdout { format = "samples" }'):
        return (f'local a = require "atalaya"\na.pipeline "jobs" {{\n  a.source.hadoop {{ path = "{path}", look_every = "100ms", {more} }},\n'
                f"  {sink},\n}}\n")

    def read_all(self, path, more=""):
        """Samples of an agent that ends when all is read."""
        agent = self.run_agent(self.lua(path, "follow = false, " + more))
        self.assertEqual(agent.join(), 0, agent.errors())
        return spans_of(agent.output), agent

    # ---- every form ----------------------------------------------------------------------------------------------------------

    def test_mapreduce_in_all_its_forms(self):
        events = list(made.mapreduce_events())
        whole, coarser = made.count_mapreduce(events), made.count_mapreduce(made.without_merge(events))
        self.assertEqual((len(whole), len(coarser)), (20, 18))
        for name, content, expected in (("a/job_7.jhist", made.json_history(events), whole),
                                        ("b/job_7.jhist", made.binary_history(events), whole),
                                        ("c/n0_1_job_7_u_sort", made.old_history(events), coarser)):
            with self.subTest(name):
                spans, agent = self.read_all(self.put(name, content), f"racks = {HADOOP}")
                self.assertEqual(keyed(spans), expected)
                self.assertEqual(len(spans), len(expected), "nothing is reported twice")
                self.assertNotIn("warning", agent.errors())
                self.check_mapreduce(spans)

    def check_mapreduce(self, spans):
        tasks = {s["tags"]["attempt"]: s for s in spans if s["text"] == "task"}
        first, failed, last = (tasks[made.attempt("m", n, t)] for n, t in ((0, 0), (2, 0), (2, 1)))
        self.assertEqual(first["tags"], {"host": "n0", "framework": "hadoop", "job": made.JOB, "stage": "map", "locality": "node",
                                         "task": made.task("m", 0), "attempt": made.attempt("m", 0, 0)})
        self.assertEqual(first["fields"]["span.bytes"], 5_000_000_000)
        self.assertEqual(first["fields"]["span.bytes.remote"], 0)
        self.assertEqual(first["fields"]["span.records"], 100)
        # How often it spilled is not in a history, only how many records.
        self.assertNotIn("span.spills", first["fields"])
        self.assertEqual(first["fields"]["counter.org.apache.hadoop.mapreduce.TaskCounter.SPILLED_RECORDS"], 50)
        self.assertEqual(first["fields"]["span.gc.time"], 7)
        self.assertEqual(first["fields"]["span.outcome"], 0)
        self.assertEqual(failed["fields"], {"span.outcome": 1})
        error = [s for s in spans if s["text"] == "error"][0]
        self.assertEqual(error["tags"], {key: value for key, value in failed["tags"].items() if key != "locality"} |
                         {"error": 'a "quoted"\nerror.'})
        self.assertEqual(failed["tags"]["locality"], "remote")
        self.assertEqual(last["fields"]["span.bytes.remote"], 5_000_000_002)
        # The history does not contain it: by the racks and the places of the task's data.
        self.assertEqual(tasks[made.attempt("m", 1, 0)]["tags"]["locality"], "datacenter")
        self.assertNotIn("locality", tasks[made.attempt("r", 0, 0)]["tags"])
        sources = {s["tags"]["phase"]: s["tags"].get("source") for s in spans if s["text"] == "phase" and s["tags"]["host"] == "n0"}
        self.assertEqual(sources, {"map": "disk", "shuffle": None, "reduce": None})
        self.assertEqual({s["tags"].get("quality") for s in spans if s["text"] == "phase"}, {"coarse"})
        self.assertEqual({s["tags"].get("quality") for s in spans if s["text"] == "task"}, {None})
        job = [s for s in spans if s["text"] == "job"][0]
        self.assertEqual(job["tags"]["name"], "sort it")
        self.assertEqual(job["fields"]["span.outcome"], 0)

    def test_spark_in_all_its_codecs(self):
        codecs = {"plain": lambda raw: raw, "lz4": made.lz4_blocks, "snappy": made.snappy_blocks, "lzf": made.lzf_chunks,
                  "zstd": lambda raw: subprocess.run(["zstd", "-c"], input=raw, capture_output=True, check=True).stdout}
        for name, packed in codecs.items():
            with self.subTest(name):
                app = "application_" + name
                raw = made.spark_log(made.spark_events(app))
                spans, agent = self.read_all(self.put("log." + name, packed(raw)))
                self.assertEqual(without_placed(keyed(spans)), made.count_spark(raw))
                self.assertNotIn("warning", agent.errors())
                self.check_spark(spans, app)

    def check_spark(self, spans, app):
        tasks = {s["tags"]["attempt"]: s for s in spans if s["text"] == "task"}
        self.assertEqual(tasks["0"]["tags"], {"host": "n0.example.com", "framework": "spark", "job": app,
                                              "stage": "0", "task": "0.0", "attempt": "0", "locality": "node", "executor": "1"})
        self.assertEqual(tasks["0"]["fields"]["span.bytes"], 100_000)
        self.assertEqual(tasks["4"]["fields"]["span.bytes"], 1500)
        self.assertEqual(tasks["4"]["fields"]["span.bytes.remote"], 1000)
        self.assertEqual(tasks["4"]["fields"]["span.records"], 5)
        self.assertEqual(tasks["5"]["fields"]["span.outcome"], 1)
        errors = [(s["tags"]["attempt"], s["tags"]["error"]) for s in spans if s["text"] == "error"]
        self.assertEqual(errors, [("5", "ExceptionFailure")])
        self.assertEqual(tasks["5"]["fields"]["counter.Task_Metrics.Disk_Bytes_Spilled"], 2 ** 33)
        for span in spans:
            if span["text"] == "phase":
                task = tasks[span["tags"]["attempt"]]
                self.assertGreaterEqual(span["time"], task["time"])
                self.assertLessEqual(span["time"] + span["duration"], task["time"] + task["duration"])
                self.assertEqual(span["tags"].get("quality"), None if span["tags"]["phase"] == "result-fetch" else "model")
        compute = [s for s in spans if s["text"] == "phase" and s["tags"]["attempt"] == "0" and s["tags"]["phase"] == "compute"][0]
        self.assertEqual((compute["tags"]["source"], compute["fields"]["span.bytes"]), ("disk", 100_000))
        facts = {s["tags"]["fact"]: s["tags"]["value"] for s in spans if s["text"] == "fact"}
        self.assertEqual(facts, {"spark.executor.cores": "2"})

    def test_facts_of_a_job_configuration(self):
        properties = {"mapreduce.task.io.sort.mb": "100", "mapreduce.job.reduces": "2", "a.password": "p", "other": "x"}
        xml = "<configuration>" + "".join(f"<property><name>{k}</name><value>{v}</value></property>" for k, v in properties.items())
        path = self.put(f"done/{made.JOB}_conf.xml", (xml + "</configuration>").encode())
        spans, _ = self.read_all(self.path("done"))
        self.assertEqual({s["tags"]["fact"]: s["tags"]["value"] for s in spans},
                         {"mapreduce.task.io.sort.mb": "100", "mapreduce.job.reduces": "2"})
        self.assertEqual({(s["text"], s["tags"]["job"], s["time"] // MS) for s in spans},
                         {("fact", made.JOB, os.stat(path).st_mtime_ns // MS)})

    # ---- growing histories -----------------------------------------------------------------------------------------------------

    def test_a_running_application_is_followed_and_its_spans_replaced(self):
        lines = made.spark_log(made.spark_events()).splitlines(keepends=True)
        # Behind the start of the first stage's tasks; in the middle of a line.
        path = self.put("logs/app.inprogress", b"".join(lines[:7]) + lines[7][:40])
        store = self.path("store.db")
        lua = self.lua(self.path("logs"), sink=f'a.sink.sqlite {{ path = "{store}" }}, a.sink.stdout {{ format = "samples" }}')
        agent = self.run_agent(lua)
        self.wait_spans(agent, 6)  # the job, its fact, a stage, three tasks
        open_ones = [s for s in spans_of(agent.output) if s["text"] != "fact"]
        self.assertEqual({s["duration"] for s in open_ones}, {-1})
        self.assertEqual(sorted(s["text"] for s in open_ones), ["job", "stage", "task", "task", "task"])
        self.append(path, lines[7][40:] + lines[8])
        self.wait_spans(agent, 6 + 5)  # the fourth task, then the end of the first with its three phases
        agent.stop()
        before = spans_of(agent.output)

        # Renamed and finished while no agent ran: spans are not sent again.
        self.append(path, b"".join(lines[9:]))
        os.rename(path, self.path("logs/app"))
        agent = self.run_agent(lua)
        self.wait_job_end(agent)
        agent.stop()
        after = spans_of(agent.output)
        ended = lambda spans: [json.dumps([s["text"], s["tags"], s["time"]], sort_keys=True) for s in spans if s["duration"] >= 0]
        self.assertEqual(len(set(ended(before))), len(ended(before)))
        self.assertFalse(set(ended(before)) & set(ended(after)))
        self.assertEqual(without_placed(keyed(before + after)), made.count_spark(b"".join(lines)))
        rows = sqlite3.connect(store).execute("SELECT name, count(*), sum(duration_ns < 0) FROM spans GROUP BY name ORDER BY name")
        phases = sum(key[0] == "phase" for key in made.count_spark(b"".join(lines)))
        self.assertEqual(rows.fetchall(), [("error", 1, 0), ("fact", 1, 0), ("job", 1, 0), ("phase", phases, 0), ("stage", 2, 0), ("task", 8, 0)])

    def wait_spans(self, agent, count):
        with agent.changed:
            agent.changed.wait_for(lambda: agent.output.count(b"\n") >= count, 60)
        self.assertEqual(agent.output.count(b"\n"), count, agent.output.decode() + agent.errors())

    def wait_job_end(self, agent):
        """Until the job has ended."""
        with agent.changed:
            agent.changed.wait_for(lambda: b'"text":"job","tags"' in agent.output and b'"duration":20100000000' in agent.output, 60)
        self.assertIn(b'"duration":20100000000', agent.output, agent.errors())

    def test_a_finished_history_is_not_read_again_nor_where_it_was_moved_to(self):
        content = made.json_history(made.mapreduce_events())
        path = self.put("logs/intermediate/job.jhist", content)
        spans, agent = self.read_all(self.path("logs"))
        self.assertEqual(len(spans), 20)
        self.assertRegex(agent.errors(), r"import finished: 1 file of jobs, 20 spans\n")
        again, agent = self.read_all(self.path("logs"))
        self.assertEqual(again, [])
        skipped = r"import finished: 0 files of jobs, 0 spans; 1 file skipped, because an earlier run read them\. The folder \"(.+)\" records this"
        self.assertTrue(os.path.isdir(re.search(skipped, agent.errors()).group(1)), agent.errors())
        os.makedirs(self.path("logs/done"))
        os.rename(path, self.path("logs/done/job-sorted-SUCCEEDED.jhist"))
        moved, agent = self.read_all(self.path("logs"))
        self.assertEqual(moved, [], agent.errors())
        self.assertRegex(agent.errors(), skipped)
        # Another job is.
        self.put("logs/other.jhist", content.replace(b"0007", b"0008"))
        other, agent = self.read_all(self.path("logs"))
        self.assertEqual(len(other), 20)
        self.assertRegex(agent.errors(), r"import finished: 1 file of jobs, 20 spans; 1 file skipped")

    def test_an_import_of_nothing_says_why(self):
        def reason(path, more=""):
            self.assertEqual(self.read_all(path, more)[0], [])
            return re.search(r"import finished: .*", self.agents[-1].errors()).group(0)

        os.makedirs(self.path("empty"))
        for path in (self.path("empty"), self.path("empty/*.jhist"), self.path("missing")):
            self.assertIn(f'0 spans; there is no file at path = "{path}"', reason(path))
        self.put("logs/a.txt", b"nothing of Hadoop\n")
        self.put("logs/b.txt", b"\n")
        self.assertTrue(reason(self.path("logs")).endswith("0 spans; of 2 files found, 2 not a job history"))
        old = self.put("old/job.jhist", made.json_history(made.mapreduce_events()))
        os.utime(old, (1e9, 1e9))
        self.assertTrue(reason(self.path("old"), 'max_age = "1d"').endswith("0 spans; of 1 file found, 1 older than max_age"))

    def test_try_starts_without_state(self):
        path = self.put("job.jhist", made.json_history(made.mapreduce_events()))
        for _ in range(2):
            shown = subprocess.run([BINARY, "try", "hadoop", f"path={path}", "follow=false", "--format", "json"],
                                   capture_output=True, text=True, check=True)
            self.assertEqual(len(shown.stdout.splitlines()), 20, shown.stderr)

    def test_a_log_in_parts_continues_behind_its_compacted_beginning(self):
        events = list(made.spark_events())
        app = "application_1700000000000_0042"
        folder = f"logs/{rolled_name(app)}"
        lines = made.spark_log(events).splitlines(keepends=True)
        self.put(f"{folder}/appstatus_{app}", b"")
        self.put(f"{folder}/events_1_{app}", b"".join(lines[:9]))
        self.put(f"{folder}/events_2_{app}.lz4", made.lz4_blocks(b"".join(lines[9:20])))
        self.put(f"{folder}/events_10_{app}", b"".join(lines[20:]))
        expected = made.count_spark(b"".join(lines))
        spans, agent = self.read_all(self.path("logs"))
        self.assertEqual(without_placed(keyed(spans)), expected, agent.errors())
        self.assertEqual(len(spans), len(expected) + 1)
        # The first two became one: it replaces them.
        os.remove(self.path(f"{folder}/events_1_{app}"))
        os.remove(self.path(f"{folder}/events_2_{app}.lz4"))
        self.put(f"{folder}/events_2_{app}.compact", b"".join(lines[:20]))
        again, _ = self.read_all(self.path("logs"))
        self.assertEqual(again, [])

    def test_both_runs_of_an_application_that_was_started_again(self):
        app = "application_1700000000000_0042"
        events = list(made.spark_events(app))
        # The first one broke off in its second stage.
        begun = [i for i, event in enumerate(events) if event["Event"] == "SparkListenerTaskEnd"][5]
        first = made.spark_log(made.run_again(events[:begun], 1, 0))
        second = made.spark_log(made.run_again(events, 2, 60_000))
        self.put(f"logs/{app}_1.inprogress", first)
        self.put(f"logs/{app}_2", second)
        store = self.path("store.db")
        agent = self.run_agent(self.lua(self.path("logs"), more="follow = false", sink=f'a.sink.sqlite {{ path = "{store}" }}'))
        self.assertEqual(agent.join(), 0, agent.errors())
        expected = [key for raw in (first, second) for key in made.count_spark(raw) if key[0] == "task"]
        self.assertEqual(len(set(expected)), 5 + 8)
        entities = sqlite3.connect(store).execute(
            "SELECT count(*), count(DISTINCT entity), sum(duration_ns >= 0) FROM spans WHERE name = 'task'").fetchone()
        # Three of the first run have no end.
        self.assertEqual(entities, (5 + 3 + 8, 5 + 3 + 8, 5 + 8))

    # ---- where histories are ---------------------------------------------------------------------------------------------------

    def test_auto_finds_the_configured_folders(self):
        root = self.path("root")
        self.put("root/etc/hadoop/conf/mapred-site.xml",
                 b"<configuration><property><name>mapreduce.jobhistory.done-dir</name><value>${base}/done</value></property>"
                 b"<property><name>base</name><value>/var/hist</value></property></configuration>")
        self.put("root/etc/spark/conf/spark-defaults.conf", b"# x\nspark.eventLog.dir   file:///var/spark\n")
        self.put("root/var/hist/done/2023/11/14/000000/j.jhist", made.json_history(made.mapreduce_events()))
        self.put("root/var/spark/app", made.spark_log(made.spark_events()))
        os.makedirs(root + "/tmp/hadoop-yarn/staging/history/done_intermediate")
        spans, agent = self.read_all("auto", f'root = "{root}"')
        self.assertEqual({s["tags"]["framework"] for s in spans}, {"hadoop", "spark"}, agent.errors())
        self.assertIn(f'histories are in {root}/var/hist/done', agent.errors())

    def test_a_glob_and_a_file_that_is_no_history(self):
        self.put("logs/a.jhist", made.json_history(made.mapreduce_events()))
        self.put("logs/b.txt", made.spark_log(made.spark_events()))
        spans, _ = self.read_all(self.path("logs/*.jhist"))
        self.assertEqual(len(spans), 20)
        other = self.put("notes", b"Dear diary, " * 100)
        spans, agent = self.read_all(other)
        self.assertEqual(spans, [])
        self.assertIn(f"{other} is not a known form of job history", agent.errors())

    def test_links_among_the_matches_of_a_glob_are_skipped_and_reported_once(self):
        self.put("logs/2026/app/a.jhist", made.json_history(made.mapreduce_events()))
        other = self.put("elsewhere/b.jhist", b"")
        os.symlink("2026", self.path("logs/current"))
        os.makedirs(self.path("logs/2027"))
        os.symlink(os.path.dirname(other), self.path("logs/2027/app"))
        agent = self.run_agent(self.lua(self.path("logs/*/app")))
        self.wait_spans(agent, 20)
        # Found in a later look than that which met the links.
        self.put("logs/2026/app/c.jhist", made.json_history(made.mapreduce_events()).replace(b"0007", b"0008"))
        self.wait_spans(agent, 2 * 20)
        agent.stop()
        self.assertEqual(agent.errors().count("is a symbolic link; links are followed only if path names them"), 1, agent.errors())
        self.assertEqual(agent.errors().count("warning"), 1, agent.errors())

    def test_hdfs_by_its_rest_interface(self):
        self.put("hdfs/spark/app one%", made.spark_log(made.spark_events()))
        self.put("hdfs/done/j.jhist", made.json_history(made.mapreduce_events()))
        with WebHdfs(self.path("hdfs")) as server:
            spans, agent = self.read_all(f"webhdfs://127.0.0.1:{server.port}/", 'user = "hist"')
            self.assertEqual(len(spans), 20 + len(made.count_spark(made.spark_log(made.spark_events()))) + 1, agent.errors())
            self.assertTrue(server.redirected)
            self.assertEqual(server.users, {"hist"})
            server.refuse = True
            spans, agent = self.read_all(f"webhdfs://127.0.0.1:{server.port}/done")
            self.assertEqual(spans, [])
            self.assertIn('the server returned status 403: Permission denied: user=x', agent.errors())

    def test_the_active_name_node_is_queried(self):
        self.put("hdfs/done/j.jhist", made.json_history(made.mapreduce_events()))
        with WebHdfs(self.path("hdfs")) as standby, WebHdfs(self.path("hdfs")) as active:
            standby.standby = True
            nodes = f"127.0.0.1:{standby.port},127.0.0.1:{active.port}"
            spans, agent = self.read_all(f"webhdfs://{nodes}/done")
            self.assertEqual(len(spans), 20, agent.errors())
            self.assertNotIn("warning", agent.errors())
            active.standby = True
            spans, agent = self.read_all(f"webhdfs://{nodes}/other")
            self.assertIn("the server returned status 403: Operation category READ is not supported in state standby", agent.errors())
            gone = standby.port
        # A removed one is no reason to give up, either.
        with WebHdfs(self.path("hdfs")) as active:
            self.put("hdfs/done/k.jhist", made.json_history(made.mapreduce_events()).replace(b"0007", b"0008"))
            spans, agent = self.read_all(f"webhdfs://127.0.0.1:{gone},127.0.0.1:{active.port}/done/k.jhist")
            self.assertEqual(len(spans), 20, agent.errors())

    def test_a_name_node_that_starts_is_asked_again_soon(self):
        self.put("hdfs/done/j.jhist", made.json_history(made.mapreduce_events()))
        with WebHdfs(self.path("hdfs")) as server:
            server.starts_s = 4  # a pause of 20 times as much is longer than the test waits
            agent = self.run_agent(self.lua(f"webhdfs://127.0.0.1:{server.port}/done"))
            with server.changed:
                self.assertTrue(server.changed.wait_for(lambda: server.listed, PATIENCE))
            self.assertEqual(agent.stop(), 0)
            self.assertIn("the server returned status 403: Namenode is in startup mode", agent.errors())
            self.assertNotIn('parameter "user"', agent.errors())

    def test_a_log_in_parts_on_hdfs_is_followed_from_part_to_part(self):
        app = "application_1700000000000_0042"
        folder = f"hdfs/{rolled_name(app)}"
        lines = made.spark_log(made.spark_events()).splitlines(keepends=True)
        # A part that ends with a whole block: nothing is behind it.
        block = 4 << 20
        filler = b'{"Event":"SparkListenerOther","x":"%s"}\n'
        rest = block - sum(map(len, lines[:7])) - len(filler % b"")
        self.put(f"{folder}/events_1_{app}", b"".join(lines[:7]) + filler % (b"x" * rest))
        self.assertEqual(os.path.getsize(self.path(f"{folder}/events_1_{app}")), block)
        with WebHdfs(self.path("hdfs")) as server:
            agent = self.run_agent(self.lua(f"webhdfs://127.0.0.1:{server.port}/"))
            self.wait_spans(agent, 6)  # the job, its fact, a stage, three tasks
            self.put("hdfs/.next", b"".join(lines[7:]))
            os.rename(self.path("hdfs/.next"), self.path(f"{folder}/events_2_{app}"))
            self.wait_job_end(agent)
            agent.stop()
        self.assertEqual(without_placed(keyed(spans_of(agent.output))), made.count_spark(b"".join(lines)))
        self.assertNotIn("out of the range", agent.errors())

    def test_a_file_on_hdfs_that_is_open_is_read_to_its_real_end(self):
        app = "application_1700000000000_0042"
        lines = made.spark_log(made.spark_events(app)).splitlines(keepends=True)
        path = self.put(f"hdfs/{app}.inprogress", b"".join(lines[:7]) + lines[7][:40])
        with WebHdfs(self.path("hdfs")) as server:
            server.open.add(path)
            agent = self.run_agent(self.lua(f"webhdfs://127.0.0.1:{server.port}/"))
            self.wait_spans(agent, 6)  # the job, its fact, a stage, three tasks
            self.append(path, lines[7][40:] + lines[8])
            self.wait_spans(agent, 6 + 5)  # the fourth task, then the end of the first with its three phases
            self.append(path, b"".join(lines[9:]))
            self.wait_job_end(agent)
            os.rename(path, self.path(f"hdfs/{app}"))
            server.wait_listed(app)
            agent.stop()
        spans = spans_of(agent.output)
        self.assertEqual(without_placed(keyed(spans)), made.count_spark(b"".join(lines)))
        ended = [json.dumps(s) for s in spans if s["duration"] >= 0]
        self.assertEqual(len(set(ended)), len(ended), "nothing is reported twice")
        self.assertNotIn("warning", agent.errors())

    def test_an_open_file_on_hdfs_whose_block_is_full_is_not_idle_for_the_time_that_hdfs_lists(self):
        app = "application_1700000000000_0042"
        lines = made.spark_log(made.spark_events(app)).splitlines(keepends=True)
        path = self.put(f"hdfs/{app}.inprogress", b"".join(lines[:7]))
        with WebHdfs(self.path("hdfs")) as server:
            server.open.add(path)
            server.blocks[path] = sum(map(len, lines[:7]))
            agent = self.run_agent(self.lua(f"webhdfs://127.0.0.1:{server.port}/", more='max_age = "30d"'))
            self.wait_spans(agent, 6)  # running spans are reported: the job, its fact, a stage, three tasks
            # The next block is full.
            self.append(path, lines[7] + lines[8])
            server.blocks[path] += len(lines[7] + lines[8])
            self.wait_spans(agent, 6 + 5)
            agent.stop()
            self.assertEqual(server.offsets, [0, sum(map(len, lines[:7]))], "nothing is read twice")

    def test_the_statement_of_the_documentation_lists_tasks_and_phases(self):
        store, events = self.path("jobs.db"), list(made.mapreduce_events())
        sink = f'a.sink.sqlite {{ path = "{store}", retain = "0s" }}'
        agent = self.run_agent(self.lua(self.put("j.jhist", made.json_history(events)), "follow = false", sink))
        self.assertEqual(agent.join(), 0, agent.errors())
        page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/how-to/histories.md")
        with open(page, encoding="utf-8") as file:
            statement = re.search(r'atalaya sql --store jobs.db "(.*?)"\n```', file.read(), re.S).group(1)
        asked = subprocess.run([BINARY, "sql", "--store", store, statement], capture_output=True, text=True, check=True, timeout=60)
        rows = asked.stdout.splitlines()[1:]
        self.assertEqual(len(rows), sum(level in ("task", "phase") for level, _, _ in made.count_mapreduce(events)))
        self.assertRegex(asked.stdout, rf"n0 +map +{made.attempt('m', 0, 0)} +[0-9.]+ +5000000000\n")

    # ---- damaged histories -------------------------------------------------------------------------------------------------------

    def test_of_a_damaged_history_the_rest_is_kept_and_the_damage_named(self):
        lines = made.json_history(made.mapreduce_events()).splitlines(keepends=True)
        broken = [i for i, line in enumerate(lines) if b'"type": "MAP_ATTEMPT_FINISHED"' in line][0]
        lines[broken] = lines[broken][:200] + b"\n"
        path = self.put("j.jhist", b"".join(lines[:-1]))
        spans, agent = self.read_all(path)
        expected = made.count_mapreduce(made.mapreduce_events())
        gone = [key for key in expected if key[1] == made.attempt("m", 0, 0) or key[0] in ("job", "stage")]
        ended = {key: value for key, value in keyed(spans).items() if value[1] >= 0}
        self.assertEqual(ended, {key: value for key, value in expected.items() if key not in gone})
        self.assertIn(f"{path}: 1 piece could not be read; the first is line {broken + 1}: not JSON. The rest is kept",
                      agent.errors())

    def test_a_history_that_is_cut_is_reported_also_of_a_new_copy(self):
        path = self.put("j.jhist", made.json_history(made.mapreduce_events())[:-300])
        spans, agent = self.read_all(path)
        self.assertGreater(len(spans), 0)
        self.assertIn(f"{path}: its end is cut off; complete lines are kept", agent.errors())

    def test_the_ledger_of_a_damaged_history_balances(self):
        lines = made.spark_log(made.spark_events()).splitlines(keepends=True)
        lines[8] = b'{"Event":"SparkListenerTaskEnd"\n'
        self.put("logs/app", b"".join(lines))
        agent = self.run_agent(self.lua(self.path("logs")))
        agent.wait_line("app: 1 piece could not be read; the first is line 9: not JSON. The rest is kept")
        status = agent.wait_status(lambda status: agent.row("jobs", "sink", status)["out"] > 0)
        self.assert_balanced(status)
        self.assertEqual(agent.row("jobs", "source hadoop", status)["reasons"], {"damaged history": 1})
        self.assertEqual(agent.stop(), 0)

    def test_the_protocol_of_hdfs_is_not_taken_for_a_path(self):
        for path, words in {"hdfs://nn:8020/logs": "write webhdfs://nn:9870/logs", "hdfs://nn": "write webhdfs://nn:9870/",
                            "hdfs:///logs": "write webhdfs://NAMENODE:9870/logs"}.items():
            agent = self.run_agent(self.lua(path))
            self.assertNotEqual(agent.join(), 0)
            self.assertIn(f'parameter "path": "{path}" uses the native HDFS protocol, which is not supported; {words}', agent.errors())

    def test_a_file_with_the_name_of_a_history_is_reported_once(self):
        garbage = self.put("logs/a.jhist", bytes(range(256)) * 8)
        self.put("logs/notes", b"Dear diary, " * 100)
        agent = self.run_agent(self.lua(self.path("logs")))
        agent.wait_line(f"{garbage} is not a known form of job history")
        self.put("logs/b.jhist", made.json_history(made.mapreduce_events()))
        self.wait_spans(agent, 20)
        agent.stop()
        self.assertEqual(agent.errors().count("is not a known form of job history"), 1, agent.errors())

    def test_invalid_parameters_are_named(self):
        for more, words in {'racks = { n1 = "r1" }': 'parameter "racks.n1": "r1" is not a rack; write "/rack" or "/datacentre/rack"',
                            'facts = { "~(" }': 'parameter "facts"'}.items():
            agent = self.run_agent(self.lua("/tmp/x", more))
            self.assertNotEqual(agent.join(), 0)
            self.assertIn(words, agent.errors())

    # ---- histories of real jobs, where there are some -----------------------------------------------------------------------------

    def test_every_task_phase_and_counter_of_real_histories(self):
        folder = os.environ.get("ATALAYA_HISTORIES")
        if not folder:
            self.skipTest("ATALAYA_HISTORIES names no folder with histories")
        tested = 0
        for path in glob.glob(os.path.join(folder, "**", "*"), recursive=True):
            if not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                raw = file.read()
            if raw.startswith(b"Avro-Json"):
                expected, view = made.count_mapreduce(made.events_of_json(raw)), lambda found: found
            elif raw.startswith(b'{"Event":"SparkListener'):
                expected, view = made.count_spark(raw), without_placed
            else:
                continue
            with self.subTest(path):
                spans, agent = self.read_all(path)
                self.assertEqual(view(keyed(spans)), expected, agent.errors())
                tested += 1
        self.assertGreater(tested, 0)


class WebHdfs:
    """A name node and a data node on one port, for the files of a folder."""

    def __init__(self, folder):
        self.folder, self.redirected, self.users, self.refuse, self.standby = folder, False, set(), False, False
        self.starts_s = 0  # the first answer comes so late, and says that the name node starts
        self.open = set()  # paths whose length and time are not listed
        self.blocks, self.offsets = {}, []  # of such a path, the bytes in full blocks; the offsets of reads
        self.listed, self.changed = [], threading.Condition()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                url = urllib.parse.urlsplit(self.path)
                query = dict(urllib.parse.parse_qsl(url.query))
                outer.answer(self, urllib.parse.unquote(url.path), query)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def answer(self, handler, path, query):
        data_node = path.startswith("/data")
        path = self.folder + path.removeprefix("/data" if data_node else "/webhdfs/v1")
        if self.standby:
            return self.send(handler, 403, {"RemoteException": {
                "exception": "StandbyException", "message": "Operation category READ is not supported in state standby"}})
        if self.starts_s:
            time.sleep(self.starts_s)  # a slow server
            self.starts_s = 0
            return self.send(handler, 403, {"RemoteException": {"exception": "RetriableException", "message": "Namenode is in startup mode"}})
        if self.refuse:
            return self.send(handler, 403, {"RemoteException": {"message": "Permission denied: user=x"}})
        if not os.path.exists(path):
            return self.send(handler, 404, {"RemoteException": {"message": "File does not exist"}})
        self.users.add(query.get("user.name"))
        if query["op"] == "GETFILESTATUS":
            return self.send(handler, 200, {"FileStatus": self.status(path, "")})
        if query["op"] == "LISTSTATUS":
            names = os.listdir(path)
            self.send(handler, 200, {"FileStatuses": {"FileStatus": [self.status(os.path.join(path, n), n) for n in names]}})
            with self.changed:
                self.listed.append(names)
                self.changed.notify_all()
            return None
        if not data_node:
            self.redirected = True
            where = f"http://127.0.0.1:{self.port}/data{urllib.parse.quote(path.removeprefix(self.folder))}?" + urllib.parse.urlencode(query)
            return self.send(handler, 307, {}, {"Location": where})
        offset, size = int(query["offset"]), self.size(path)
        self.offsets.append(offset)
        if offset >= size > 0 or offset > os.path.getsize(path):  # as HDFS does
            return self.send(handler, 403, {"RemoteException": {
                "exception": "IOException", "message": f"Offset={offset} out of the range [0, {size}); OPEN, path={path}"}})
        with open(path, "rb") as file:
            file.seek(offset)
            return self.send(handler, 200, file.read(int(query["length"])))

    def wait_listed(self, name):
        """Until the reader has listed it twice: its work after the first time is done."""
        with self.changed:
            begin = len(self.listed)
            listed_twice = lambda: sum(name in names for names in self.listed[begin:]) >= 2
            if not self.changed.wait_for(listed_twice, 60):
                raise AssertionError(f"{name} was not listed")

    def size(self, path):
        return self.blocks.get(path, 0) if path in self.open else os.path.getsize(path)

    def status(self, path, name):
        folder, unlisted = os.path.isdir(path), path in self.open
        return {"pathSuffix": name, "type": "DIRECTORY" if folder else "FILE", "length": 0 if folder else self.size(path),
                "modificationTime": 1_700_000_000_000 if unlisted else os.stat(path).st_mtime_ns // MS, "permission": "755"}

    @staticmethod
    def send(handler, status, body, headers=None):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(raw)), **(headers or {})}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(raw)


if __name__ == "__main__":
    main()
