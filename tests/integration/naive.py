# SPDX-License-Identifier: Apache-2.0
"""The meaning of a query, in the simplest form: docs/reference/query.md in Python, to compare the real results with."""

import bisect
import math


def rate(points):
    """Changes per second from reading to reading; a decrease is a reset and leaves nothing."""
    times = sorted(points)
    return {now: (points[now] - points[before]) / (now - before)
            for before, now in zip(times, times[1:]) if points[now] >= points[before]}


FUNCTIONS = {
    "sum": sum, "avg": lambda values: sum(values) / len(values), "min": min, "max": max, "count": len,
    "first": lambda values: values[0], "last": lambda values: values[-1],
    "dev": lambda values: math.sqrt(sum((value - sum(values) / len(values)) ** 2 for value in values) / len(values)),
    "zimsum": sum, "mimmin": min, "mimmax": max,
}


def percentile(values, percent):
    values = sorted(values)
    rank = percent * (len(values) + 1) / 100
    if rank < 1:
        return values[0]
    if rank >= len(values):
        return values[-1]
    below = int(rank)
    return values[below - 1] + (rank - below) * (values[below] - values[below - 1])


def applied(function, values):
    return percentile(values, float(function[1:])) if function[0] == "p" else FUNCTIONS[function](values)


def downsample(points, every, function, by_end):
    """One value an interval: (begin, end] named by its end, or [begin, end) named by its begin."""
    intervals = {}
    for time in sorted(points):
        name = -(-time // every) * every if by_end else time // every * every
        intervals.setdefault(name, []).append(points[time])
    return {name: applied(function, values) for name, values in intervals.items()}


def value_at(points, times, time, function):
    """Value of a series at a time at which another one has a point; None: nothing. `times` are the times of the series, in order."""
    if time in points:
        return points[time]
    after = bisect.bisect(times, time)
    if after in (0, len(times)):
        return None
    if function in ("count", "first", "last"):
        return 0
    if function in ("zimsum", "mimmin", "mimmax"):
        return None
    t0, t1 = times[after - 1], times[after]
    return points[t0] + (points[t1] - points[t0]) * (time - t0) / (t1 - t0)


def merge(all_points, function):
    members = [(points, sorted(points)) for points in all_points]
    result = {}
    for time in sorted({time for points in all_points for time in points}):
        values = [value_at(points, times, time, function) for points, times in members]
        values = [value for value in values if value is not None]
        result[time] = applied(function, values)
    return result


def answer(series, metric, tags, begin, end, function, group_by=(), every=None, inner=None, rated=False, by_end=True):
    """{values of the keys: {second: value}} of the points in [begin, end]; `series` is [(metric, tags, {second: value})]."""
    groups = {}
    for name, own, points in sorted(series, key=lambda one: sorted(one[1].items())):
        if name != metric or any(own.get(key) != value for key, value in tags.items()):
            continue
        points = {time: value for time, value in points.items() if begin <= time <= end}
        if rated:
            points = rate(points)
        if every:
            points = downsample(points, every, inner, by_end)
        if points:
            groups.setdefault(tuple(own.get(key, "") for key in group_by), []).append(points)
    return {key: merge(members, function) for key, members in groups.items()}
