# SPDX-License-Identifier: Apache-2.0
"""The programs of others in tests/integration/peers, installed once per build as their lock file has them."""

import fcntl
import os
import shutil
import subprocess

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers")
NODE = shutil.which("node") and shutil.which("npm")


def program(name):
    return os.path.join(HERE, name)


def is_same(path, wanted):
    if not os.path.exists(path):
        return False
    with open(path, "rb") as file:
        return file.read() == wanted


def modules():
    """The folder of node modules."""
    folder = os.environ.get("ATALAYA_PEERS") or os.path.join(HERE, "../../../build/peers")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run side by side
        with open(os.path.join(HERE, "package-lock.json"), "rb") as file:
            wanted = file.read()
        stamp = os.path.join(folder, "installed.json")
        if not is_same(stamp, wanted):
            for name in ("package.json", "package-lock.json", ".npmrc"):
                shutil.copy(os.path.join(HERE, name), folder)
            subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, check=True, capture_output=True,
                           timeout=240)
            with open(stamp, "wb") as file:
                file.write(wanted)
    return os.path.join(folder, "node_modules")
