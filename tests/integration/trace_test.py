# SPDX-License-Identifier: Apache-2.0
"""The command trace: each span and value of the store once, in a file that its readers accept."""

import json
import subprocess

from harness import PATIENCE, main
from questions import T0, QueryCase


STACKS = {"main;wait": 1, "main;sort": 6, "main;sort;compare": 12, "idle": 1}


class Trace(QueryCase):
    def setUp(self):
        super().setUp()
        lines = [{"span": f"task {i}", "start": (T0 + i) * 1000, "end": (T0 + i + 3) * 1000, "fields": {"bytes": i},
                  "tags": {"job": "j1", "task": str(i), "host": f"h{i % 2}"}} for i in range(10)]
        lines.append({"span": "sort", "start": (T0 + 2) * 1000, "tags": {"experiment": "sort", "host": "h0"}, "fields": {}})
        for i in range(5):
            lines.append({"kind": "metrics", "time": (T0 + 10 * (i + 1)) * 10**9, "duration": 10**10,
                          "tags": {"host": "h0", "process": "java", "pid": "7"}, "fields": {"proc.cpu.user": 10.0 * i}})
        lines += [{"kind": "stack", "time": (T0 + 10 * i) * 10**9, "duration": 10**10, "text": text,
                   "tags": {"host": "h0", "process": "java", "pid": "7", "profile": "cpu"}, "fields": {"profile.samples": count}}
                  for i in (1, 2) for text, count in STACKS.items()]
        self.post(lines)

    def post(self, lines):
        subprocess.run(["curl", "-sf", "--data-binary", "@-", self.hub + "/api/jsonlines"], check=True, timeout=PATIENCE,
                       input="\n".join(json.dumps(line) for line in lines).encode())

    def trace(self, *words):
        self.atalaya("trace", "--from", str(T0), "--to", str(T0 + 60), "-o", self.path("trace.json"), *words)
        with open(self.path("trace.json")) as file:
            events = json.load(file)["traceEvents"]
        names = {(event["pid"], event["name"], event["tid"]): event["args"]["name"] for event in events if event["ph"] == "M"}
        return events, names

    def test_spans_and_values(self):
        events, names = self.trace("--stacks", "0")
        spans = {event["name"]: event for event in events if event["ph"] == "X"}
        self.assertEqual(len(spans), sum(event["ph"] == "X" for event in events))
        self.assertEqual(set(spans), {f"task {i}" for i in range(10)} | {"sort"})
        for i in range(10):
            span = spans[f"task {i}"]
            self.assertEqual((span["ts"], span["dur"]), ((T0 + i) * 10**6, 3 * 10**6))
            self.assertEqual(span["args"], {"job": "j1", "task": str(i), "host": f"h{i % 2}", "bytes": i})
            self.assertEqual(names[span["pid"], "process_name", 0], f"h{i % 2}: job j1")
            self.assertRegex(names[span["pid"], "thread_name", span["tid"]], r"^task( \d)?$")
        self.assertTrue(spans["sort"]["args"]["open"])
        self.assertEqual(spans["sort"]["ts"] + spans["sort"]["dur"], (T0 + 60) * 10**6)
        counters = [(event["ts"], event["args"]["value"]) for event in events if event["ph"] == "C"]
        self.assertEqual(counters, [((T0 + 10 * i) * 10**6, 10 * i) for i in range(5)])

    def test_stacks_are_shares_of_their_windows(self):
        events, names = self.trace("--top", "0", "--tag", "process=java")
        self.assertEqual({names[event["pid"], "thread_name", event["tid"]] for event in events if event["ph"] == "X"}, {"stacks cpu"})
        begins = {}
        for event in events:
            if event["ph"] == "X":
                begins.setdefault(event["name"], []).append((event["ts"], event["dur"], event.get("args")))
        window = 10 * 10**6
        total = sum(STACKS.values())
        self.assertEqual(begins["cpu"], [((T0 + 10 * i) * 10**6, window, {"profile.samples": total}) for i in (0, 1)])
        for name, samples in (("main", 19), ("sort", 18), ("compare", 12), ("wait", 1), ("idle", 1)):
            self.assertEqual([length for _, length, _ in begins[name]], [window * samples / total] * 2)
        self.assertEqual(set(begins), {"cpu", "main", "sort", "compare", "wait", "idle"})
        self.trace("--top", "0", "--tag", "process=java", "--profile", "cpu", "--stacks", "1")
        self.atalaya("trace", "--from", str(T0), "--to", str(T0 + 60), "--tag", "process=java", "--top", "0", "--profile", "offcpu", status=1)

    def test_the_newest_recording_is_one_that_a_recorder_may_have_written(self):
        lines = [{"span": "recording", "start": (T0 + 10) * 1000, "end": (T0 + 30) * 1000, "fields": {},
                  "tags": {"recording": "main"}},
                 {"span": "recording", "start": (T0 + 1) * 1000, "end": (2**63 - 1) // 10**6, "fields": {},
                  "tags": {"recording": "of years"}}]
        self.post(lines)
        events, _ = self.trace("--recording", "--stacks", "0", "--metric", "proc.cpu.user")
        counters = [(event["ts"], event["args"]["value"]) for event in events if event["ph"] == "C"]
        self.assertEqual(counters, [((T0 + 10 * i) * 10**6, 10 * i) for i in (1, 2)])

    def test_selection(self):
        events, _ = self.trace("--tag", "host=h1", "--top", "0")
        self.assertEqual({event["args"]["host"] for event in events if event["ph"] == "X"}, {"h1"})
        self.assertEqual([event for event in events if event["ph"] == "C"], [])
        self.atalaya("trace", "--from", "2001-01-01", "--to", "2001-01-02", status=1)
        self.assertIn("no spans, values or stacks", self.errors)
        self.atalaya("trace", "--metric", "proc.cpu.usr", status=2)


if __name__ == "__main__":
    main()
