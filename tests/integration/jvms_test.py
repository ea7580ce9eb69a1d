# SPDX-License-Identifier: Apache-2.0
"""The command jvms, with a store that the agents of two hosts filled."""

import json

from harness import main
from questions import T0, WHEN, QueryCase, http

WORK, HASH, HOT = "app.Main work", "java.lang.String hashCode", "app.Main hot"
STACKS = {"java.lang.Thread.run_[j];app.Main.a_[j];app.Main.work_[j]": 20, "java.lang.Thread.run_[j];app.Main.b_[j];app.Main.work_[j]": 30}
TRACE = ["app.Main work (Main.java:7)", "app.Main b (Main.java:3)", "java.lang.Thread run (Thread.java:833)"]


class Jvms(QueryCase):
    """Windows of five seconds as the sources jvm and perf emit them."""

    def setUp(self):
        super().setUp()
        for host, pid, self_time in (("h1", "7", 0.5), ("h2", "9", 0.25)):
            for end in (T0 + 5, T0 + 10):
                self.window(host, pid, end, self_time)

    def window(self, host, pid, end, self_time):
        jvm = {"host": host, "pid": pid, "process": "shop"}
        samples = [("metrics", jvm, {"jvm.profile.rate": 20.0, "jvm.profile.cost": 1.5, "jvm.profile.cpu": 100.0, "jvm.heap.used": 1000}, ""),
                   ("metrics", dict(jvm, function=WORK), {"jvm.function.self": self_time}, "\n".join(TRACE)),
                   ("metrics", dict(jvm, function=HASH), {"jvm.function.self": 0.125}, "x"),
                   ("stack", dict(jvm, function=WORK, profile="exemplar", bias="safepoint"), {"profile.samples": 1, "profile.ns": 30},
                    ";".join(reversed(TRACE)))]
        for stack, ns in STACKS.items():
            samples.append(("stack", dict(jvm, profile="wall", bias="safepoint"), {"profile.samples": 1, "profile.ns": ns}, stack))
        for stack, count in {"start_thread;JavaMain;void app.Main.b()_[j];void app.Main.hot()_[j]": 30, "JavaMain;void app.Main.work()_[j]": 20,
                             "start_thread;thread_native_entry": 50}.items():
            samples.append(("stack", dict(jvm, profile="cpu"), {"profile.samples": count}, stack))
        samples.append(("stack", dict(jvm, profile="cpu", process="node", pid="1"), {"profile.samples": 100}, "main;f_[j]"))
        self.send([{"kind": kind, "time": end * 10**9, "duration": 5 * 10**9, "tags": tags, "fields": fields, **({"text": text} if text else {})}
                   for kind, tags, fields, text in samples])
        self.send([{"kind": "span", "time": (T0 - 100) * 10**9, "duration": -1, "text": "jvm", "fields": {},
                    "tags": dict(jvm, version="17.0.10", collector="G1", flags="-Xmx1g")}])

    def send(self, samples):
        http(self.hub + "/api/jsonlines", "".join(json.dumps(sample) + "\n" for sample in samples).encode())

    def ask(self, *words):
        return json.loads(self.atalaya("jvms", *WHEN, "--format", "json", *words))

    def test_jvms_of_all_hosts(self):
        answer = self.ask()
        self.assertEqual((answer["from"], answer["to"], answer["seconds"]), (T0 * 1000, (T0 + 60) * 1000, 10))
        self.assertEqual((answer["reporting"], answer["rate"]), (2, 40))
        self.assertEqual(answer["jvms"], [
            {"host": host, "pid": pid, "process": "shop", "rate": 20, "cost": 1.5, "version": "17.0.10", "collector": "G1", "flags": "-Xmx1g"}
            for host, pid in (("h1", "7"), ("h2", "9"))])
        self.assertEqual(answer["cpu"], {"samples": 200, "outside": 200})

    def test_the_page_has_the_same(self):
        base, command = self.serve(), self.ask()
        when = {"from": T0, "to": T0 + 60}
        share = lambda value: value if value is None else round(value, 12)  # the command rounds them
        page = self.get(base, "/api/page/jvms", **when)
        self.assertEqual((page["count"], page["rate_hz"], page["detail"]), (2, command["rate"], None))
        self.assertEqual([{key: value for key, value in jvm.items() if value is not None} for jvm in page["jvms"]],
                         [{key: value for key, value in jvm.items() if key != "flags"} for jvm in command["jvms"]])
        self.assertEqual([(one["name"], one["self"], share(one["self_share"]), one["samples"], share(one["samples_share"])) for one in page["functions"]],
                         [(one["function"], one.get("dumps", {}).get("self"), one.get("dumps", {}).get("share"),
                           one.get("cpu", {}).get("samples"), one.get("cpu", {}).get("share")) for one in command["functions"]])
        for name in (WORK, WORK.replace(" ", ".")):
            detail = self.get(base, "/api/page/jvms", function=name, **when)["detail"]
            self.assertEqual((detail["name"], detail["trace"]), (WORK, TRACE))
            self.assertEqual({(jvm["host"], jvm["self"]) for jvm in detail["jvms"]}, {("h1", 0.5), ("h2", 0.25)})
        self.assertIsNone(self.get(base, "/api/page/jvms", function="app.Main.other", **when)["detail"])

    def test_functions_by_thread_dumps_next_to_those_by_samples(self):
        self.assertEqual(self.ask()["functions"], [
            {"function": HOT, "cpu": {"samples": 120, "share": 0.6}},
            {"function": WORK, "dumps": {"bias": "safepoint", "self": 0.75, "share": 0.375}, "cpu": {"samples": 80, "share": 0.4}},
            {"function": HASH, "dumps": {"bias": "safepoint", "self": 0.25, "share": 0.125}}])
        self.assertEqual(self.ask()["unattributed"], {"dumps": {"bias": "safepoint", "self": 1, "share": 0.5}})
        self.assertEqual([function["function"] for function in self.ask("--top", "1")["functions"]], [HOT, WORK])
        self.assertEqual(self.ask("--host", "h2")["functions"][1]["dumps"]["self"], 0.25)
        self.assertEqual(self.ask("--process", "sh*", "--tag", "pid=7")["functions"][1]["dumps"]["self"], 0.5)

    def test_the_table_marks_biased_figures(self):
        table = self.atalaya("jvms", *WHEN)
        self.assertIn(": 2 JVMs on 2 hosts, 40.0 thread dumps/s in all, over 10s\n", table)
        self.assertRegex(table, r"function +cpu samples +share % +self s/s +share %\n")
        self.assertRegex(table, WORK + r" +80 +40.0 +0.7500 +37.5\n")
        self.assertIn("by thread dumps, bias=safepoint: inlined\n", table)
        self.assertRegex(table, r"h1 +7 +shop +20.00 +1.50 +17.0.10 +G1\n")
        self.assertNotIn("-Xmx1g", table)

    def test_one_function(self):
        for name in WORK, "app.Main.work":
            answer = self.ask("--function", name)
            self.assertEqual(answer["function"], WORK)
            self.assertEqual(answer["exemplar"]["trace"], TRACE)
            self.assertEqual(answer["exemplar"]["bias"], "safepoint")
        self.assertEqual([caller.get("function") for caller in answer["callers"]], ["app.Main b", "app.Main a", None])
        self.assertEqual(answer["callers"][0]["dumps"], {"bias": "safepoint", "share": 0.6})
        self.assertEqual(answer["callers"][2]["cpu"], {"share": 1})
        self.assertEqual([(jvm["host"], jvm["self"]) for jvm in answer["jvms"]], [("h1", 0.5), ("h2", 0.25)])
        table = self.atalaya("jvms", *WHEN, "--function", WORK)
        self.assertIn("\n" + "".join(f"  {line}\n" for line in TRACE), table)
        self.assertRegex(table, r"called by +share % +cpu share %\napp.Main b +60.0\n")

    def test_a_function_that_only_samples_know(self):
        answer = self.ask("--function", HOT)
        self.assertNotIn("exemplar", answer)
        self.assertEqual(answer["callers"], [{"function": "app.Main b", "cpu": {"share": 1}}])

    def test_missing_data(self):
        self.atalaya("jvms", *WHEN, "--function", "app.Main wrok", status=1)
        self.assertIn('no samples of function "app.Main wrok"', self.errors)
        self.assertIn('did you mean "app.Main work"?', self.errors)
        self.assertEqual(self.atalaya("jvms", "--from", "2001-01-01", "--to", "2001-01-02", status=1), "")
        self.assertIn("run source jvm to find them", self.errors)
        self.atalaya("jvms", *WHEN, "--host", "h3", status=1)
        self.assertIn("with these tags", self.errors)
        self.atalaya("jvms", *WHEN, "--top", "0", status=2)

    def test_an_experiment(self):
        for verb, second in (("start", 5), ("end", 10)):
            self.atalaya("experiment", verb, "tera", "--at", str(T0 + second))
        answer = json.loads(self.atalaya("jvms", "--experiment", "tera", "--format", "json"))
        self.assertEqual((answer["seconds"], answer["functions"][1]["dumps"]["self"]), (5, 0.75))


if __name__ == "__main__":
    main()
