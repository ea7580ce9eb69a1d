# SPDX-License-Identifier: Apache-2.0
"""Energy as an operator meets it: a machine whose counters run on while the agent runs, GPUs, and a host without meters."""

import collections
import json
import os
import subprocess
import sys
import threading
import time

from harness import BINARY, AgentCase, main, points, so_far

WATTS = 40
RANGE = 100_000_000  # of the counter: full after 2.5 s


class Machine:
    """A recorded machine of one package, whose counter continues with this host's clock."""

    def __init__(self, folder):
        self.folder = folder
        self.zone = os.path.join(folder, "sys/class/powercap/intel-rapl:0")
        for part in (self.zone, os.path.join(folder, "sys/devices/system/cpu/cpu0/topology")):
            os.makedirs(part)
        os.symlink("/proc", os.path.join(folder, "proc"))
        for file in ("online", "cpu0/topology/core_id", "cpu0/topology/physical_package_id"):
            self.write(os.path.join(folder, "sys/devices/system/cpu", file), "0")
        self.write(os.path.join(self.zone, "name"), "package-0")
        self.write(os.path.join(self.zone, "max_energy_range_uj"), str(RANGE))
        self.began = time.monotonic()
        self.count()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    @staticmethod
    def write(path, text):
        """As the kernel: whoever reads has a whole number, in a file that stays the same one."""
        with open(path, "r+" if os.path.exists(path) else "w") as file:
            file.write(text.ljust(20) + "\n")

    def count(self):
        self.write(os.path.join(self.zone, "energy_uj"), str(int((time.monotonic() - self.began) * WATTS * 1e6) % (RANGE + 1)))

    def run(self):
        while not self.ended.wait(0.01):
            self.count()

    def end(self):
        self.ended.set()
        self.thread.join()


def by_time(found, *names):
    windows = collections.defaultdict(lambda: collections.defaultdict(float))
    for point in found:
        if point["metric"] in names:
            windows[point["timestamp"]][point["metric"]] += point["value"]
    return windows


def groups(found, key):
    """Points by the result of `key`."""
    result = collections.defaultdict(list)
    for point in found:
        result[key(point)].append(point)
    return result


def total(found, *metrics):
    return sum(point["value"] for point in found if point["metric"] in metrics)


