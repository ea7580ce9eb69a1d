# SPDX-License-Identifier: Apache-2.0
"""A reader of the PromQL in examples/grafana: only selectors, sum|avg|min|max|count|topk by|without, rate|increase|*_over_time,
arithmetic, comparison and offset. It finds the unit and the labels of a result from those of the metrics."""

import collections
import re

AGGREGATIONS = ("sum", "avg", "min", "max", "count", "topk")
RANGE_FUNCTIONS = ("rate", "increase", "sum_over_time", "avg_over_time", "min_over_time", "max_over_time", "count_over_time")
TOKEN = re.compile(r"""\s*(?:(?P<duration>(?:\d+(?:ms|[smhdwy]))+\b)|(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?\b)|(?P<word>[A-Za-z_:][\w:]*)
                       |(?P<text>"(?:[^"\\]|\\.)*")|(?P<sign>=~|!~|!=|==|>=|<=|[-+*/%^(){},=<>])|\[(?P<range>[^\]]*)\])""", re.X)
DURATION = re.compile(r"(?:\d+(?:ms|[smhdwy]))+")

# `scale` and `seconds`: the unit is scale * base * s^seconds.
Unit = collections.namedtuple("Unit", "base scale seconds")
Metric = collections.namedtuple("Metric", "name unit kind tags")
# `labels` is a set. `number`: the value of a literal. `metric`: the metric of a plain selector. `ranged`: a selector with a range.
Result = collections.namedtuple("Result", "unit labels number metric ranged", defaults=(None, None, False))
ONE = Unit("1", 1, 0)


class Wrong(Exception):
    """The expression is not in the subset, or has no meaning for these metrics."""


def same(a, b):
    return a.base == b.base and a.seconds == b.seconds and abs(a.scale / b.scale - 1) < 1e-9


class Parser:
    """`metrics`: Metric by its name with underscores. `numbers`: Unit of names that stand for a number (Grafana's $__interval_ms)."""

    def __init__(self, text, metrics, numbers=None):
        self.metrics, self.numbers, self.used, self.tokens = metrics, numbers or {}, [], []
        at = 0
        while text[at:].strip():
            found = TOKEN.match(text, at)
            if not found:
                raise Wrong(f"no token at {text[at:at + 20]!r}")
            self.tokens.append((found.lastgroup, found.group(found.lastgroup)))
            at = found.end()
        self.at = 0

    def result(self):
        result = self.comparison()
        if self.at != len(self.tokens):
            raise Wrong(f"unexpected {self.tokens[self.at][1]!r}")
        if result.ranged:
            raise Wrong("a range without a function")
        return result

    def peek(self, *values):
        return self.at < len(self.tokens) and self.tokens[self.at][0] in ("sign", "word") and self.tokens[self.at][1] in values

    def take(self, *values):
        if not self.peek(*values):
            return None
        self.at += 1
        return self.tokens[self.at - 1][1]

    def need(self, kind, value=None):
        found = self.tokens[self.at] if self.at < len(self.tokens) else ("end", "the end")
        if found[0] != kind or value not in (None, found[1]):
            raise Wrong(f"expected {value or kind}, found {found[1]!r}")
        self.at += 1
        return found[1]

    def comparison(self):
        left = self.sum()
        while self.take("==", "!=", ">", "<", ">=", "<="):
            right = self.sum()
            if right.number is None and not same(left.unit, right.unit):
                raise Wrong("comparison of two units")
        return left

    def sum(self):
        left = self.product()
        while self.take("+", "-"):
            right = self.product()
            if not same(left.unit, right.unit):
                raise Wrong("sum of two units")
            left = self.paired(left, right, left.unit)
        return left

    def product(self):
        left = self.unary()
        while sign := self.take("*", "/"):
            right = self.unary()
            direction = 1 if sign == "*" else -1
            # A literal converts the unit: the value grows, so the unit shrinks.
            scale = 1 / right.number if right.number is not None else right.unit.scale
            base = left.unit.base
            if right.unit.base != "1":
                if base != right.unit.base or sign == "*":
                    raise Wrong("product of two units")
                base = "1"
            unit = Unit(base, left.unit.scale * scale ** direction, left.unit.seconds + direction * right.unit.seconds)
            left = self.paired(left, right, unit)
        return left

    @staticmethod
    def paired(left, right, unit):
        if left.ranged or right.ranged:
            raise Wrong("arithmetic with a range")
        if left.labels is not None and right.labels is not None and left.labels != right.labels:
            raise Wrong(f"operands have the labels {sorted(left.labels)} and {sorted(right.labels)}")
        return Result(unit, right.labels if left.labels is None else left.labels)

    def unary(self):
        if self.take("("):
            inner = self.comparison()
            self.need("sign", ")")
            return inner
        kind, value = self.tokens[self.at] if self.at < len(self.tokens) else ("end", "the end")
        if kind == "number":
            self.at += 1
            return Result(ONE, None, float(value))
        name = self.need("word")
        if name in self.numbers:
            return Result(self.numbers[name], None)
        if name in AGGREGATIONS:
            return self.aggregation(name)
        if name in RANGE_FUNCTIONS:
            return self.range_function(name)
        return self.selector(name)

    def grouping(self):
        word = self.take("by", "without")
        if not word:
            return None
        labels = set()
        self.need("sign", "(")
        while not self.take(")"):
            labels.add(self.need("word"))
            self.take(",")
        return word, labels

    def aggregation(self, name):
        grouping = self.grouping()
        self.need("sign", "(")
        if name == "topk":
            self.need("number")
            self.need("sign", ",")
        inner = self.comparison()
        self.need("sign", ")")
        grouping = grouping or self.grouping()
        if inner.ranged or inner.labels is None:
            raise Wrong(f"{name} needs series")
        labels = inner.labels
        if name != "topk":
            labels = set() if grouping is None else grouping[1] if grouping[0] == "by" else inner.labels - grouping[1]
        if not labels <= inner.labels:
            raise Wrong(f"no label {sorted(labels - inner.labels)} in the operand of {name}")
        return Result(ONE if name == "count" else inner.unit, labels)

    def range_function(self, name):
        self.need("sign", "(")
        inner = self.comparison()
        self.need("sign", ")")
        if not inner.ranged:
            raise Wrong(f"{name} needs a range")
        kind = inner.metric.kind
        if (name in ("rate", "increase")) != (kind == "total") or (name == "sum_over_time") != (kind == "delta"):
            raise Wrong(f"{name} of {inner.metric.name}, which is of the kind {kind}")
        unit = ONE if name == "count_over_time" else inner.unit
        return Result(unit._replace(seconds=unit.seconds - 1) if name == "rate" else unit, inner.labels)

    def selector(self, name):
        metric = self.metrics.get(name)
        if not metric:
            raise Wrong(f"{name} is no metric, and no function of the subset")
        self.used.append(metric)
        if self.take("{"):
            while not self.take("}"):
                label = self.need("word")
                if label not in metric.tags:
                    raise Wrong(f"{name} has no tag {label}")
                if not self.take("=", "!=", "=~", "!~"):
                    raise Wrong("a matcher without a sign")
                self.need("text")
                self.take(",")
        ranged = self.at < len(self.tokens) and self.tokens[self.at][0] == "range"
        if ranged and not DURATION.fullmatch(self.need("range")):
            raise Wrong("a range that is no duration")
        if self.take("offset"):
            self.need("duration")
        if metric.kind == "delta" and not ranged:
            raise Wrong(f"{name} is a delta: its amount depends on the step without sum_over_time")
        return Result(metric.unit, set(metric.tags), None, metric, ranged)
