# SPDX-License-Identifier: Apache-2.0
"""The container image: built from packaging/Containerfile by buildah, on a Debian tree of debootstrap instead of a pulled image, and run
with folders of this host and without capabilities.

ATALAYA_PACKAGES: a folder with the .debs; else they are made from ATALAYA_BUILD."""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "service"))
import machine  # noqa: E402

BUILD = os.environ.get("ATALAYA_BUILD", "build/release")
CONTAINERFILE = os.path.abspath("packaging/Containerfile")
BASE = "docker.io/library/debian:bookworm-slim"
# Host and processes as in packaging/kubernetes/agent.lua, into a file.
LUA = """local a = require "atalaya"
a.pipeline "host" { every = "1s", a.source.proc { processes = false, root = "/host" }, a.sink.file { path = "/out/host" } }
a.pipeline "processes" { every = "1s", a.source.proc { host = false, cgroups = false }, a.translate.names { root = "/host" },
  a.sink.file { path = "/out/processes" } }
"""


def obstacle():
    if "ATALAYA_FULL" not in os.environ:
        return "makes packages and an image, which takes minutes: ./dev test --full"
    if os.geteuid() != 0:
        return "needs root"
    for program in ("buildah", "debootstrap"):
        if shutil.which(program) is None:
            return f"needs {program}: apt-get install {program}"
    return None


def points(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@unittest.skipIf(obstacle(), obstacle())
class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="atalaya-test-", dir="/var/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        try:
            cls.buildah("from", "--name", "base", "scratch")
        except subprocess.CalledProcessError as error:
            raise unittest.SkipTest("buildah does not run here: " + error.stderr) from error
        cls.addClassCleanup(cls.buildah, "rm", "--all")
        cls.buildah("add", "base", cls.tree(), "/")
        cls.buildah("commit", "--rm", "base", BASE)
        cls.buildah("build", "--pull-never", "--layers=false", "-f", CONTAINERFILE, "-t", "atalaya", cls.packages())
        cls.buildah("from", "--pull-never", "--name", "made", "localhost/atalaya")

    @classmethod
    def buildah(cls, *words):
        places = ["--root", os.path.join(cls.folder, "storage"), "--runroot", os.path.join(cls.folder, "run"), "--storage-driver", "vfs"]
        return subprocess.run(["buildah", *places, *words], check=True, capture_output=True, text=True, timeout=900,
                              env=dict(os.environ, BUILDAH_ISOLATION="chroot")).stdout

    @staticmethod
    def tree():
        """A minimal Debian, made once."""
        tree = os.path.join(machine.CACHE, "minbase")
        if not os.path.exists(tree):
            os.makedirs(machine.CACHE, exist_ok=True)
            fresh = tempfile.mkdtemp(prefix="making-", dir=machine.CACHE)
            os.chmod(fresh, 0o755)
            done = machine.run("debootstrap", "--variant=minbase", machine.RELEASE, fresh, machine.MIRROR)
            if done.returncode != 0:
                shutil.rmtree(fresh)
                raise unittest.SkipTest("debootstrap: " + done.stderr[-2000:])
            os.rename(fresh, tree)
        return tree

    @classmethod
    def packages(cls):
        folder = os.environ.get("ATALAYA_PACKAGES")
        if not folder:
            folder = os.path.join(cls.folder, "packages")
            subprocess.run(["cpack", "-G", "DEB", "-B", folder], cwd=BUILD, check=True, capture_output=True, timeout=900)
        context = os.path.join(cls.folder, "context")
        os.mkdir(context)
        for path in glob.glob(os.path.join(folder, "*.deb")):
            shutil.copy(path, context)
        return context

    def run_in(self, *command, options=()):
        return self.buildah("run", *options, "made", "--", *command)

    def test_settings(self):
        config = json.loads(self.buildah("inspect", "--type", "image", "localhost/atalaya"))["OCIv1"]["config"]
        self.assertEqual(config["Entrypoint"], ["/usr/bin/atalaya"])
        self.assertEqual(config["Cmd"], ["run", "--drop", "/etc/atalaya/atalaya.lua"])
        self.assertEqual(list(config["Volumes"]), ["/var/lib/atalaya"])

    def test_content(self):
        self.assertIn('pipeline "processes"', self.run_in("/usr/bin/atalaya", "check", "/etc/atalaya/atalaya.lua"))
        self.assertIn("usage: atalaya report", self.run_in("/usr/bin/atalaya", "report", "--help"))
        self.assertEqual(self.run_in("find", "/tmp", "/var/lib/apt/lists", "-type", "f"), "")
        self.assertEqual(self.run_in("stat", "-c", "%U %a", "/var/lib/atalaya").split(), ["atalaya", "750"])

    def test_measures_its_host(self):
        out = os.path.join(self.folder, "out")
        os.mkdir(out)
        lua = os.path.join(self.folder, "agent.lua")
        with open(lua, "w", encoding="utf-8") as file:
            file.write(LUA)
        mounts = [f"{lua}:/etc/atalaya/atalaya.lua:ro", "/proc:/host/proc:ro", "/sys:/host/sys:ro", f"{out}:/out"]
        self.run_in("/usr/bin/atalaya", "run", "--drop", "/etc/atalaya/atalaya.lua", "--for", "5s",
                    options=["--cap-drop=all", *(f"--volume={mount}" for mount in mounts)])
        host = {point["metric"]: point["value"] for point in points(os.path.join(out, "host"))}
        with open("/proc/meminfo", encoding="ascii") as file:
            self.assertAlmostEqual(host["sys.mem.total"], int(file.readline().split()[1]) / 1024, delta=1)
        self.assertIn("sys.cpu.usage", host)
        self.assertIn(str(os.getpid()), {point["tags"].get("pid") for point in points(os.path.join(out, "processes"))})


if __name__ == "__main__":
    unittest.main()
