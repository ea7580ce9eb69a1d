# SPDX-License-Identifier: Apache-2.0
"""Jobs on a small cluster of four nodes: the fault of one of them is found, by node, sub-phase and reason, and nothing is found
in a healthy cluster. tests/cluster has the cluster, tests/bench/cluster_bench.py runs it often."""

import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cluster"))
from cluster import FAULTS, Cluster, build_engine  # noqa: E402
from harness import main  # noqa: E402
from node_limits import reason_without_limits  # noqa: E402
from verdict import missing  # noqa: E402

SPLITS = 24


class VerdictTest(unittest.TestCase):
    """The rules that judge the runs below."""

    @staticmethod
    def finding(**other):
        return {"kind": "node", "node": "n1", "stage": "map", "phase": "spill", "reason": "disk", "summary": "it is slow", **other}

    def missing(self, fault, *findings):
        return missing({"findings": list(findings)}, FAULTS[fault], fault)

    def test_true_findings_pass(self):
        self.assertEqual(self.missing("healthy"), [])
        self.assertEqual(self.missing("disk", self.finding()), [])

    def test_false_findings_fail(self):
        for kind in ("node", "tasks", "region"):
            self.assertEqual(self.missing("healthy", self.finding(kind=kind)), ["false: it is slow"])
            self.assertEqual(self.missing("disk", self.finding(), self.finding(kind=kind, node="n2")), ["beside it: it is slow"])
        self.assertEqual(self.missing("disk"), ["no finding on n1"])
        for key, value in {"kind": "tasks", "node": "n2", "stage": "reduce", "phase": "read", "reason": "network"}.items():
            wrong = self.missing("disk", self.finding(**{key: value}))
            self.assertEqual(len(wrong), 1)
            self.assertTrue(wrong[0].startswith(f"{key} {value}, not "), wrong)
        without = self.finding()
        del without["phase"]
        self.assertEqual(self.missing("disk", without), ["phase None, not spill: it is slow"])
        # The right one has to come first.
        self.assertEqual(len(self.missing("disk", self.finding(stage="reduce", phase="write"), self.finding())), 3)


@unittest.skipUnless(os.geteuid() == 0, "nodes are network namespaces and control groups: root")
class ClusterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="atalaya-cluster-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        reason = reason_without_limits(cls.folder)
        if reason:
            raise unittest.SkipTest(reason)
        cls.classes = build_engine(os.path.join(cls.folder, "classes"))

    def look(self, fault):
        folder = os.path.join(self.folder, fault)
        os.mkdir(folder)
        cluster = Cluster(folder, self.classes, fault)
        self.addCleanup(cluster.close)
        tasks = cluster.run_job("big", SPLITS)
        report = cluster.report("big", tasks)
        self.assertEqual(len(report["tasks"]), tasks)
        return report, missing(report, FAULTS[fault], fault)

    def check(self, fault):
        report, wrong = self.look(fault)
        self.assertEqual(wrong, [], report["findings"])
        return report

    def test_a_healthy_cluster_has_no_findings(self):
        self.check("healthy")

    def test_a_slow_disk(self):
        self.check("disk")

    def test_reads_from_other_nodes(self):
        report = self.check("remote")
        shares = {node["node"]: node["remoteShare"] for node in report["nodes"]}
        # All input of n2's maps; bytes that reduces fetch do not count.
        self.assertGreater(shares["n2"], max(shares[name] for name in ("n0", "n1", "n3")))

    def test_another_program_on_the_node(self):
        self.check("cpu")


if __name__ == "__main__":
    main()
