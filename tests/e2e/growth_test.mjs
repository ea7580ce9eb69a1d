// SPDX-License-Identifier: Apache-2.0
// The law of growth on planted series: it finds each leak beyond its bound, and nothing in noise, outliers and steps.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { growth, kPerHour } from "./growth.mjs";

const kNotes = 21, kSeconds = 60, kMean = 10_000, kAllowance = 500;
const kHours = ((kNotes - 1) * kSeconds) / 3600, kBound = kPerHour * kMean * kHours + kAllowance;

// Numbers that repeat: sfc32.
function chance(seed) {
  let [a, b, c, count] = [seed, 0x9e3779b9, 0x243f6a88, 1];
  const next = () => {
    const sum = (a + b + count++) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 20; ++i) next();
  return next;
}

function series(random, value_of, noise) {
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Array.from({ length: kNotes }, (_, i) => value_of(i / (kNotes - 1)) + noise * normal());
}

// How many of 1000 series grow.
function found(value_of, noise) {
  let count = 0;
  for (let seed = 1; seed <= 1000; ++seed) if (growth(series(chance(seed), value_of, noise), kSeconds, kAllowance).grows) ++count;
  return count;
}

describe("growth", () => {
  test("rise and bound are those of a straight line", () => {
    for (const rise of [-3000, 0, 200, 5000]) {
      const values = Array.from({ length: kNotes }, (_, i) => kMean - rise / 2 + (rise * i) / (kNotes - 1));
      const { mean, rise: seen, bound } = growth(values, kSeconds, kAllowance);
      for (const [value, expected] of [[mean, kMean], [seen, rise], [bound, kBound]]) assert.ok(Math.abs(value - expected) < 1e-6, `${value} is not ${expected}`);
    }
  });

  test("noise is no growth, however large", () => {
    for (const noise of [0, 50, kAllowance, 10 * kAllowance]) assert.ok(found(() => kMean, noise) <= 4, `noise ${noise}`);
  });

  test("a rise within the bound is no growth", () => {
    assert.equal(found((part) => kMean + 0.9 * kBound * part, 0), 0);
    assert.ok(found((part) => kMean + 0.5 * kBound * part, 0.2 * kBound) <= 10);
  });

  test("a leak of twice the bound is found, in noise too", () => {
    for (const noise of [0, 0.1 * kBound, 0.3 * kBound]) assert.ok(found((part) => kMean + 2 * kBound * part, noise) >= 990, `noise ${noise}`);
  });

  test("a leak that garbage collections hide is found", () => {
    assert.ok(found((part) => kMean + 4 * kBound * part + kAllowance * ((part * 20) % 4), 50) >= 990);
  });

  test("single outliers, a fall and a warm-up that ends are no growth", () => {
    assert.equal(found((part) => (Math.round(part * 20) % 7 === 3 ? 3 * kMean : kMean), 50), 0);
    assert.equal(found((part) => kMean * (2 - part), 50), 0);
    assert.ok(found((part) => (part < 0.15 ? 0.5 * kMean : kMean), 50) <= 10);
  });

  test("a step within the allowance is no growth, a staircase is", () => {
    assert.equal(found((part) => kMean + (part > 0.5 ? 0.8 * kAllowance : 0), 10), 0);
    assert.ok(found((part) => kMean + 0.5 * kBound * Math.floor(5 * part), 10) >= 990);
  });

  test("the bound of a longer run is the growth per hour, not the allowance", () => {
    const days = Array.from({ length: kNotes }, (_, i) => kMean * (1 + (0.2 * 24 * i) / (kNotes - 1)));
    assert.equal(growth(days, (24 * 3600) / (kNotes - 1), kAllowance).grows, days.at(-1) - days[0] > kPerHour * 24 * (days.reduce((a, b) => a + b) / kNotes) + kAllowance);
    const slow = days.map((_, i) => kMean * (1 + (0.05 * 24 * i) / (kNotes - 1)));
    assert.equal(growth(slow, (24 * 3600) / (kNotes - 1), 0).grows, false);
  });
});
