# SPDX-License-Identifier: Apache-2.0
"""The RPM packages: the same files as the .deb packages, the libraries of every file as Requires, and installation, upgrade and removal
with rpm in a folder of its own. Scriptlets run with programs that only record their calls, because the folder has no system.

ATALAYA_RPMS and ATALAYA_PACKAGES: folders with the packages; else they are made from ATALAYA_BUILD."""

import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ.get("ATALAYA_BUILD", "build/release")
PACKAGES = {"atalaya", "atalaya-analysis", "atalaya-kafka", "atalaya-riemann", "atalaya-dev"}
CONFIG = "/etc/atalaya/atalaya.lua"
SCRIPTS = "packaging/rpm"


def output(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300, **options).stdout


def obstacle():
    for program, package in (("rpmbuild", "rpm"), ("dpkg-deb", "dpkg"), ("readelf", "binutils")):
        if shutil.which(program) is None:
            return f"needs {program}: apt-get install {package}"
    if "ATALAYA_RPMS" not in os.environ and "ATALAYA_FULL" not in os.environ:
        return "makes packages, which takes minutes: ./dev test --full"
    return None


def made(generator, suffix, variable, scratch):
    """Paths of the packages by name."""
    folder = os.environ.get(variable)
    if not folder:
        folder = os.path.join(scratch, generator)
        subprocess.run(["cpack", "-G", generator, "-B", folder], cwd=BUILD, check=True, capture_output=True, timeout=900)
    return {re.match(r"[a-z-]+(?=[-_]\d)", os.path.basename(path))[0]: os.path.abspath(path)
            for path in glob.glob(os.path.join(folder, f"atalaya*.{suffix}"))}


@unittest.skipIf(obstacle(), obstacle())
class Rpm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="atalaya-test-", dir="/var/tmp")
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = scratch.name
        cls.rpms = made("RPM", "rpm", "ATALAYA_RPMS", cls.scratch)
        cls.debs = made("DEB", "deb", "ATALAYA_PACKAGES", cls.scratch)

    def query(self, package, form):
        return output("rpm", "-qp", "--qf", form, self.rpms[package]).splitlines()

    def test_packages(self):
        self.assertEqual(set(self.rpms), PACKAGES)
        for package in PACKAGES:
            provides = {line.split(" ")[0] for line in output("rpm", "-qp", "--provides", self.rpms[package]).splitlines()}
            self.assertLessEqual(provides, {package, f"{package}(x86-64)", f"{package}(aarch-64)", f"config({package})"})
        self.assertIn("systemd", output("rpm", "-qp", "--requires", self.rpms["atalaya"]).splitlines())
        for package in PACKAGES - {"atalaya", "atalaya-dev"}:
            self.assertRegex(output("rpm", "-qp", "--requires", self.rpms[package]), r"(?m)^atalaya >= \d")

    def test_files_are_those_of_the_debs(self):
        for package in PACKAGES:
            with self.subTest(package):
                mine = {line for line in self.query(package, "[%{FILENAMES} %{FILEMODES:perms} %{FILEUSERNAME} %{FILEGROUPNAME}\n]")}
                files = {line.split(" ")[0]: line.split(" ")[1:] for line in mine}
                listed = [line.split() for line in output("dpkg-deb", "-c", self.debs[package]).splitlines()]
                theirs = {line[5].lstrip(".") for line in listed if not line[0].startswith("d")}
                self.assertEqual({path for path, (mode, _, _) in files.items() if not mode.startswith("d")}, theirs)
                for path, (mode, user, group) in files.items():
                    self.assertEqual((user, group, mode[5], mode[8]), ("root", "root", "-", "-"), path)

    def test_no_file_is_in_two_packages(self):
        seen = {}
        for package in PACKAGES:
            for line in self.query(package, "[%{FILENAMES} %{FILEMODES:perms}\n]"):
                path, mode = line.split(" ")
                if not mode.startswith("d"):
                    self.assertNotIn(path, seen)
                    seen[path] = package
                else:
                    self.assertRegex(path, r"atalaya|Atalaya", f"a folder of another package: {path}")

    def test_only_the_configuration_is_kept(self):
        kept = [line for package in PACKAGES for line in self.query(package, "[%{FILENAMES} %{FILEFLAGS:fflags}\n]") if "c" in line.split(" ")[1]]
        self.assertEqual(kept, [f"{CONFIG} cn"])

    def test_requires_are_the_libraries(self):
        for package in PACKAGES - {"atalaya-dev"}:
            with self.subTest(package), tempfile.TemporaryDirectory(dir=self.scratch) as folder:
                output("rpm", "--root", folder, "-i", "--nodeps", "--noscripts", self.rpms[package])
                wanted = set()
                for path in glob.glob(folder + "/usr/bin/*") + glob.glob(folder + "/usr/lib/atalaya/**/*.so", recursive=True):
                    wanted |= set(re.findall(r"\(NEEDED\).*\[([^]]+)\]", output("readelf", "-d", path)))
                self.assertTrue(wanted)
                required = {re.sub(r"\(.*", "", line) for line in output("rpm", "-qp", "--requires", self.rpms[package]).splitlines()}
                self.assertLessEqual(wanted, required)

    def test_install_upgrade_remove(self):
        with tempfile.TemporaryDirectory(dir=self.scratch) as root:
            def rpm(*words):
                return subprocess.run(["rpm", "--root", root, *words], capture_output=True, text=True, timeout=300, check=False)
            # The database of this folder knows no library and no shell.
            apart = ["--nodeps", "--noscripts"]
            done = rpm("-i", *apart, self.rpms["atalaya"], self.rpms["atalaya-analysis"])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(rpm("-V", "--nodeps", "--noscripts", "atalaya", "atalaya-analysis").stdout, "")
            agent = os.path.join(root, "usr/bin/atalaya")
            environment = {key: value for key, value in os.environ.items() if not key.startswith("ATALAYA")}
            environment["ATALAYA_LUA"] = os.path.join(root, "usr/share/atalaya/lua")
            self.assertIn("query", output(agent, "help", env=environment))
            output(agent, "check", "--quiet", root + CONFIG, env=environment)

            with open(root + CONFIG, "a", encoding="utf-8") as file:
                file.write("-- mine\n")
            done = rpm("-U", "--replacepkgs", *apart, self.rpms["atalaya"])
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(root + CONFIG, encoding="utf-8") as file:
                self.assertTrue(file.read().endswith("-- mine\n"))

            done = rpm("-e", *apart, "atalaya", "atalaya-analysis")
            self.assertEqual(done.returncode, 0, done.stderr)
            left = [os.path.join(folder, name)[len(root):] for folder, _, names in os.walk(root) for name in names]
            self.assertEqual([path for path in left if "atalaya" in path], [CONFIG + ".rpmsave"])


