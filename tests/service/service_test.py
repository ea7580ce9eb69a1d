# SPDX-License-Identifier: Apache-2.0
"""The packages and the unit under a real systemd: install without a network, run, watch, reload, turn features on, upgrade with a full
spool, remove, purge; and every command of docs/how-to/operations.md. The steps follow each other, as on an operator's host.

ATALAYA_PACKAGES: a folder with the .debs; else they are made from ATALAYA_BUILD. ATALAYA_SERVICE_ROOT: where the Debian tree is kept
between runs; without one there it is made (some minutes and a mirror) only when ATALAYA_FULL is set. ATALAYA_PREVIOUS_DEB: an older
atalaya to upgrade from; else this one."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import machine
from machine import Machine

BUILD = os.path.abspath(os.environ.get("ATALAYA_BUILD", "build/release"))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONFIGURATION = "/etc/atalaya/atalaya.lua"
DROP_INS = "/etc/systemd/system/atalaya.service.d"
LOG = "/var/log/atalaya/test.jsonl"


def packages_in(folder):
    """Of each package its file, by name."""
    found = {os.path.basename(path).split("_")[0]: path for path in sorted(glob.glob(os.path.join(folder, "atalaya*.deb")))}
    if not {"atalaya", "atalaya-analysis", "atalaya-kafka", "atalaya-riemann", "atalaya-dev"} <= set(found):
        raise RuntimeError(f"the packages are not in {folder}")
    return found


def capability_numbers():
    with open(os.path.join(TREE, "core/isolation/launcher/capability_names.h")) as file:
        table = re.search(r"kCapabilityNames = \{(.*?)\};", file.read(), re.DOTALL)[1]
    return {name: number for number, name in enumerate(re.findall(r'"(CAP_\w+)"', table))}


def families(points):
    """proc.cpu of proc.cpu.user: it does not depend on the activity of a disk at that moment."""
    return {".".join(point["metric"].split(".")[:2]) for point in points}


def repacked(package, version, folder):
    """The same package with another version."""
    tree = os.path.join(folder, "repacked")
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = os.path.join(tree, "DEBIAN/control")
    with open(control) as file:
        text = re.sub(r"(?m)^Version: .*$", "Version: " + version, file.read())
    with open(control, "w") as file:
        file.write(text)
    path = os.path.join(folder, f"atalaya_{version}.deb")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, path], check=True, capture_output=True)
    shutil.rmtree(tree)
    return path


def pipeline(source, *stages):
    lines = "".join(f"  {stage},\n" for stage in (source, *stages))
    return (f'local a = require "atalaya"\na.pipeline "test" {{\n  every = "1s",\n{lines}'
            f'  a.sink.file {{ path = "{LOG}" }},\n}}\n')


class Service(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if why := machine.missing():
            raise unittest.SkipTest(why)
        full = "ATALAYA_FULL" in os.environ
        none = f"no Debian tree in {machine.CACHE} for these packages yet; ./dev test --full makes it"
        if not full and not os.path.isdir(machine.CACHE):
            raise unittest.SkipTest(none)
        folder = os.environ.get("ATALAYA_PACKAGES")
        if folder is None:
            made = tempfile.TemporaryDirectory(prefix="atalaya-packages-")
            cls.addClassCleanup(made.cleanup)
            folder = made.name
            subprocess.run(["cpack", "-G", "DEB", "-B", folder], cwd=BUILD, check=True, capture_output=True)
        cls.debs = packages_in(folder)
        if not full and not machine.is_cached(cls.debs.values()):
            raise unittest.SkipTest(none)
        try:
            root = machine.cached_root(cls.debs.values())
        except machine.NoTree as why:
            raise unittest.SkipTest(str(why)) from None
        cls.host = Machine(root)
        cls.addClassCleanup(cls.host.close)
        for package in cls.debs.values():
            shutil.copy(package, cls.host.path("/root"))
        with tempfile.TemporaryDirectory() as folder:
            version = cls.version() + "+next"
            shutil.copy(repacked(cls.debs["atalaya"], version, folder), cls.host.path("/root/next.deb"))
        if previous := os.environ.get("ATALAYA_PREVIOUS_DEB"):
            shutil.copy(previous, cls.host.path("/root/" + os.path.basename(cls.debs["atalaya"])))

    @classmethod
    def version(cls):
        return machine.run("dpkg-deb", "-f", cls.debs["atalaya"], "Version", check=True).stdout.strip()

    def show(self, name):
        return self.host.out(f"systemctl show -P {name} atalaya")

    def pid(self):
        return int(self.show("MainPID"))

    def journal(self):
        """Log of the service since its last start."""
        return self.host.out("journalctl -o cat _SYSTEMD_INVOCATION_ID=$(systemctl show -P InvocationID atalaya)")

    def status(self):
        done = self.host.run("atalaya status --format json", check=False)
        return json.loads(done.stdout) if done.returncode == 0 else {"ledger": []}

    def sink(self, column):
        return sum(row[column] for row in self.status()["ledger"] if row["type"] == "sink")

    def capabilities(self):
        """Of the agent itself, and of all processes of the service together, as numbers."""
        found = self.host.out("cd /proc; grep -Hs CapEff $(grep -ls \"^Uid:[[:space:]]*$(id -u atalaya)\" [0-9]*/status) || test $? = 2")  # 2: one of them has ended meanwhile
        effective = {int(line.split("/")[0]): int(line.split()[1], 16) for line in found.splitlines()}
        together = 0
        for one in effective.values():
            together |= one
        return effective[self.pid()], together

    def doctor(self):
        # 1: a source of this machine cannot work without its drop-in at all.
        return {feature["feature"]: feature for feature in json.loads(self.host.out("atalaya doctor --unit --format json || test $? = 1"))}

    def restart_with(self, text):
        self.host.write(CONFIGURATION, text)
        self.host.run(f"systemctl stop atalaya; rm -f {LOG}; systemctl start atalaya")  # the old one would write it again

    def points(self):
        """Without spans: the kernel's log may have one at any time."""
        path = self.host.path(LOG)
        if not os.path.exists(path):
            return []
        with open(path) as file:
            lines = [json.loads(line) for line in file if line.endswith("\n")]
        return [line for line in lines if "metric" in line]

    def exposure(self):
        text = self.host.out("systemd-analyze security --no-pager atalaya.service | tail -1")
        return float(re.search(r"([0-9.]+) [A-Z]+", text)[1])

    def test_01_install_without_a_network(self):
        begin = time.monotonic()
        self.host.run("apt-get install -y --no-install-recommends ./" + os.path.basename(self.debs["atalaya"]))
        installed = time.monotonic()
        self.addCleanup(self.install_the_others)
        self.host.until(lambda: self.sink("out") > 0, "the store holds samples")
        print(f"installed in {installed - begin:.1f} s, first data {time.monotonic() - installed:.1f} s later", file=sys.stderr)
        self.assertEqual(self.host.out("systemctl is-enabled atalaya"), "enabled")
        self.assertEqual(self.show("User"), "atalaya")
        self.assertEqual(self.capabilities(), (0, 0))
        self.assertEqual(self.host.out("stat -c '%U %a' /var/lib/atalaya/atalaya.db"), "atalaya 640")
        self.assertNotIn("error", self.journal())

    def install_the_others(self):
        others = " ./".join(os.path.basename(self.debs[name]) for name in self.debs if name != "atalaya")
        self.host.run("apt-get install -y --no-install-recommends ./" + others)
        for name in "kafka", "riemann":
            self.assertIn(name, self.host.out("atalaya plugins"))

    def test_02_the_unit_is_closed(self):
        self.host.run("systemd-analyze verify --man=no atalaya.service")
        exposure = self.exposure()
        print(f"systemd-analyze security: {exposure}", file=sys.stderr)
        self.assertLessEqual(exposure, 2.0)

    def test_03_it_notifies_systemd_of_its_state(self):
        self.assertEqual(self.show("Type"), "notify")
        self.host.until(lambda: re.search(r"\d+ samples in, \d+ delivered", self.show("StatusText")), "the status line")

    def test_04_the_watchdog_ends_a_service_that_hangs(self):
        with open(self.host.path(CONFIGURATION)) as file:
            good = file.read()
        # One that runs in the agent itself hangs; all other threads continue.
        shutil.copy(os.path.join(BUILD, "tests/plugins/test_faulty.so"), self.host.path("/usr/lib/atalaya"))
        self.host.write(DROP_INS + "/watchdog.conf", "[Service]\nWatchdogSec=10\n")
        self.host.run("systemctl daemon-reload")
        self.restart_with(pipeline('a.source.faulty { trouble = "/var/lib/atalaya/trouble", isolate = false }'))
        self.host.until(lambda: self.sink("out") > 0, "data")
        old, restarts = self.pid(), int(self.show("NRestarts"))
        self.host.write("/var/lib/atalaya/new", "hang")
        self.host.run("cd /var/lib/atalaya && chown atalaya new && mv new trouble")
        self.host.until(lambda: self.pid() not in (0, old) and self.show("SubState") == "running", "the watchdog starts it again")
        self.assertGreater(int(self.show("NRestarts")), restarts)
        self.assertIn("Watchdog timeout", self.host.out("journalctl -u atalaya"))
        shutil.rmtree(self.host.path(DROP_INS))
        os.remove(self.host.path("/usr/lib/atalaya/test_faulty.so"))
        self.host.run("systemctl daemon-reload")
        self.restart_with(good)
        self.host.until(lambda: self.sink("out") > 0, "data again")

    def test_05_reload(self):
        pid = self.pid()
        with open(self.host.path(CONFIGURATION)) as file:
            good = file.read()
        more = good + '\na.pipeline "more" { every = "1s", a.source.self {}, a.sink.file { path = "/var/log/atalaya/more.jsonl" } }\n'
        self.host.write(CONFIGURATION, more)
        self.host.run("systemctl reload atalaya")
        self.host.until(lambda: any(row["pipeline"] == "more" for row in self.status()["ledger"]), "the new pipeline")
        self.host.write(CONFIGURATION, more.replace("a.source.self {}, a.sink.file", "a.source.prco {}, a.sink.file"))
        refused = self.host.run("systemctl reload atalaya", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn('source "prco" is not known', self.host.out("journalctl -u atalaya"))
        # The same, past the check.
        self.host.run(f"kill -HUP {pid}")
        self.host.until(lambda: "reload refused" in self.show("StatusText"), "the status says that it was refused")
        self.assertEqual((self.pid(), self.show("ActiveState")), (pid, "active"))
        self.assertTrue(any(row["pipeline"] == "more" for row in self.status()["ledger"]))
        # Started with such a file it does not run, and does not try for ever.
        self.assertNotEqual(self.host.run("systemctl restart atalaya", check=False).returncode, 0)
        self.assertEqual((self.show("ActiveState"), self.show("NRestarts")), ("failed", "0"))
        # Fixed, it needs nothing but the start.
        self.host.write(CONFIGURATION, good)
        self.host.run("systemctl restart atalaya")
        self.host.until(lambda: self.sink("out") > 0, "data again")

    def run_with_drop_ins(self, names, configuration):
        shutil.rmtree(self.host.path(DROP_INS), ignore_errors=True)
        os.makedirs(self.host.path(DROP_INS))
        for name in names:
            os.symlink(f"/usr/share/atalaya/drop-ins/{name}.conf", self.host.path(f"{DROP_INS}/{name}.conf"))
        self.host.run("systemctl daemon-reload")
        return self.windows(configuration)

    def windows(self, configuration):
        self.restart_with(configuration)
        self.host.until(lambda: len({point["timestamp"] for point in self.points()}) > 3, "two whole windows")
        return self.points()

    def configuration_of(self, feature):
        """Where the component of the feature works."""
        name = feature["component"]
        processes = 'a.source.proc { host = false, cgroups = false }'
        translate = f'a.translate.{name} {{ tags = {{ "container" }} }}' if name == "names" else f"a.translate.{name} {{}}"
        # A source may have nothing to report on a quiet host; self always has.
        forms = {"source": (f"a.source.{name} {{}}", "a.source.self {}"), "translator": (processes, translate),
                 "filter": (processes, f"a.filter.{name} {{}}")}
        if name in ("perf", "counters"):  # without CAP_PERFMON it emits nothing, and the others continue
            return pipeline(processes) + (f'a.pipeline "{name}" {{ every = "1s", a.source.{name} {{}}, '
                                          f'a.sink.file {{ path = "{LOG}.{name}", format = "samples" }} }}\n')
        if name == "uprobe":  # one that waits for its binary; it does not work in a container at all
            regions = 'regions = { { name = "later", binary = "/usr/bin/later", enter = "main" } }'
            return pipeline(processes) + (f'a.pipeline "uprobe" {{ every = "1s", a.source.uprobe {{ {regions} }}, '
                                          f'a.sink.file {{ path = "{LOG}.uprobe", format = "samples" }} }}\n')
        if name == "btrace":  # a pipeline without windows
            return pipeline(processes) + (f'a.pipeline "btrace" {{ a.source.btrace {{ path = "/var/log/*.log" }}, '
                                          f'a.sink.file {{ path = "{LOG}.btrace" }} }}\n')
        self.assertIn(feature["kind"], forms, "say here how a pipeline uses " + feature["feature"])
        return pipeline(*forms[feature["kind"]])

    def test_06_a_token_by_the_service_manager(self):
        with open(self.host.path(CONFIGURATION)) as file:
            good = file.read()
        self.host.run("umask 077; head -c 24 /dev/urandom | base64 > /root/token; echo wrong > /root/other")
        token = "/run/credentials/atalaya.service/token"
        hub = (f'local a = require "atalaya"\na.pipeline "hub" {{ a.source.receive {{ listen = "127.0.0.1:9700", tokens = "{token}" }},\n'
               f'  a.sink.file {{ path = "{LOG}" }} }}\n'
               f'a.pipeline "sends" {{ every = "1s", a.source.self {{}},\n'
               f'  a.sink.http {{ url = "http://127.0.0.1:9700", format = "jsonlines", bearer = "{token}" }} }}\n')
        self.host.write(DROP_INS + "/token.conf", "[Service]\nLoadCredential=token:/root/token\n")
        self.host.run("systemctl daemon-reload")
        self.restart_with(hub)
        self.host.until(lambda: self.points(), "points that were sent with the token")
        self.host.run("systemctl reload atalaya")  # the file is checked without the credential, or with it
        self.assertNotIn(self.host.out("cat /root/token"), self.journal())
        shutil.rmtree(self.host.path(DROP_INS))
        self.host.run("systemctl daemon-reload")
        self.restart_with(good)

    def test_07_each_feature_by_its_drop_in_and_no_more(self):
        features = [feature for feature in self.doctor().values() if feature["drop_in"]]
        self.assertTrue(features)
        shipped = {os.path.basename(path) for path in glob.glob(self.host.path("/usr/share/atalaya/drop-ins/*"))}
        self.assertEqual(shipped, {os.path.basename(feature["drop_in"]) for feature in features})
        numbers = capability_numbers()
        # A container whose name only root can read.
        place = self.host.path("/var/lib/docker/containers/" + "d1" * 32)
        os.makedirs(place, mode=0o700)
        with open(os.path.join(place, "config.v2.json"), "w") as file:
            json.dump({"ID": "d1" * 32, "Name": "/web", "Config": {"Labels": {}}}, file)
        os.chmod(os.path.dirname(place), 0o700)
        self.host.run(f"systemd-run --scope --unit=docker-{'d1' * 32} sleep 1000 >/dev/null 2>&1 </dev/null &")
        for feature in features:
            with self.subTest(feature=feature["feature"]):
                configuration = self.configuration_of(feature)
                without = families(self.run_with_drop_ins([], configuration))
                off = self.doctor()[feature["feature"]]
                self.assertEqual(off["state"], "off")
                # The remedy, unchanged.
                self.host.run("rm -rf " + DROP_INS)
                for remedy in {need["remedy"] for need in off["needs"] if need["type"] == "capability" and need["remedy"]}:
                    self.host.run(remedy)
                points = self.windows(configuration)
                wanted = [need["name"] for need in feature["needs"] if need["type"] == "capability"]
                self.assertEqual(self.capabilities(), (0, sum(1 << numbers[name] for name in wanted)))
                now = self.doctor()[feature["feature"]]
                self.assertTrue(all(need["met"] == "yes" for need in now["needs"] if need["type"] == "capability"), now)
                self.assertLessEqual(without, families(points), self.journal())
                print(f'{feature["feature"]}: {", ".join(wanted)}: exposure {self.exposure()}', file=sys.stderr)
                # The visible effects of the others are in features_test.py; in a namespace of processes BPF is refused.
                if feature["feature"] == "proc-bpf":
                    self.assertIn("bpf", self.show("SystemCallFilter").split())
                    reasons = [line for line in self.journal().splitlines() if "processes are read from procfs" in line]
                    self.assertTrue(all("pid namespace" in line for line in reasons), reasons)
                if feature["feature"] == "names-containers":
                    containers = {point["tags"].get("container") for point in points}
                    self.assertIn("web", containers)
        names = [feature["feature"] for feature in features]
        self.run_with_drop_ins(names, pipeline("a.source.proc {}", 'a.translate.names {}'))
        print(f"systemd-analyze security with all drop-ins: {self.exposure()}", file=sys.stderr)
        shutil.rmtree(self.host.path(DROP_INS))
        self.host.run("systemctl daemon-reload")

    def spooled(self):
        return sum(row.get("queued", 0) for row in self.status()["ledger"] if row["type"] == "sink")

    def oldest(self):
        """Time when the first waiting batch of the spool was put there."""
        return json.loads(self.host.out("atalaya spool ls /var/lib/atalaya/spool/hub --format json"))["oldest"]

    def test_08_upgrade_with_a_full_spool(self):
        # Nobody listens there.
        mine = ('local a = require "atalaya"\na.pipeline "spooled" { every = "1s", a.source.proc { processes = false },\n'
                '  a.sink.http { url = "http://127.0.0.1:9", format = "jsonlines", spool = { dir = "spool/hub" } } }\n')
        self.restart_with(mine)
        self.host.until(lambda: self.spooled() >= 50, "a spool that holds something")
        before, pid = self.oldest(), self.pid()
        self.host.run("apt-get install -y --no-install-recommends ./next.deb")
        self.assertEqual(self.host.out("dpkg-query -W -f '${Version}' atalaya"), self.version() + "+next")
        self.host.until(lambda: self.pid() not in (0, pid) and self.spooled() > 0, "the new one runs")
        self.assertEqual(self.oldest(), before)
        with open(self.host.path(CONFIGURATION)) as file:
            self.assertEqual(file.read(), mine)
        self.host.run("atalaya spool verify /var/lib/atalaya/spool/hub")

    def test_09_remove_then_purge(self):
        self.host.run("apt-get remove -y atalaya")
        self.assertNotEqual(self.host.run("systemctl is-active atalaya", check=False).returncode, 0)
        self.assertFalse(os.path.exists(self.host.path("/usr/bin/atalaya")))
        self.assertTrue(os.path.exists(self.host.path(CONFIGURATION)))
        self.assertTrue(os.path.exists(self.host.path("/var/lib/atalaya/spool/hub")))
        # Again: the stored state is used, and it runs.
        self.host.run("apt-get install -y --no-install-recommends ./next.deb")
        self.assertEqual(self.show("ActiveState"), "active")
        self.host.run("apt-get purge -y " + " ".join(self.debs))
        left = self.host.out("find / -xdev -path /proc -prune -o -iname '*atalaya*' -print | grep -v -e ^/root -e ^/proc || true")
        self.assertEqual(left, "")
        self.assertEqual(self.host.out("systemctl --failed --no-legend | grep -i atalaya || true"), "")

    def test_10_every_command_of_the_operations_page(self):
        with open(os.path.join(TREE, "docs/how-to/operations.md")) as file:
            blocks = re.findall(r"(?ms)^```sh\n(.*?)^```", file.read())
        self.assertTrue(blocks)
        os.remove(self.host.path("/root/next.deb"))
        for block in blocks:
            for command in re.sub(r"\\\n\s*", "", block).splitlines():
                command = re.sub(r"\s+# .*$", "", command).strip()
                if command:
                    with self.subTest(command=command):
                        self.host.run(command + (" || test $? = 1" if command.startswith("atalaya doctor") else ""))


if __name__ == "__main__":
    unittest.main(failfast=True, verbosity=2)
