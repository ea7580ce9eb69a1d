# SPDX-License-Identifier: Apache-2.0
"""Jobs of a real Slurm: its own controller and node daemon in a temporary folder, and the tags of the processes that it starts."""

import glob
import os
import shutil
import socket
import subprocess
import time
import unittest

from harness import PATIENCE, AgentCase, main, so_far
from http_servers import free_port

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "squeue", "scancel", "sinfo")
V1 = os.path.isdir("/sys/fs/cgroup/freezer")
VERSION_2 = "/sys/fs/cgroup/unified" if V1 else "/sys/fs/cgroup"
VIEW = os.environ.get("ATALAYA_CGROUP2_VIEW", "build/release/tests/integration/cgroup2_view.so")
# What slurmd sees of a host with cgroups of both versions, so that its plugin for version 2 starts: only those of version 2.
ONLY_VERSION_2 = ("unshare", "--mount", "sh", "-c", f"""umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup &&
                  exec env LD_PRELOAD={os.path.abspath(VIEW)} "$@" """, "sh")


def missing():
    absent = [name for name in PROGRAMS if not shutil.which(name)]
    if absent:
        return f"needs Debian's slurmctld, slurmd, slurm-client and munge; missing: {', '.join(absent)}"
    return "" if os.geteuid() == 0 else "slurmd needs root"


class Slurm:
    """One node. `tracking` is Slurm's way to find the processes of a job: cgroup, cgroup/v2 or linuxproc."""

    def __init__(self, folder, tracking):
        self.folder, self.tracking, self.daemons = folder, tracking, []
        os.chmod(folder, 0o755)  # munge's clients need its socket
        for name in ("state", "spool"):
            os.mkdir(self.path(name))
        self.version2 = tracking == "cgroup/v2"
        self.environment = dict(os.environ, SLURM_CONF=self.path("slurm.conf"))
        self.configure()

    def path(self, name):
        return os.path.join(self.folder, name)

    def configure(self):
        node = socket.gethostname().split(".")[0]
        with open(self.path("slurm.conf"), "w") as file:
            file.write(f"""
                ClusterName=test
                SlurmctldHost={node}(127.0.0.1)
                SlurmctldPort={free_port()}
                SlurmdPort={free_port()}
                SlurmUser=root
                AuthType=auth/munge
                AuthInfo=socket={self.path("munge.socket")}
                CredType=cred/munge
                StateSaveLocation={self.path("state")}
                SlurmdSpoolDir={self.path("spool")}
                SlurmctldPidFile={self.path("slurmctld.pid")}
                SlurmdPidFile={self.path("slurmd.pid")}
                SlurmctldLogFile={self.path("slurmctld.log")}
                SlurmdLogFile={self.path("slurmd.log")}
                ProctrackType=proctrack/{self.tracking.split('/')[0]}
                TaskPlugin=task/none
                JobAcctGatherType=jobacct_gather/none
                AccountingStorageType=accounting_storage/none
                MpiDefault=none
                SwitchType=switch/none
                ReturnToService=2
                SlurmdTimeout=300
                NodeName={node} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
                PartitionName=all Nodes=ALL Default=YES State=UP
                """.replace("                ", ""))
        with open(self.path("cgroup.conf"), "w") as file:
            plugin = "cgroup/v2" if self.version2 else "cgroup/v1" if V1 else "autodetect"
            file.write(f"CgroupPlugin={plugin}\nCgroupMountpoint=/sys/fs/cgroup\nCgroupAutomount=no\n")
            if self.version2:
                file.write("IgnoreSystemd=yes\n")
        descriptor = os.open(self.path("munge.key"), os.O_WRONLY | os.O_CREAT, 0o400)
        os.write(descriptor, os.urandom(128))
        os.close(descriptor)

    def start(self):
        self.daemon("munged", "--foreground", "--force", "--key-file", self.path("munge.key"), "--socket", self.path("munge.socket"),
                    "--pid-file", self.path("munged.pid"), "--log-file", self.path("munged.log"), "--seed-file", self.path("munged.seed"))
        self.wait(lambda: os.path.exists(self.path("munge.socket")), "munged has no socket")
        self.daemon("slurmctld", "-D", "-i", "-f", self.path("slurm.conf"))
        if self.version2:
            os.makedirs(VERSION_2 + "/system.slice", exist_ok=True)  # slurmd makes its scope, and systemd the slice
        self.daemon("slurmd", "-D", "-f", self.path("slurm.conf"), before=ONLY_VERSION_2 if self.version2 and V1 else ())
        # Only slurmd needs cgroups, and not all hosts give it some.
        self.wait(lambda: self.run("sinfo", "-h", "-o", "%T").strip() == "idle", "the node is not idle", may_skip=self.tracking != "linuxproc")

    def daemon(self, *words, before=()):
        log = open(self.path(words[0] + ".out"), "wb")
        self.daemons.append(subprocess.Popen([*before, *words], env=self.environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL))
        log.close()

    def run(self, *words):
        try:
            done = subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:  # the daemons are ended all the same
            return ""
        return done.stdout if done.returncode == 0 else ""

    def wait(self, condition, problem, may_skip=False):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end or any(daemon.poll() is not None for daemon in self.daemons):
                kind = unittest.SkipTest if may_skip else AssertionError
                raise kind(f"{problem} with {self.tracking}: {self.reason()}")
            time.sleep(0.1)

    def reason(self):
        lines = []
        for name in ("munged.out", "slurmctld.log", "slurmd.out", "slurmd.log"):
            if os.path.exists(self.path(name)):
                with open(self.path(name), errors="replace") as file:
                    lines += [line.strip() for line in file if "error" in line.lower() or "fatal" in line.lower()]
        return "; ".join(lines[-3:]) or "no error in the logs"

    def stop(self):
        self.run("scancel", "--user=root", "--full", "--signal=KILL")
        self.run("scancel", "--user=root")
        end = time.monotonic() + PATIENCE
        while self.run("squeue", "-h", "-o", "%i").strip() and time.monotonic() < end:
            time.sleep(0.1)  # their daemons would outlive slurmd
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        if self.version2:
            self.remove_cgroups(glob.glob(VERSION_2 + "/system.slice/*slurmstepd.scope"))
            self.remove_cgroups([VERSION_2 + "/system.slice"], below=False)
        elif V1:
            self.remove_cgroups(glob.glob("/sys/fs/cgroup/*/slurm*"))

    @staticmethod
    def remove_cgroups(tops, below=True):
        for top in tops:
            for folder, _, _ in os.walk(top, topdown=False) if below else [(top, (), ())]:
                try:
                    os.rmdir(folder)
                except OSError:
                    pass  # it belongs to another slurmd or to systemd