class Scriptlets(unittest.TestCase):
    def calls(self, script, argument):
        """The programs that a scriptlet starts."""
        with tempfile.TemporaryDirectory(prefix="atalaya-test-") as folder:
            log = os.path.join(folder, "log")
            for program in ("systemctl", "systemd-sysusers", "install"):
                path = os.path.join(folder, program)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f'#!/bin/sh\necho {program} "$@" >>{log}\n')
                os.chmod(path, 0o755)
            done = subprocess.run(["sh", "-e", os.path.join(SCRIPTS, script), str(argument)], env={"PATH": f'{folder}:{os.environ["PATH"]}'},
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            if not os.path.exists(log):
                return []
            with open(log, encoding="utf-8") as file:
                return file.read().splitlines()

    def test_install(self):
        calls = self.calls("post", 1)
        self.assertEqual(calls[0], "systemd-sysusers atalaya.conf")
        self.assertIn("systemctl --no-reload preset atalaya.service", calls)
        self.assertFalse(any("start" in call or "enable" in call for call in calls))

    def test_upgrade_keeps_the_choice_of_the_operator(self):
        self.assertFalse(any("preset" in call or "enable" in call for call in self.calls("post", 2)))
        self.assertEqual(self.calls("preun", 1), [])

    def test_removal_disables_the_service(self):
        self.assertTrue(any(re.match(r"systemctl --no-reload disable( --now)? atalaya.service", call) for call in self.calls("preun", 0)))
        self.assertFalse(any("restart" in call for call in self.calls("postun", 0)))

    def test_no_scriptlet_depends_on_a_running_systemd(self):
        for script in sorted(os.listdir(SCRIPTS)):
            for argument in (0, 1, 2):
                self.calls(script, argument)


if __name__ == "__main__":
    unittest.main()
