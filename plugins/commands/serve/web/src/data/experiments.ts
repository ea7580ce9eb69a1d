// SPDX-License-Identifier: Apache-2.0
// Experiments and their workloads as named times.
import { get } from "./api";
import { now } from "./time";
import type { Experiment, Span } from "./types";

export interface NamedTime extends Span {
  label: string;
}

export async function named_times(): Promise<NamedTime[]> {
  const list = await get<Experiment[]>("experiments");
  const named = (label: string, one: { from: number; to: number | null }): NamedTime => ({ label, from: one.from, to: Math.max(one.to ?? now(), one.from + 1000) });
  return list.flatMap((one) => [named(one.name, one), ...one.workloads.map((workload) => named(`${one.name}, ${workload.name}`, workload))]);
}
