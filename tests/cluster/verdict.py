# SPDX-License-Identifier: Apache-2.0
"""Whether bottleneck said what is true of a run of the small cluster."""

REASONS = {"disk": "disk", "remote": "remote reads", "cpu": "other programs"}


def missing(report, expected, fault):
    """What is missing or too much in the findings; empty: all as it should be. `expected`: node and phases, None where nothing is wrong."""
    found = [finding for finding in report["findings"] if finding["kind"] == "node"]
    if expected is None:
        return ["false: " + finding["summary"] for finding in found]
    node, phases = expected
    wrong = [f"another node: {finding['summary']}" for finding in found if finding["node"] != node]
    of_maps = [finding for finding in found if finding["node"] == node and finding["stage"] == "map"]
    if not of_maps:
        return wrong + [f"no finding on {node}"]
    first = of_maps[0]
    if first.get("phase") not in phases:
        wrong.append(f"phase {first.get('phase')}, not one of {sorted(phases)}: {first['summary']}")
    if first["reason"] != REASONS[fault]:
        wrong.append(f"reason {first['reason']}, not {REASONS[fault]}: {first['summary']}")
    return wrong
