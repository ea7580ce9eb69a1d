# SPDX-License-Identifier: Apache-2.0
"""The results file: the machine, and for each table the rows of its last run."""

import json
import os
import platform
import time

from bench_tools import ROOT

PATH = os.path.join(ROOT, "docs", "benchmarks.json")


def read(path):
    if not os.path.exists(path):
        return {"tables": {}}
    with open(path) as file:
        return json.load(file)


def write(path, results):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w") as file:
        json.dump(results, file, indent=1)
    os.replace(path + ".new", path)


def machine():
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), platform.machine())
    with open("/proc/meminfo") as file:
        memory = int(file.readline().split()[1]) / 2**20
    with open("/etc/os-release") as file:
        system = next((line.split("=", 1)[1].strip().strip('"') for line in file if line.startswith("PRETTY_NAME")), "Linux")
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB of memory, {system}, Linux {platform.release()}"


def stamp():
    return {"date": time.strftime("%Y-%m-%d"), "machine": machine(), "load": f"{os.getloadavg()[0]:.1f}"}
