# SPDX-License-Identifier: Apache-2.0
"""A small Debian with a real systemd in a container without a network. Every wait is for an event, with a limit."""

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time

PATIENCE = 90  # seconds until an expected event counts as missing
CACHE = os.environ.get("ATALAYA_SERVICE_ROOT", "/var/cache/atalaya-service-root")
MIRROR = os.environ.get("ATALAYA_DEBIAN_MIRROR", "http://deb.debian.org/debian")
RELEASE = "bookworm"


class NoTree(Exception):
    """Debian's mirror, or debootstrap, does not do its part."""


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def missing():
    """Why a machine cannot be had here; nothing if it can."""
    if os.geteuid() != 0:
        return "needs root"
    for program, package in (("debootstrap", "debootstrap"), ("systemd-nspawn", "systemd-container"), ("nsenter", "util-linux")):
        if shutil.which(program) is None:
            return f"needs {program}: apt-get install {package}"
    return None


def dependencies(packages):
    """The names of other packages that these want; of alternatives the first."""
    names = set()
    for package in packages:
        wanted = run("dpkg-deb", "-f", package, "Depends", check=True).stdout.strip()
        names |= {word.split("|")[0].split("(")[0].strip() for word in wanted.split(",")}
    return sorted(name for name in names if name and not name.startswith("atalaya"))


def root_path(packages):
    key = hashlib.sha256(" ".join([RELEASE, *dependencies(packages)]).encode()).hexdigest()[:12]
    return os.path.join(CACHE, key)


def is_cached(packages):
    return os.path.exists(root_path(packages))


def cached_root(packages):
    """A tree with systemd and the dependencies of the packages; made once."""
    root = root_path(packages)
    if os.path.exists(root):
        return root
    os.makedirs(CACHE, exist_ok=True)
    fresh = tempfile.mkdtemp(prefix="making-", dir=CACHE)
    os.chmod(fresh, 0o755)
    names = ",".join(["systemd", "systemd-sysv", "dbus", *dependencies(packages)])
    done = run("debootstrap", "--variant=minbase", "--include=" + names, RELEASE, fresh, MIRROR)
    if done.returncode != 0:
        shutil.rmtree(fresh)
        raise NoTree("debootstrap: " + done.stdout[-2000:] + done.stderr[-2000:])
    run("chroot", fresh, "apt-get", "clean", check=True)
    os.rename(fresh, root)
    return root


class Machine:
    """Boots a copy of the root at no cost: changes go to an overlay that is deleted."""

    def __init__(self, root):
        self.folder = tempfile.mkdtemp(prefix="atalaya-machine-", dir="/var/tmp")
        self.root = os.path.join(self.folder, "root")
        for name in ("root", "upper", "work"):
            os.mkdir(os.path.join(self.folder, name))
        subprocess.run(["mount", "-t", "overlay", "overlay", self.root, "-o",
                        f"lowerdir={root},upperdir={self.folder}/upper,workdir={self.folder}/work"], check=True)
        self.log = open(os.path.join(self.folder, "console"), "w+")
        # All capabilities, so that the units decide; no network, so that nothing is fetched.
        self.container = subprocess.Popen(
            ["systemd-nspawn", "--quiet", "--boot", "--register=no", "--keep-unit", "--private-network", "--capability=all",
             "--system-call-filter=bpf perf_event_open", "--directory=" + self.root, "--console=pipe"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.leader = None
        try:
            self.until(self._booted, "the machine has booted")
        except BaseException:
            self.close()
            raise

    def _booted(self):
        if self.container.poll() is not None:
            with open(self.log.name) as log:
                raise RuntimeError("the machine ended: " + log.read()[-2000:])
        if self.leader is None:
            self.leader = self._init()
            return False
        return self.run("systemctl is-system-running", check=False).stdout.strip() in ("running", "degraded")

    def _init(self):
        """systemd-nspawn's child in a separate process namespace: the one before it only helps to start that."""
        with open(f"/proc/{self.container.pid}/task/{self.container.pid}/children") as file:
            children = file.read().split()
        for pid in children:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if os.readlink(f"/proc/{pid}/ns/pid") != os.readlink("/proc/self/ns/pid"):
                    return pid
        return None

    def run(self, script, check=True):
        done = run("nsenter", "-t", self.leader, "--all", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                   "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "HOME=/root", "sh", "-c", "cd /root && " + script)
        if check and done.returncode != 0:
            raise AssertionError(f"{script}: {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done

    def out(self, script):
        return self.run(script).stdout.strip()

    def path(self, inside):
        return self.root + inside

    def write(self, inside, text):
        os.makedirs(os.path.dirname(self.path(inside)), exist_ok=True)
        with open(self.path(inside), "w") as file:
            file.write(text)
        os.chmod(self.path(inside), 0o644)

    def until(self, condition, description):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if found := condition():
                return found
            time.sleep(0.2)  # nothing notifies of these events
        raise AssertionError("condition not met: " + description + "\n" + self.run("journalctl -o cat -n 40 -u atalaya", check=False).stdout)

    def close(self):
        if self.container.poll() is None:
            if self.leader:
                os.kill(int(self.leader), signal.SIGKILL)  # its init: everything in it ends
            else:
                self.container.terminate()
            self.container.wait(PATIENCE)
        self.log.close()
        subprocess.run(["umount", self.root], check=True)
        shutil.rmtree(self.folder)
