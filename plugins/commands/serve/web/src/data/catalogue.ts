// SPDX-License-Identifier: Apache-2.0
// The metrics of the store. A question for others would be an error, so the page asks only for these.
import { get } from "./api";
import type { Metric } from "./types";

const kFreshMs = 30_000;  // a pipeline that was just started brings new ones

let list: Promise<Metric[]> | null = null;
let since = 0;

export async function all_metrics(): Promise<Metric[]> {
  if (list === null || performance.now() - since > kFreshMs) {
    const asked = get<Metric[]>("metrics");
    list = asked;
    since = performance.now();
    asked.catch(() => {
      if (list === asked) list = null;
    });
  }
  return list;
}

// Those of the names that the store has.
export async function known_of(names: readonly string[]): Promise<string[]> {
  const known = new Set((await all_metrics()).map((metric) => metric.name));
  return names.filter((name) => known.has(name));
}