class Power(AgentCase):
    recorded = None

    def machine(self):
        self.recorded = Machine(self.path("machine"))
        return self.recorded

    def tearDown(self):
        if self.recorded:
            self.recorded.end()
        super().tearDown()

    def run_until(self, lua, windows, counts=lambda window: True):
        """Until there are more than this number of windows whose points count."""
        out = self.path("out")
        agent = self.run_agent(f'local a = require "atalaya"\n{lua.replace("OUT", out)}').running()
        agent.wait_status(lambda status: sum(map(counts, groups(so_far(out), lambda point: point["timestamp"]).values())) > windows)
        self.assertEqual(agent.stop(), 0, agent.errors())
        return points(out), agent

    def test_processes_idle_and_unattributed_are_the_packages_energy(self):
        machine = self.machine()
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            found, _ = self.run_until('a.pipeline "energy" { every = "1s", a.source.proc { host = false, cgroups = false, backend = "procfs" },'
                                      f' a.translate.energy {{ root = "{machine.folder}", idle = 10 }},'
                                      ' a.sink.file { path = "OUT" } }', 6)
        finally:
            busy.kill()
            busy.wait()
        windows = by_time(found, "proc.cpu.energy", "sys.energy.packages", "sys.energy.idle", "sys.energy.processes", "sys.energy.unattributed")
        reported = [window for window in windows.values() if "sys.energy.packages" in window]
        self.assertGreaterEqual(len(reported), 3)
        for window in reported:
            total = window["sys.energy.packages"]
            self.assertAlmostEqual(window["proc.cpu.energy"] + window["sys.energy.idle"] + window["sys.energy.unattributed"], total, delta=total / 1000)
            self.assertAlmostEqual(window["proc.cpu.energy"], window["sys.energy.processes"], delta=total / 1000)
        # The package drew 40 W all the time, whatever the windows were and however often the counter restarted.
        self.assertAlmostEqual(sum(window["sys.energy.idle"] for window in reported) * 4, sum(window["sys.energy.packages"] for window in reported),
                               delta=sum(window["sys.energy.packages"] for window in reported) / 10)
        self.assertEqual(len({point["tags"]["host"] for point in found}), 1)
        times = [window for window in windows if "sys.energy.packages" in windows[window]]

        def part_of(*metrics):
            """Share of the busy process of all processes, in the windows that have energy."""
            points = [point for point in found if point["metric"] in metrics and point["timestamp"] in times]
            mine = sum(point["value"] for point in points if point["tags"].get("pid") == str(busy.pid))
            return mine / sum(point["value"] for point in points)
        self.assertAlmostEqual(part_of("proc.cpu.energy"), part_of("proc.cpu.user", "proc.cpu.kernel"), delta=0.05)

    def busy_in_containers(self, *names):
        """Busy processes, and the root in which each runs in the container of that name."""
        root = self.path("host")
        for name in names:
            process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            folder, container = os.path.join(root, "proc", str(process.pid)), name.encode().hex().ljust(64, "0")
            os.makedirs(folder)
            with open(f"/proc/{process.pid}/stat") as real, open(os.path.join(folder, "stat"), "w") as file:
                file.write(real.read())
            with open(os.path.join(folder, "cgroup"), "w") as file:
                file.write(f"0::/system.slice/docker-{container}.scope\n")
            state = os.path.join(root, "var/lib/docker/containers", container)
            os.makedirs(state, exist_ok=True)
            with open(os.path.join(state, "config.v2.json"), "w") as file:
                json.dump({"ID": container, "Name": "/" + name}, file)
        return root

    def test_energy_by_container_conserves_that_of_the_packages(self):
        machine, containers = self.machine(), {"web", "db"}
        root = self.busy_in_containers("web", "web", "db")

        def has_all(window):
            return containers <= {point["tags"].get("container") for point in window if point["metric"] == "proc.cpu.energy"}
        found, _ = self.run_until('a.pipeline "energy" { every = "1s", a.source.proc { host = false, cgroups = false, backend = "procfs" },'
                                  f' a.translate.energy {{ root = "{machine.folder}", idle = 10 }},'
                                  f' a.translate.names {{ rules = {{}}, tags = {{ "container" }}, root = "{root}" }},'
                                  ' a.translate.aggregate { by = { "container", "quality" } }, a.sink.file { path = "OUT" } }', 3, has_all)
        for window in groups(found, lambda point: point["timestamp"]).values():
            packages = total(window, "sys.energy.packages")
            if not packages:
                continue
            reported = total(window, "proc.cpu.energy", "sys.energy.idle", "sys.energy.unattributed")
            self.assertAlmostEqual(reported, packages, delta=packages / 1000)
            # A container has as much of the processes' energy as of their CPU time.
            energy, cpu = total(window, "proc.cpu.energy"), total(window, "proc.cpu.user", "proc.cpu.kernel")
            for container, own in groups(window, lambda point: point["tags"].get("container")).items():
                if container:
                    self.assertEqual(len([point for point in own if point["metric"] == "proc.cpu.energy"]), 1)
                    self.assertAlmostEqual(total(own, "proc.cpu.energy"), energy * total(own, "proc.cpu.user", "proc.cpu.kernel") / cpu,
                                           delta=packages / 1000)

    def test_a_wrap_within_a_window_is_not_lost(self):
        machine = self.machine()
        found, _ = self.run_until('a.pipeline "power" { every = "6s", '
                                  f'a.source.power {{ root = "{machine.folder}", ipmi = false, gpus = false }}, '
                                  'a.source.self {}, a.sink.file { path = "OUT" } }', 2)
        watts = [point["value"] for point in found if point["metric"] == "sys.cpu.power"]
        self.assertTrue(watts)
        for value in watts:  # two wraps in each
            self.assertAlmostEqual(value, WATTS, delta=WATTS / 5)

    def test_gpus_and_their_processes(self):
        library = os.environ["ATALAYA_FAKE_NVML"]
        found, _ = self.run_until('a.pipeline "power" { every = "200ms", '
                                  f'a.source.power {{ nvml = "{library}" }}, a.source.self {{}}, a.sink.file {{ path = "OUT" }} }}', 3)
        powers = {point["tags"]["gpu"]: point["value"] for point in found if point["metric"] == "gpu.power"}
        self.assertEqual(powers, {"0": 215.5})
        self.assertEqual({point["tags"]["gpu"] for point in found if point["metric"] == "gpu.temp"}, {"0", "1"})
        used = {(point["tags"]["pid"], point["tags"]["process"], point["tags"]["gpu"]): point["value"] for point in found
                if point["metric"] == "proc.gpu.mem.used"}
        with open("/proc/1/comm") as file:
            self.assertEqual(used, {("1", file.read().strip(), "0"): 100})

    def test_a_host_without_meters_logs_it_and_reports_nothing(self):
        os.makedirs(self.path("empty/proc"))
        found, agent = self.run_until('a.pipeline "power" { every = "100ms", '
                                      f'a.source.power {{ root = "{self.path("empty")}" }}, a.source.self {{}}, a.sink.file {{ path = "OUT" }} }}', 5)
        self.assertEqual([point["metric"] for point in found if not point["metric"].startswith("self.")], [])
        self.assertEqual(agent.errors().count("no energy of packages (RAPL): "), 1)

    def test_a_model_is_off_by_default_and_carries_its_tag(self):
        os.makedirs(self.path("vm"))
        os.symlink("/proc", self.path("vm/proc"))
        source = 'a.source.proc { host = false, cgroups = false, backend = "procfs" }'
        lua = 'a.pipeline "energy" { every = "500ms", %s, a.translate.energy { root = "%s" %s }, a.sink.file { path = "OUT" } }'
        found, agent = self.run_until(lua % (source, self.path("vm"), ""), 3)
        self.assertEqual([point for point in found if "energy" in point["metric"]], [])
        self.assertEqual(agent.errors().count('set "model" to estimate it'), 1)
        os.remove(self.path("out"))
        found, _ = self.run_until(lua % (source, self.path("vm"), ", model = { idle = 20, full = 100 }"), 5)
        energies = [point for point in found if "energy" in point["metric"]]
        self.assertTrue(energies)
        self.assertEqual({point["tags"].get("quality") for point in energies}, {"model"})
        self.assertFalse([point for point in found if "quality" in point["tags"] and "energy" not in point["metric"]])

    def test_doctor_and_the_tables_name_the_available_meters(self):
        features = json.loads(subprocess.run([BINARY, "doctor", "--format", "json"], capture_output=True, text=True).stdout)
        names = {feature["feature"]: feature for feature in features}
        for name in ("power-rapl", "power-msr", "power-ipmi", "power-sensors", "power-gpu", "energy-rapl"):
            self.assertIn(name, names)
        if not os.path.exists("/sys/class/powercap/intel-rapl:0"):
            self.assertEqual(names["power-rapl"]["state"], "off")


if __name__ == "__main__":
    main()
