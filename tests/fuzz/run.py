# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzz targets one after another and prints a table of their runs and findings.

usage: run.py BUILD_FOLDER [SECONDS [TARGET...]]
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def targets_in(folder):
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "tests/fuzz/fuzz_*"))):
        if os.path.isfile(path) and os.access(path, os.X_OK):
            found[os.path.basename(path).removeprefix("fuzz_")] = path
    return found


def number_after(label, text):
    found = re.findall(re.escape(label) + r"\s*(\d+)", text)
    return int(found[-1]) if found else 0


def run(name, program, seconds, findings):
    """(runs, names of findings, the corpus' size); the inputs of findings stay in `findings`."""
    os.makedirs(findings, exist_ok=True)
    corpus = os.path.join(HERE, "corpus", name)
    with tempfile.TemporaryDirectory() as new:
        done = subprocess.run([program, f"-max_total_time={seconds}", "-timeout=10", "-print_final_stats=1", "-verbosity=0",
                               f"-artifact_prefix={findings}/", new, corpus], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace")
    kept = sorted(os.listdir(findings))
    if done.returncode != 0:
        print(done.stdout, file=sys.stderr)
        kept = kept or [f"status {done.returncode}"]
    if not os.listdir(findings):
        os.rmdir(findings)
    return number_after("stat::number_of_executed_units:", done.stdout), kept, len(os.listdir(corpus))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    seconds = sys.argv[2] if len(sys.argv) > 2 else "600"
    if not seconds.isdigit():
        sys.exit(f"dev fuzz: {seconds} is not a number of seconds")
    targets = targets_in(folder)
    chosen = sys.argv[3:] or list(targets)
    unknown = [name for name in chosen if name not in targets]
    if unknown:
        sys.exit(f"dev fuzz: no target {unknown[0]}; targets: {', '.join(targets)}")
    findings = os.path.join(folder, "findings")
    shutil.rmtree(findings, ignore_errors=True)
    print(f"{'target':24} {'corpus':>6} {'runs':>12} {'findings':>8}", flush=True)
    bad = 0
    for name in chosen:
        runs, found, seeds = run(name, targets[name], seconds, os.path.join(findings, name))
        print(f"{name:24} {seeds:6} {runs:12} {len(found):8}" + ("  " + " ".join(found) if found else ""), flush=True)
        bad += len(found)
    print(f"{len(chosen)} targets, {seconds} s each: findings {bad}" + (f", inputs in {findings}" if bad else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
