// SPDX-License-Identifier: Apache-2.0
// Times of the server: its clock and its zone, whatever the clock and the zone of the browser are.
import type { Span } from "./types";

const kSecond = 1000, kMinute = 60 * kSecond, kHour = 60 * kMinute, kDay = 24 * kHour;

let ahead = 0;  // of the server's clock
let zone = 0;   // minutes east of UTC

export function set_clock(server_now: number, utc_offset_minutes: number): void {
  ahead = server_now - Date.now();
  zone = utc_offset_minutes;
}

export function now(): number {
  return Date.now() + ahead;
}

// Its UTC fields are the server's local ones.
function local(ms: number): Date {
  return new Date(ms + zone * kMinute);
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

export function zone_text(): string {
  if (zone === 0) return "UTC";
  const minutes = Math.abs(zone);
  return `UTC${zone < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

export function date_text(ms: number): string {
  const date = local(ms);
  return `${date.getUTCFullYear()}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}`;
}

export function clock_text(ms: number, seconds = true): string {
  const date = local(ms);
  const text = `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}`;
  return seconds ? `${text}:${two(date.getUTCSeconds())}` : text;
}

export function moment_text(ms: number): string {
  return `${date_text(ms)} ${clock_text(ms)}`;
}

export function duration_text(ms: number): string {
  const value = Math.abs(ms);
  if (value < kSecond) return `${Math.round(value)} ms`;
  const steps: [number, string][] = [[kDay, "d"], [kHour, "h"], [kMinute, "min"], [kSecond, "s"]];
  const at = steps.findIndex(([length]) => value >= length);
  const [length, unit] = steps[at]!;
  const whole = Math.floor(value / length);
  const next = steps[at + 1];
  if (next === undefined) return `${value < 10 * kSecond ? Math.round(value / 100) / 10 : Math.round(value / kSecond)} s`;
  const rest = Math.floor((value - whole * length) / next[0]);
  return rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${next[1]}`;
}

export function span_text(span: Span): string {
  const same_day = date_text(span.from) === date_text(span.to);
  const today = date_text(span.from) === date_text(now());
  const start = same_day && today ? clock_text(span.from) : moment_text(span.from);
  return `${start} – ${same_day ? clock_text(span.to) : moment_text(span.to)}`;
}

// "15m", "1h": the ranges that move with the clock.
export function relative_ms(text: string): number | null {
  const found = /^(\d{1,6})(s|m|h|d)$/.exec(text);
  if (found === null) return null;
  const unit = { s: kSecond, m: kMinute, h: kHour, d: kDay }[found[2] as "s" | "m" | "h" | "d"];
  return Number(found[1]) * unit;
}

const kSteps = [1, 2, 5, 10, 15, 30].map((n) => n * kSecond).concat([1, 2, 5, 10, 15, 30].map((n) => n * kMinute), [1, 2, 3, 6, 12].map((n) => n * kHour),
  [1, 2, 7, 14, 30, 90, 365].map((n) => n * kDay));

// Marks on whole local times, at most `most` of them.
export function time_marks(from: number, to: number, most: number): number[] {
  const step = kSteps.find((length) => (to - from) / length <= most) ?? 365 * kDay;
  const shift = zone * kMinute;
  const marks: number[] = [];
  for (let at = Math.ceil((from + shift) / step) * step - shift; at <= to; at += step) marks.push(at);
  return marks;
}

// The first mark, and the first one of a day, show the date too.
export function mark_texts(marks: readonly number[]): string[] {
  const step = marks.length > 1 ? marks[1]! - marks[0]! : kMinute;
  return marks.map((mark, i) => {
    const day = date_text(mark).slice(5);
    if (step >= kDay) return day;
    const time = clock_text(mark, step < kMinute);
    const before = marks[i - 1];
    return before !== undefined && date_text(before) !== date_text(mark) ? `${time}\n${day}` : time;
  });
}

// What users write into a time field: a local time of the server, of today if it has no date. Null if it is none.
export function moment_of(text: string): number | null {
  const found = /^(?:(\d{4})-(\d{1,2})-(\d{1,2})[ T]+)?(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(text.trim());
  if (found === null) return null;
  const today = local(now());
  const number = (i: number, otherwise: number) => (found[i] === undefined ? otherwise : Number(found[i]));
  const ms = Date.UTC(number(1, today.getUTCFullYear()), number(2, today.getUTCMonth() + 1) - 1, number(3, today.getUTCDate()), number(4, 0), number(5, 0), number(6, 0));
  return Number.isNaN(ms) ? null : ms - zone * kMinute;
}
