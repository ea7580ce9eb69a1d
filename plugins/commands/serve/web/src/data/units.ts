// SPDX-License-Identifier: Apache-2.0
// Values and units (UCUM) as readers expect them: KiB, MiB and GiB, "% of one core", ms.

interface Scale {
  factor: number;  // to the base unit
  base: "B" | "bit" | "s";
  per: string;
}

const kScales: Record<string, Scale> = {
  By: { factor: 1, base: "B", per: "" },
  KiBy: { factor: 1024, base: "B", per: "" },
  MiBy: { factor: 1024 ** 2, base: "B", per: "" },
  GiBy: { factor: 1024 ** 3, base: "B", per: "" },
  "By/s": { factor: 1, base: "B", per: "/s" },
  "MiBy/s": { factor: 1024 ** 2, base: "B", per: "/s" },
  "Mibit/s": { factor: 1024 ** 2, base: "bit", per: "/s" },
  ns: { factor: 1e-9, base: "s", per: "" },
  us: { factor: 1e-6, base: "s", per: "" },
  ms: { factor: 1e-3, base: "s", per: "" },
  s: { factor: 1, base: "s", per: "" },
  "ms/s": { factor: 1e-3, base: "s", per: "/s" },
  "s/s": { factor: 1, base: "s", per: "/s" },
};
const kPlain: Record<string, string> = { Cel: "°C", "{core}": "cores", "1": "", "/s": "/s", "/min": "/min", W: "W", J: "J", MHz: "MHz", "%": "%" };
const kBinary = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
const kThousands = ["", "k", "M", "G", "T"];

// At most 4 digits that mean something, without zeros at the end.
export function digits(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000) return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const decimals = size >= 100 ? 1 : size >= 1 ? 2 : Math.min(8, 2 - Math.floor(Math.log10(size)));
  return String(Number(value.toFixed(decimals)));
}

// All digits, in groups.
export function count_text(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

function scaled(value: number, step: number, names: readonly string[]): [number, string] {
  let size = 0;
  let rest = value;
  while (Math.abs(rest) >= step && size + 1 < names.length) {
    rest /= step;
    ++size;
  }
  return [rest, names[size]!];
}

function seconds(value: number, per: string): string {
  const size = Math.abs(value);
  if (size === 0) return `0 s${per}`;
  if (size < 1e-6) return `${digits(value * 1e9)} ns${per}`;
  if (size < 1e-3) return `${digits(value * 1e6)} µs${per}`;
  if (size < 1) return `${digits(value * 1e3)} ms${per}`;
  if (size < 120 || per !== "") return `${digits(value)} s${per}`;
  return size < 7200 ? `${digits(value / 60)} min` : `${digits(value / 3600)} h`;
}

export function value_text(value: number | null | undefined, unit: string | null): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const scale = unit === null ? undefined : kScales[unit];
  if (scale?.base === "s") return seconds(value * scale.factor, scale.per);
  if (scale !== undefined) {
    const [rest, prefix] = scaled(value * scale.factor, 1024, kBinary);
    return `${digits(rest)} ${prefix}${scale.base}${scale.per}`;
  }
  const name = unit === null ? "" : kPlain[unit] ?? unit;
  if (unit === "%" || unit === "Cel") return `${digits(value)} ${name}`;
  const [rest, prefix] = Math.abs(value) >= 1e4 ? scaled(value, 1000, kThousands) : [value, ""];
  return `${digits(rest)} ${prefix}${name}`.trim();
}

// A share of all CPUs can be above 100 %; then the reader needs to know of which whole it is.
export function unit_text(metric: string, unit: string | null): string {
  if (unit === "%" && /^(proc|sys|cgroup|self)\.cpu\./.test(metric)) return "% of one core";
  const scale = unit === null ? undefined : kScales[unit];
  if (scale !== undefined) return scale.base === "s" ? `time${scale.per}` : `${scale.base === "B" ? "bytes" : "bits"}${scale.per}`;
  return unit === null ? "" : kPlain[unit] ?? unit;
}

// Distances between the marks of an axis, in the unit of its values. Undefined: decimal ones.
export function axis_steps(unit: string | null): number[] | undefined {
  const scale = unit === null ? undefined : kScales[unit];
  if (scale === undefined || scale.base === "s") return undefined;
  return Array.from({ length: 60 }, (_, i) => 2 ** (i - 4) / scale.factor);
}

export function share_text(share: number | null): string {
  return share === null ? "–" : `${digits(100 * share)} %`;
}