@unittest.skipIf(missing(), missing())
class Jobs(AgentCase):
    def slurm(self, tracking):
        folder = self.path("slurm")
        os.chmod(self.folder, 0o755)
        os.mkdir(folder)
        slurm = Slurm(folder, tracking)
        self.addCleanup(slurm.stop)
        slurm.start()
        for name in ("steps", "batch"):
            shutil.copy(shutil.which("sleep"), self.path(name))
        run = subprocess.Popen(["srun", "--chdir=/", self.path("steps"), "600"], env=slurm.environment, stdin=subprocess.DEVNULL)
        self.addCleanup(run.wait, PATIENCE)
        self.addCleanup(run.kill)
        return slurm

    def job(self, slurm):
        """The number of the only running job, by Slurm's own word."""
        slurm.wait(lambda: slurm.run("squeue", "-h", "-t", "RUNNING", "-o", "%i").strip(), "no job runs")
        return slurm.run("squeue", "-h", "-t", "RUNNING", "-o", "%i").strip()

    def tags_of(self, process, more=""):
        """The tags that the agent gives the process, as soon as it has a job."""
        emitted = self.path(f"emitted-{process}")
        agent = self.run_agent(f"""
        local a = require "atalaya"
        a.pipeline "jobs" {{ every = "200ms", a.source.proc {{ host = false, cgroups = false }},
          a.translate.names {{ tags = {{ "job", "job.step", "job.user" }} {more} }},
          a.sink.file {{ path = "{emitted}", format = "samples" }} }}""").running()

        def found():
            return [sample["tags"] for sample in so_far(emitted) if sample["tags"].get("process") == process]
        end = time.monotonic() + PATIENCE
        while not any("job" in tags for tags in found()) and time.monotonic() < end:
            time.sleep(0.1)
        agent.stop()
        return found()[-1]

    def test_steps_and_batch_scripts_by_cgroup(self):
        self.steps_and_batch("cgroup", "0" if V1 else None)

    @unittest.skipUnless(os.path.exists(VERSION_2 + "/cgroup.procs"), "needs cgroups of version 2")
    def test_steps_and_batch_scripts_by_cgroups_of_version_2(self):
        self.steps_and_batch("cgroup/v2", None)
        # slurmd's own form, so that a later Slurm with another one is noticed
        self.assertRegex(self.cgroup, r"/system\.slice/(\w+_)?slurmstepd\.scope/job_\d+/step_batch/user/task_\w+$")

    def steps_and_batch(self, tracking, user):
        slurm = self.slurm(tracking)
        job = self.job(slurm)
        tags = self.tags_of("steps")
        self.assertEqual((tags["job"], tags["job.step"]), (job, "0"))
        self.assertEqual(tags.get("job.user"), user)
        slurm.run("scancel", "--signal=KILL", job)
        slurm.wait(lambda: not slurm.run("squeue", "-h", "-o", "%i").strip(), "the job does not end")
        slurm.run("sbatch", "--chdir=/", "--output=/dev/null", "--wrap", f"exec {self.path('batch')} 600")
        job = self.job(slurm)
        tags = self.tags_of("batch")
        self.assertEqual((tags["job"], tags["job.step"]), (job, "batch"))
        with open(f"/proc/{tags['pid']}/cgroup") as file:
            self.cgroup = next(line for line in file if line.startswith("0::")).rstrip("\n")

    def test_the_environment_where_there_are_no_cgroups(self):
        slurm = self.slurm("linuxproc")
        job = self.job(slurm)
        tags = self.tags_of("steps", ", job_environment = true")
        self.assertEqual((tags["job"], tags["job.step"], tags["job.user"]), (job, "0", "0"))


if __name__ == "__main__":
    main()
