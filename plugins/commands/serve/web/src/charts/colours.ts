// SPDX-License-Identifier: Apache-2.0
// Colours of series. Okabe and Ito's, which colour-blind readers can distinguish; then lighter and darker ones of the same hues. A
// name keeps its colour in all charts, tables and views, also after a reload.
import { is_dark } from "../frame/theme";

const kLight = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b5a300", "#7a5ea8"];
const kDark = ["#4aa3df", "#f0b23c", "#2fc79a", "#dd98bf", "#8cd0f5", "#f08a4b", "#e8dc5a", "#ab93d6"];
const kOther = ["#9aa1a9", "#6d757e"];
const kTones = 3, kKey = "atalaya-colours";

let taken: Map<string, number> | null = null;

function slots(): Map<string, number> {
  if (taken !== null) return taken;
  taken = new Map();
  try {
    const stored = JSON.parse(sessionStorage.getItem(kKey) ?? "[]") as unknown;
    if (Array.isArray(stored))
      for (const [name, slot] of stored as [unknown, unknown][])
        if (typeof name === "string" && typeof slot === "number" && slot >= 0 && slot < kLight.length * kTones) taken.set(name, slot);
  } catch {
    taken.clear();
  }
  return taken;
}

function hash(name: string): number {
  let value = 2166136261;
  for (let i = 0; i < name.length; ++i) value = Math.imul(value ^ name.charCodeAt(i), 16777619) >>> 0;
  return value >>> 8;
}

// The wanted hue if it is free, else the next free one, first in the clearest tone.
function slot_of(name: string): number {
  const map = slots();
  const known = map.get(name);
  if (known !== undefined) return known;
  const hues = kLight.length;
  const wanted = hash(name) % hues;
  const used = new Set(map.values());
  let slot = wanted + hues * (hash(name) % kTones);
  for (let i = 0; i < hues * kTones; ++i) {
    const candidate = ((wanted + i) % hues) + hues * Math.floor(i / hues);
    if (used.has(candidate)) continue;
    slot = candidate;
    map.set(name, slot);
    sessionStorage.setItem(kKey, JSON.stringify([...map]));
    break;
  }
  return slot;
}

function mixed(colour: string, with_white: number): string {
  const part = (at: number) => {
    const value = parseInt(colour.slice(at, at + 2), 16);
    const target = with_white > 0 ? 255 : 0;
    return Math.round(value + (target - value) * Math.abs(with_white)).toString(16).padStart(2, "0");
  };
  return `#${part(1)}${part(3)}${part(5)}`;
}

export function rest_colour(): string {
  return kOther[is_dark() ? 1 : 0]!;
}

function tone(slot: number): string {
  const hues = is_dark() ? kDark : kLight;
  return mixed(hues[slot % hues.length]!, [0, 0.4, -0.35][Math.floor(slot / hues.length) % kTones]!);
}

// Of series that are no processes: by their order.
export function colour_at(i: number): string {
  return tone(i);
}

export function colour_of(name: string): string {
  return tone(slot_of(name));
}

// Five grades, from fast to very slow: light to dark, so that they differ without colours too.
export function grade_colour(grade: number): string {
  return ["#c7e5f2", "#7fbfdc", "#f2c14e", "#e07b39", "#b3261e"][Math.max(0, Math.min(4, grade - 1))]!;
}

// 0 to 1, from the background to full.
export function heat_colour(part: number): string {
  const value = Math.max(0, Math.min(1, part));
  const [from, to] = is_dark() ? [[23, 28, 34], [86, 180, 233]] : [[255, 255, 255], [0, 90, 156]];
  return `rgb(${from!.map((start, i) => Math.round(start + (to![i]! - start) * value)).join(" ")})`;
}
