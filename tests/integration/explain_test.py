# SPDX-License-Identifier: Apache-2.0
"""`explain` on a real host: processes of this test start to use CPU, memory, disk or short processes, and are named first."""

import json
import os
import shutil
import subprocess
import sys
import time

from harness import BINARY, PATIENCE, AgentCase, main

# Each is a process of its own name. It waits for a line, and then does one thing until it is killed.
CAUSES = {
    "cpu": "while True: pass",
    "memory": "size = os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') // 4000\n"
              "kept = []\nwhile True: kept.append(b'x' * size) if len(kept) < 100 else None; time.sleep(0.02)",
    "disk.write": "file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)\n"
                  "while True: os.pwrite(file, bytes(4 << 20), 0); os.fsync(file); time.sleep(0.02)",
    "forks": "while True: subprocess.run([sys.argv[2]])",
}
WINDOWS = 12  # of the baseline and of the range


class Explain(AgentCase):
    def setUp(self):
        super().setUp()
        self.store = self.path("atalaya.db")
        self.names = {cause: "xp-" + cause.replace(".", "") for cause in CAUSES}
        self.workers = {cause: self.worker(cause) for cause in CAUSES}

    def worker(self, cause):
        """A process with a name of its own."""
        link = self.path(self.names[cause])
        os.symlink(sys.executable, link)
        short = self.path("xp-short")
        if not os.path.exists(short):
            shutil.copy("/bin/true", short)
        body = f"import os, subprocess, sys, time\nopen('/proc/self/comm', 'w').write({self.names[cause]!r})\nprint(flush=True)\nsys.stdin.readline()\n{CAUSES[cause]}"
        process = subprocess.Popen([link, "-c", body, self.path("written"), short], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdout.readline()  # it has started: what follows is the baseline
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        process.kill()
        process.wait(PATIENCE)
        process.stdin.close()
        process.stdout.close()

    def atalaya(self, *words):
        done = subprocess.run([BINARY, *words, "--store", self.store], capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout.decode()

    def times(self):
        """The ends of the windows in the store."""
        done = subprocess.run([BINARY, "query", "--metric", "sys.mem.total", "--format", "json", "--from", "-10m", "--store", self.store],
                              capture_output=True, timeout=PATIENCE)
        if done.returncode != 0:
            return []  # the agent has not stored any yet
        return [time for answer in json.loads(done.stdout) for time, _ in answer["dps"]]

    def wait_windows(self, count):
        until = time.monotonic() + 3 * PATIENCE
        while len(times := self.times()) < count:
            assert time.monotonic() < until, times
            time.sleep(0.2)  # nothing notifies of a commit in another process
        return times

    def causes(self, explanation):
        return [(finding["resource"], part["tags"].get("process")) for finding in explanation["findings"] if finding["cause"]
                for part in finding["parts"]]

    def explain(self, start, middle, end, *words):
        return self.atalaya("explain", "--from", str(middle), "--to", str(end), "--against", f"{start}..{middle}",
                            "--tag", "process=xp-*", *words)

    def test_each_cause_is_named_first(self):
        self.run_agent('local a = require "atalaya"\n'
                       'a.pipeline "p" { every = "1s", a.source.proc {}, a.sink.sqlite { path = "%s" } }\n' % self.store)
        before = self.wait_windows(WINDOWS + 2)
        for cause, worker in self.workers.items():
            start, middle = before[-WINDOWS - 1], before[-1]
            if cause == "forks" and "proc.exits" not in self.atalaya("metrics"):
                self.skipTest("this user does not see short processes")
            worker.stdin.write(b"\n")
            worker.stdin.flush()
            after = self.wait_windows(len(before) + WINDOWS + 1)
            self.end(worker)
            end = after[len(before) + WINDOWS - 1]
            with self.subTest(cause=cause):
                explanation = json.loads(self.explain(start, middle, end, "--format", "json"))
                process = "xp-short" if cause == "forks" else self.names[cause]
                self.assertEqual(self.causes(explanation)[:1], [(cause, process)], json.dumps(explanation, indent=1))
                self.check_sums(explanation)
                self.check_query(explanation, middle, end)
            before = self.wait_windows(len(after) + WINDOWS + 2)  # the next baseline is without the process that ended

    def test_a_changed_setting_of_the_kernel_stands_beside_the_cause(self):
        apart = ["unshare", "--net"]  # its settings are those of the agent alone
        if subprocess.run([*apart, "true"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("this user may not make a network namespace")
        setting = "net.core.somaxconn"
        agent = self.run_agent('local a = require "atalaya"\n'
                               'a.pipeline "p" { every = "1s", a.source.proc {}, a.source.inventory {}, '
                               'a.sink.sqlite { path = "%s" } }\n' % self.store, wrapper=apart)
        before = self.wait_windows(WINDOWS + 2)
        subprocess.run(["nsenter", f"--net=/proc/{agent.process.pid}/ns/net", "tee", "/proc/sys/" + setting.replace(".", "/")],
                       input=b"4242", stdout=subprocess.DEVNULL, check=True)
        worker = self.workers["cpu"]
        worker.stdin.write(b"\n")
        worker.stdin.flush()
        after = self.wait_windows(len(before) + WINDOWS + 1)
        explanation = json.loads(self.explain(before[-WINDOWS - 1], before[-1], after[len(before) + WINDOWS - 1], "--format", "json"))
        self.assertEqual(self.causes(explanation)[:1], [("cpu", self.names["cpu"])])
        changed = [(fact["fact"], fact["after"]) for fact in explanation["facts"]]
        self.assertEqual(changed, [("kernel." + setting, "4242")])

    def check_sums(self, explanation):
        for finding in explanation["findings"]:
            parts = sum(part["difference"] for part in finding["parts"]) + finding["other"]["difference"]
            self.assertAlmostEqual(parts, finding["difference"], delta=0.01 * abs(finding["difference"]) + 1e-9)

    def check_query(self, explanation, middle, end):
        """The values are those of `query` over the same range."""
        if explanation["range"]["steps"] * explanation["range"]["stepSeconds"] * 1000 != end - middle:
            return  # a step is left out
        for finding in explanation["findings"]:
            if finding["resource"] != "memory":
                continue
            answers = json.loads(self.atalaya("query", "--metric", "proc.mem.resident", "--group-by", "process", "--every", "0all",
                                              "--tag", "process=xp-*", "--from", str(middle), "--to", str(end), "--format", "json"))
            values = {answer["tags"]["process"]: answer["dps"][0][1] for answer in answers}
            for part in finding["parts"]:
                self.assertAlmostEqual(part["after"], values[part["tags"]["process"]], delta=0.001 * part["after"] + 1e-6)


if __name__ == "__main__":
    main()
