# SPDX-License-Identifier: Apache-2.0
"""Whether bottleneck reports the true findings of a run of the small cluster, and no others."""

REASONS = {"disk": "disk", "remote": "remote reads", "cpu": "other programs"}


def missing(report, expected, fault):
    """Missing and unexpected findings; empty: all as expected. `expected`: node and phases, None for a healthy cluster.

    One finding is true of a fault, and any other is false, of whatever kind. No other one follows from the fault: it is in the maps, and
    two reduces a node, eight in all, are too few for a verdict on a node or on tasks by themselves."""
    said = report["findings"]
    if expected is None:
        return ["false: " + finding["summary"] for finding in said]
    node, phases = expected
    if not said:
        return [f"no finding on {node}"]
    first, *others = said
    wrong = ["beside it: " + finding["summary"] for finding in others]
    for key, right in (("kind", {"node"}), ("node", {node}), ("stage", {"map"}), ("phase", phases), ("reason", {REASONS[fault]})):
        if first.get(key) not in right:
            wrong.append(f"{key} {first.get(key)}, not {' or '.join(sorted(right))}: {first['summary']}")
    return wrong
