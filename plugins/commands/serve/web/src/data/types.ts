// SPDX-License-Identifier: Apache-2.0
// The answers of /api/page. Times are integer milliseconds since the epoch; unknown values are null.

export type Tags = Record<string, string>;
export interface Span {
  from: number;
  to: number;
}

export interface Info {
  now: number;
  version: string;
  store: { name: string; kind: string; from: number | null; to: number | null };
  hosts: string[];
  utc_offset_minutes: number;
}

export interface Metric {
  name: string;
  unit: string | null;
  kind: string;
  decimals: number | null;
  summary: string;
}

export interface TagValues {
  tags: Record<string, string[]>;
  more: boolean;
}

export interface Series {
  name: string;
  tags: Tags;
  values: (number | null)[];
  other?: boolean;  // the sum of those that are not listed
}
export interface SeriesAnswer {
  metric: string;
  unit: string | null;
  kind: string;
  every: number;
  times: number[];
  series: Series[];
  warnings: string[];
}

export interface Column {
  name: string;
  label: string;
  unit: string | null;
  decimals: number | null;
}
export interface ProcessRow {
  host: string | null;
  pid: string | number | null;  // of processes that ended: null
  process: string | null;
  container: string | null;
  values: (number | null)[];
}
export interface Processes extends Span {
  seconds: number;
  columns: Column[];
  rows: ProcessRow[];
  total: number;
  other: { count: number; values: (number | null)[] };  // the sums of the processes without a row
}

export interface StoredSpan {
  kind: string;
  name: string;
  from: number;
  to: number | null;
  open: boolean;
  tags: Tags;
  fields: Record<string, number | null>;
}
export interface Finding {
  cause: boolean;
  sentence: string;
  resource: string;
  unit: string;
  difference: number;
  parts: { name: string; difference: number }[];
  other: { count: number; difference: number };
  functions: { name: string; before: number; after: number }[];
  peers: { remote: string; before: number; after: number }[];
}
export interface Explanation {
  range: { from: number; to: number };
  baseline: { from: number; to: number };
  findings: Finding[];
  facts: { fact: string; before: string; after: string; time: number }[];
  ruledOut: { name: string }[];
  statistics: string;
  notes: string[];
}
export interface Process {
  identity: Tags;
  metrics: { name: string; unit: string | null; kind: string }[];
  stacks: boolean;
  flows: boolean;
  jvm: boolean;
  phases: StoredSpan[];
}

export interface Flamegraph {
  svg: string;
  total: number;
  unit: "samples" | "ns";
  profiles: string[];
  empty: string | null;
  differences: string | null;  // of slow tasks: a function per line
}

export interface TrafficNode {
  host: string | null;
  name: string;
  command: string | null;
  pid: string | number | null;
  outside: boolean;
  cpu: number | null;
  memory: number | null;
}
export interface Traffic {
  svg: string;
  nodes: TrafficNode[];
  edges: { from: number; to: number; bytes: number }[];
  total: number;
  estimated: number;  // the part of the total that was divided among several processes
}
export interface Matrix {
  names: string[];
  values: (number | null)[][];
  unit: string;
}

export interface Jvms {
  count: number;
  rate_hz: number | null;
  functions: {
    name: string;
    self: number | null;
    self_share: number | null;
    samples: number | null;
    samples_share: number | null;
  }[];
  jvms: {
    host: string | null;
    pid: string | number | null;
    process: string | null;
    rate: number | null;
    cost: number | null;
    version: string | null;
    vm: string | null;
    collector: string | null;
  }[];
  detail: null | {
    name: string;
    trace: string[];
    callers: { name: string | null; self_share: number | null; samples_share: number | null }[];
    jvms: { host: string | null; pid: string | number | null; process: string | null; self: number | null }[];
  };
}

export interface Job {
  id: string;
  name: string | null;
  kind: string | null;
  from: number;
  to: number | null;
  state: string | null;
  tasks: number;
}
export interface Phase {
  name: string;
  from: number;
  to: number | null;
}
export interface Task {
  id: string;
  node: string | null;
  stage: string | null;
  attempt: string | null;
  from: number;
  to: number | null;
  state: string | null;
  slow: boolean;  // a bottleneck of its phase
  on_path: boolean;  // the job waited for it
  grade: number | null;  // of its speed: 1 is the highest, 5 the lowest
  phases: Phase[];
}
export interface Evidence {
  text?: string;
}
export interface CriticalPath {
  seconds: number;
  parts: { name: string; seconds: number }[];
  steps: { task: string | null; after: string; from: number; to: number }[];  // in order of time; a gap has no task
  predictions: { change: string; seconds: number }[];
  rough: boolean;
}
export interface TaskWaits {
  reasons: { name: string; seconds: number }[];  // of all its waits
  owners: { name: string; seconds: number }[];   // of those during bursts
}
export interface JobDetail {
  job: Job;
  path: CriticalPath | null;
  tasks: Task[];
  slow_per_node: { node: string | null; count: number }[];
  findings: { text: string; node: string | null; evidence: (string | Evidence)[] }[];
  notes: string[];
  more: boolean;  // tasks that are not listed
}

export interface Experiment {
  name: string;
  from: number;
  to: number | null;
  workloads: { name: string; from: number; to: number | null }[];
}

export interface Health {
  status: unknown;
  reason: string | null;
}

export interface Doctor {
  doctor: unknown;
  reason: string | null;
}
