# SPDX-License-Identifier: Apache-2.0
"""bottleneck over recorded histories of Spark 4.3 and Hadoop 3.5, each with a known planted cause or none: the cause comes first, no
other sentence is printed, and healthy jobs have no finding.

tests/fixtures/histories/causes.json has the causes. As a program with a folder as argument, it prints the table of that folder:
    tests/integration/causes_test.py FOLDER"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from harness import BINARY, PATIENCE, main

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fixtures/histories")


def bottleneck(path):
    """The result for the history in a store of its own, as JSON and as text."""
    with tempfile.TemporaryDirectory(prefix="atalaya-causes-") as folder:
        store = folder + "/jobs.db"
        with open(folder + "/import.lua", "w") as file:
            file.write('local a = require "atalaya"\n'
                       f'a.pipeline "import" {{ a.source.hadoop {{ path = "{path}", follow = false }}, '
                       f'a.sink.sqlite {{ path = "{store}", retain = "0s" }} }}\n')
        subprocess.run([BINARY, "run", folder + "/import.lua", "--socket", folder + "/socket"], check=True, capture_output=True,
                       timeout=PATIENCE, env=dict(os.environ, STATE_DIRECTORY=folder))
        words = [BINARY, "bottleneck", "--store", store, "--job", "all", "--from", "-30y"]
        ask = lambda *more: subprocess.run([*words, *more], check=True, capture_output=True, text=True, timeout=PATIENCE).stdout
        return json.loads(ask("--format", "json")), ask()


def verdict(cause, answer):
    """What is wrong with the result; "" if it names the cause first and nothing else."""
    errors = [one["error"] for one in answer["errors"] if one["outcome"] == "failed"]
    findings = [one["summary"] for one in answer["findings"]]
    if "error" in cause and not any(re.search(cause["error"], one) for one in errors):
        return "the reason of the failure is missing"
    if "error" not in cause and errors:
        return "a failure that was not planted"
    if "finding" not in cause:
        return "a finding, but no cause was planted" if findings else ""
    if not findings:
        return "no finding"
    return "" if re.search(cause["finding"], findings[0]) else "another finding is first"


def first_of(answer):
    if answer["findings"]:
        return answer["findings"][0]["summary"]
    return next((one["error"].split("\n")[0] for one in answer["errors"]), "no bottleneck found")


class Causes(unittest.TestCase):
    def test_recorded_histories(self):
        with open(FOLDER + "/causes.json") as file:
            causes = json.load(file)
        for cause in causes:
            with self.subTest(cause["log"]):
                answer, text = bottleneck(os.path.join(FOLDER, cause["log"]))
                self.assertEqual(verdict(cause, answer), "", first_of(answer))
                self.assertLessEqual(len(answer["findings"]), 1, "an effect is listed next to its cause")
                self.check_seconds(answer)
                if not answer["findings"]:
                    self.assertIn("compared with limits: ", text)

    def check_seconds(self, answer):
        """A rule's finding is at least the smallest cause that the command promises to list, and at most the job."""
        length = answer["jobs"][0]["seconds"]
        for finding in answer["findings"]:
            if finding["kind"] == "rule":
                self.assertGreaterEqual(finding["seconds"], answer["compared"][0]["least"])
                self.assertRegex(finding["summary"], r"; without this, the job would take up to \S+ s \(\S+ %\) less time$")
            self.assertLess(finding["seconds"], length)

    def test_a_cause_names_the_setting_with_its_present_value(self):
        answer, text = bottleneck(FOLDER + "/spark-gc-pressure.zst")
        advice = {"setting": "spark.executor.memory", "now": "512m", "proposed": "1g"}
        self.assertEqual(answer["findings"][0]["advice"], [advice])
        self.assertIn("    advice: set spark.executor.memory to 1g (now 512m)\n", text)


def table(folder):
    with open(folder + "/causes.json") as file:
        causes = json.load(file)
    wrong = 0
    for cause in causes:
        answer, _ = bottleneck(os.path.join(os.path.abspath(folder), cause["log"]))
        result = verdict(cause, answer)
        wrong += result != ""
        print("| {} | {} | {} | {} |".format(cause["log"], cause["planted"], first_of(answer), result or "right"), flush=True)
    print(f"{len(causes) - wrong} of {len(causes)} right")


if __name__ == "__main__":
    if len(sys.argv) == 2 and os.path.isdir(sys.argv[1]):
        table(sys.argv[1])
    else:
        main()
