# SPDX-License-Identifier: Apache-2.0
"""Parts of a table: columns, rows, and goals that are judged from the rows of a results file."""

import statistics
from dataclasses import dataclass
from typing import Callable

PASS, SHORT, UNCLEAR, UNMEASURED = "pass", "short", "inconclusive", "not measured"


@dataclass(frozen=True)
class Goal:
    text: str
    judge: Callable  # of the rows: (figure as text, verdict); raises KeyError for a figure that was not taken


@dataclass(frozen=True)
class Table:
    name: str
    title: str
    text: tuple  # paragraphs of the page about the method
    columns: tuple
    rows: dict  # name of the row: name of the program, or "" for a floor
    goals: tuple
    measure: Callable  # (bench, recorder): fills the rows
    reference: str = ""  # the row that the ratios are against, by the first column
    minutes: int = 5


def figure(numbers, digits=2):
    """Median with the smallest and the largest."""
    middle = f"{statistics.median(numbers):.{digits}f}"
    return middle if len(numbers) == 1 else f"{middle} ({min(numbers):.{digits}f}-{max(numbers):.{digits}f})"


def average_of_pairs(numbers, digits=2):
    """With its 95 % interval."""
    middle = f"{statistics.mean(numbers):.{digits}f}"
    return middle if len(numbers) == 1 else f"{middle} ± {interval(numbers):.{digits}f}"


@dataclass(frozen=True)
class Column:
    key: str
    title: str
    digits: int = 2
    text: Callable = figure  # of a row's values and the digits
    detail: bool = False  # only in the results file: a table of the page has few columns


def values(rows, name, key):
    found = rows[name]["values"][key]
    if not found:
        raise KeyError(key)
    return found


def ratios(rows, one, other, key):
    """`one` over `other` in each round that both have."""
    return [a / b for a, b in zip(values(rows, one, key), values(rows, other, key)) if b]


def verdict(met):
    return PASS if met else SHORT


def at_most(name, key, most, unit, digits=2):
    def judge(rows):
        found = values(rows, name, key)
        return f"{figure(found, digits)} {unit}", verdict(statistics.median(found) <= most)
    return judge


def at_least(name, key, least, unit, digits=2):
    def judge(rows):
        found = values(rows, name, key)
        return f"{figure(found, digits)} {unit}", verdict(statistics.median(found) >= least)
    return judge


def between(name, key, least, most, unit, digits=2):
    def judge(rows):
        found = values(rows, name, key)
        return f"{figure(found, digits)} {unit}", verdict(least <= statistics.median(found) <= most)
    return judge


def fraction(one, other, key, of):
    """`one` costs at most 1/of of `other`."""
    def judge(rows):
        found = ratios(rows, other, one, key)
        return f"1/{figure(found, 1)}", verdict(statistics.median(found) >= of)
    return judge


def times(one, other, key, most):
    """`one` costs at most `most` times `other`."""
    def judge(rows):
        found = ratios(rows, one, other, key)
        return f"{figure(found)} times", verdict(statistics.median(found) <= most)
    return judge


def loss(name, key, most, excluded=None):
    """A loss in per cent from pairs of runs, as design rules judge it: at most this, or not distinguishable from 0; noise above 2 % and fewer
    than 15 pairs are inconclusive. `excluded`: a value that must be above the interval."""
    def judge(rows):
        found = values(rows, name, key)
        mean, half = statistics.mean(found), interval(found)
        text = f"{mean:.2f} % ± {half:.2f} (95 %, {len(found)} pairs)" if len(found) > 1 else f"{mean:.2f} % (1 pair)"
        if len(found) < 15 or half > 2:
            return text, UNCLEAR
        if excluded is not None and mean + half >= excluded:
            return text, UNCLEAR if mean <= most else SHORT
        return text, verdict(mean <= most or mean - half <= 0)
    return judge


def interval(numbers):
    """Half of the 95 % interval of a mean, by Student's t for 14 degrees of freedom (more pairs: a little wide)."""
    return 2.14 * statistics.stdev(numbers) / len(numbers) ** 0.5 if len(numbers) > 1 else float("inf")
