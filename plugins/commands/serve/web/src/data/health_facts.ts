// SPDX-License-Identifier: Apache-2.0
// The agent's status (`atalaya status --format json`) and its features (`atalaya doctor --format json`), as far as the page knows them.
// They come from another program: nothing is trusted.

export interface Stage {
  pipeline: string;
  component: string;
  type: string;
  numbers: Record<string, number>;
  reasons: [string, number][];
}
export interface Status {
  balanced: boolean | null;
  version: string;
  uptime: number | null;
  file: string;
  stages: Stage[];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function stage_of(entry: unknown): Stage | null {
  if (typeof entry !== "object" || entry === null) return null;
  const fields = entry as Record<string, unknown>;
  const numbers: Record<string, number> = {};
  for (const [key, value] of Object.entries(fields)) if (typeof value === "number") numbers[key] = value;
  const reasons = typeof fields.reasons === "object" && fields.reasons !== null ? Object.entries(fields.reasons) : [];
  return {
    pipeline: text(fields.pipeline),
    component: text(fields.component),
    type: text(fields.type),
    numbers,
    reasons: reasons.filter((pair): pair is [string, number] => typeof pair[1] === "number"),
  };
}

export function status_of(value: unknown): Status | null {
  if (typeof value !== "object" || value === null) return null;
  const fields = value as Record<string, unknown>;
  const ledger = Array.isArray(fields.ledger) ? fields.ledger : [];
  return {
    balanced: typeof fields.balanced === "boolean" ? fields.balanced : null,
    version: text(fields.version),
    uptime: typeof fields.uptime === "number" ? fields.uptime : null,
    file: text(fields.file),
    stages: ledger.map(stage_of).filter((stage): stage is Stage => stage !== null),
  };
}

// Stages that an operator should look at, with the reason. Samples that a filter removed are no loss.
export function troubles(status: Status): string[] {
  const found: string[] = [];
  if (status.balanced === false) found.push("The ledger is not balanced");
  for (const stage of status.stages) {
    const where = `${stage.pipeline}, ${stage.component}`;
    for (const [reason, count] of stage.reasons) if (reason !== "filtered" && count > 0) found.push(`${where}: ${count} samples dropped (${reason})`);
    for (const [key, words] of [["dead_letter", "dead letters"], ["errors", "errors"], ["gaps", "gaps"], ["restarts", "restarts"]] as const) {
      const count = stage.numbers[key] ?? 0;
      if (count > 0) found.push(`${where}: ${count} ${words}`);
    }
  }
  return found;
}

export interface Feature {
  feature: string;
  kind: string;
  state: string;  // on, off or unknown
  needs: { name: string; missing: string; remedy: string }[];  // that are not met
}

function objects(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter((entry): entry is Record<string, unknown> => typeof entry === "object" && entry !== null) : [];
}

function feature_of(entry: Record<string, unknown>): Feature {
  const needs = objects(entry.needs).filter((need) => need.met !== "yes").map((need) => ({ name: text(need.name), missing: text(need.if_missing), remedy: text(need.remedy) }));
  const problem = text(entry.problem);
  return {
    feature: text(entry.feature),
    kind: text(entry.kind),
    state: text(entry.state) || "unknown",
    needs: problem === "" ? needs : [{ name: "plugin", missing: problem, remedy: "" }, ...needs],
  };
}

// Those that are off first, then unknown ones. Null: no list of features.
export function features_of(value: unknown): Feature[] | null {
  if (!Array.isArray(value)) return null;
  const order = (feature: Feature) => Math.max(["off", "unknown", "on"].indexOf(feature.state), 0);
  return objects(value).map(feature_of).sort((a, b) => order(a) - order(b));
}
