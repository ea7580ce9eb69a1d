# SPDX-License-Identifier: Apache-2.0
"""Jobs on a small cluster of four nodes: what is wrong with one of them is found, by node, sub-phase and reason, and nothing is found
where nothing is wrong. tests/cluster has the cluster, tests/bench/cluster_bench.py runs it often."""

import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cluster"))
from cluster import FAULTS, Cluster, build_engine  # noqa: E402
from harness import main  # noqa: E402
from node_limits import why_not  # noqa: E402
from verdict import missing  # noqa: E402

SPLITS = 24


@unittest.skipUnless(os.geteuid() == 0, "nodes are network namespaces and control groups: root")
class ClusterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="atalaya-cluster-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        reason = why_not(cls.folder)
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

    def test_nothing_is_found_where_nothing_is_wrong(self):
        self.check("healthy")

    def test_a_slow_disk(self):
        self.check("disk")

    def test_reads_from_other_nodes(self):
        report = self.check("remote")
        shares = {node["node"]: node["remoteShare"] for node in report["nodes"]}
        # All that n2's maps read; what reduces fetch does not count.
        self.assertGreater(shares["n2"], max(shares[name] for name in ("n0", "n1", "n3")))

    def test_another_program_on_the_node(self):
        self.check("cpu")


if __name__ == "__main__":
    main()
