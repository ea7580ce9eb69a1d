// SPDX-License-Identifier: Apache-2.0
// Stacked areas for uPlot. Its own bands clip each area by the one below, which takes much longer for many areas than to draw them.
import uPlot from "uplot";

// The polygon between the steps of a series and those of the series `below` (0: the base line). Both have values at the same times;
// a value holds from the time before to its own.
export function area_path(below: number): uPlot.Series.PathBuilder {
  return (u, index, first, last) => {
    const fill = new Path2D(), stroke = new Path2D();
    uPlot.orient(u, index, (_series, times, values, scale_x, scale_y, x_of, y_of, left, top, width, height) => {
      const x = times.map((time) => Math.round(x_of(time, scale_x, width, left)));
      const levels = (of: ArrayLike<number | null | undefined>) => Array.from(of, (value) => Math.round(y_of(value ?? 0, scale_y, height, top)));
      const upper = levels(values), lower = levels(below === 0 ? new Array<number>(x.length).fill(0) : u.data[below]!);
      for (const [from, to] of known_runs(values, first, last)) {
        const edge = steps(x, upper, from, to);
        add(stroke, edge);
        add(fill, edge.concat(steps(x, lower, from, to).reverse()));
        fill.closePath();
      }
    });
    return { stroke, fill, flags: 0 };
  };
}

type Corner = [x: number, y: number];

function* known_runs(values: ArrayLike<number | null | undefined>, first: number, last: number): Generator<[number, number]> {
  for (let from = first, to; from <= last; from = to + 1) {
    for (to = from; to <= last && typeof values[to] === "number"; ) ++to;
    if (to > from) yield [from, to - 1];
  }
}

function steps(x: readonly number[], y: readonly number[], from: number, to: number): Corner[] {
  const corners: Corner[] = [];
  for (let i = from; i <= to; ++i) {
    if (i === from || y[i] !== y[i - 1]) corners.push([x[Math.max(from, i - 1)]!, y[i]!]);
    if (i === to || y[i] !== y[i + 1]) corners.push([x[i]!, y[i]!]);
  }
  return corners;
}

function add(path: Path2D, corners: readonly Corner[]): void {
  corners.forEach(([x, y], i) => (i === 0 ? path.moveTo(x, y) : path.lineTo(x, y)));
}
