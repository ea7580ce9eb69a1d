// SPDX-License-Identifier: Apache-2.0
// The law of `./dev soak page`: what growth is. Values are equidistant notes of one quantity, such as the memory of a page.

export const kPerHour = 0.1;      // of the mean: so much may a quantity rise
const kSignificant = 3;           // standard errors of Mann and Kendall's statistic: 1 of 700 series without a trend has more

function median(values) {
  const sorted = [...values].sort((a, b) => a - b), half = sorted.length / 2;
  return sorted.length % 2 === 1 ? sorted[Math.floor(half)] : (sorted[half - 1] + sorted[half]) / 2;
}

// `seconds`: between two notes. `allowance`: the rise that counts as none, because the quantity changes in steps or with the data.
// A quantity grows if its median slope (Theil and Sen's) rises by more than the bound over all notes, and chance does not explain the
// order of the values. A few outliers change neither.
export function growth(values, seconds, allowance) {
  const slopes = [];
  let score = 0;
  for (let i = 0; i < values.length; ++i)
    for (let j = i + 1; j < values.length; ++j) {
      slopes.push((values[j] - values[i]) / (j - i));
      score += Math.sign(values[j] - values[i]);
    }
  const n = values.length, mean = values.reduce((sum, value) => sum + value, 0) / n;
  const hours = ((n - 1) * seconds) / 3600, rise = median(slopes) * (n - 1), bound = kPerHour * mean * hours + allowance;
  const errors = score / Math.sqrt((n * (n - 1) * (2 * n + 5)) / 18);
  return { mean, rise, bound, grows: rise > bound && errors > kSignificant };
}
