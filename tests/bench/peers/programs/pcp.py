# SPDX-License-Identifier: Apache-2.0
import glob
import os
import subprocess

from peers.program import Peer, Program, binary, free_port, write

PROGRAM = Program("pcp", "pcp", "each living process, or the host, as the list of metrics of its logger says; archives on disk",
                  "processes that ended; names that are not those of the kernel")

AGENTS = """linux 60 dso linux_init {pmdas}/linux/pmda_linux.so
proc 3 pipe binary {pmdas}/proc/pmdaproc -d 3 -A
"""
PROCESSES = ("proc.psinfo.utime", "proc.psinfo.stime", "proc.psinfo.rss", "proc.psinfo.vsize", "proc.psinfo.minflt", "proc.psinfo.maj_flt",
             "proc.io.read_bytes", "proc.io.write_bytes")
HOST = ("kernel.all.cpu", "kernel.all.load", "kernel.percpu.cpu", "mem.util", "mem.vmstat", "disk.dev", "network.interface", "filesys.used")
NAMES = "/var/lib/pcp/pmns"
PMDAS = "/var/lib/pcp/pmdas"


class Logger(Peer):
    """Its daemon, the agents for Linux and for processes, and a logger."""

    metrics = ()

    def start(self):
        port, environment = str(free_port()), dict(os.environ)
        for name in ("run", "tmp", "log"):
            os.mkdir(os.path.join(self.folder, name))
            environment[f"PCP_{name.upper()}_DIR"] = os.path.join(self.folder, name)
        environment["PCP_TMPFILE_DIR"] = environment["PCP_TMP_DIR"]
        environment["PMCD_PORT"] = port
        names = os.path.join(self.folder, "names")
        subprocess.run([binary("/usr/lib/pcp/bin/pmnsmerge"), "-fx", *(f"{NAMES}/root_{part}" for part in ("root", "linux", "proc")), names],
                       check=True)
        agents = write(self.folder, "pmcd.conf", AGENTS.format(pmdas=PMDAS))
        every = "\n    ".join(self.metrics)
        wanted = write(self.folder, "pmlogger.conf", f"log mandatory on {self.every} sec {{\n    {every}\n}}\n")
        self.group.start([binary("/usr/lib/pcp/bin/pmcd", "/usr/libexec/pcp/bin/pmcd", "pmcd"), "-f", "-A", "-c", agents, "-n", names,
                                   "-i", "127.0.0.1", "-s", os.path.join(self.folder, "pmcd.socket"), "-l", os.path.join(self.folder, "pmcd.log")],
                         environment, folder=self.folder)
        self.wait_until(lambda: os.path.exists(os.path.join(self.folder, "pmcd.socket")))
        self.group.start([binary("pmlogger", "/usr/lib/pcp/bin/pmlogger"), "-c", wanted, "-h", "127.0.0.1", "-t", f"{self.every}sec",
                          "-l", os.path.join(self.folder, "pmlogger.log"), os.path.join(self.folder, "archive")], environment, folder=self.folder)

    def ready(self):
        """The archive has a record behind its label."""
        return any(os.path.getsize(path) > 1024 for path in glob.glob(os.path.join(self.folder, "archive.[0-9]*")))


class Processes(Logger):
    metrics = PROCESSES


class Host(Logger):
    metrics = HOST
