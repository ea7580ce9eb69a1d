// SPDX-License-Identifier: Apache-2.0
// An answer has the intervals in which some series has a value. A chart would draw a line over the time between two of them.
type Values = (number | null)[];

// A distance that most intervals do not exceed: sources may be slower than the interval. As in plots of the command.
function usual(times: readonly number[], every: number): number {
  const distances = times.slice(1).map((time, i) => time - times[i]!).sort((a, b) => a - b);
  return Math.max(every, distances[Math.floor(distances.length / 5)] ?? 0);
}

// With an interval without a value after each one that none follows within two and a half usual distances.
export function with_gaps(times: readonly number[], every: number, columns: readonly Values[]): [number[], ...Values[]] {
  const most = 2.5 * usual(times, every);
  const at = times.flatMap((time, i) => (i > 0 && time - times[i - 1]! > most ? [null, i] : [i]));
  return [at.map((i, place) => (i === null ? times[at[place - 1]!]! + every : times[i]!)), ...columns.map((values) => at.map((i) => (i === null ? null : values[i] ?? null)))];
}
