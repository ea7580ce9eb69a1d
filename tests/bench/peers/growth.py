# SPDX-License-Identifier: Apache-2.0
"""How a cost grows with a number: rows of one kind, one for each number, with a goal for the exponent."""

import math
import statistics

from peers.table import Goal, values, verdict

LINEAR = 1.1  # exponent of a cost that counts as linear: the rest is noise


def exponent(numbers, costs):
    """e of costs like a + b * number ** e: the slope of the logarithms of the differences from the first cost and the first number. At most 0:
    they do not grow. As the first number is subtracted too, exactly 1 for a line whatever its start; of a square it is a little below 2."""
    above = [(number - numbers[0], cost - costs[0]) for number, cost in zip(numbers[1:], costs[1:])]
    if len(above) < 2:
        raise KeyError("two numbers above the first are needed")
    if above[-1][1] <= 0:
        return 0.0
    points = [(math.log(number), math.log(cost)) for number, cost in above if cost > 0]
    if len(points) < 2:
        raise KeyError("the costs of two numbers are above the first")
    return statistics.linear_regression(*zip(*points)).slope


def fitted(numbers, costs):
    """(cost of one more, cost of none): the line with the least squares of relative errors, so that small numbers count as much as large ones."""
    weights = [1 / cost**2 for cost in costs]
    total = sum(weights)
    number_mean = sum(w * n for w, n in zip(weights, numbers)) / total
    cost_mean = sum(w * c for w, c in zip(weights, costs)) / total
    slope = (sum(w * (n - number_mean) * (c - cost_mean) for w, n, c in zip(weights, numbers, costs))
             / sum(w * (n - number_mean) ** 2 for w, n in zip(weights, numbers)))
    return slope, cost_mean - slope * number_mean


def medians(rows, names, key):
    """Numbers and the medians of their costs, of the rows that were measured. `names`: number -> row."""
    found = []
    for number, name in names.items():
        try:
            found.append((number, statistics.median(values(rows, name, key))))
        except KeyError:
            continue
    return tuple(zip(*found)) if found else ((), ())


def linear(what, names, key, unit, most=LINEAR):
    """The goal that a cost is linear, or better, in the numbers of these rows. `unit` is of the cost."""
    def judge(rows):
        numbers, costs = medians(rows, names, key)
        found = exponent(numbers, costs)
        slope, _ = fitted(numbers, costs)
        return f"exponent {found:.2f} from {numbers[0]:,} to {numbers[-1]:,}; {1000 * slope:.3g} {unit} for 1,000 more", verdict(found <= most)
    return Goal(f"{what}: exponent at most {most}", judge)
