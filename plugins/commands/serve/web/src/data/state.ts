// SPDX-License-Identifier: Apache-2.0
// The state of the whole page is its fragment: `#explore?range=1h&from=..&to=..&host=..`. So a copied address restores the view.
// `range` is the time that the time line shows: one that moves ("1h") or two times. `from` and `to` are the window within it, which
// all views show; without them the window is the range. `base_from` and `base_to` are the time to compare with.
import { now, relative_ms } from "./time";
import type { Span } from "./types";

export const kRanges = ["5m", "15m", "1h", "6h", "24h", "7d"] as const;
const kDefaultRange = "15m", kMostHistory = 3660 * 24 * 3600 * 1000;
const kShared = ["range", "from", "to", "base_from", "base_to", "host", "live"];

export interface State {
  view: string;
  range: string;
  window: Span | null;
  baseline: Span | null;
  host: string;
  live: boolean;
  own: URLSearchParams;  // of the view
}

type Listener = () => void;

let state: State = parse(location.hash);
let anchor = 0;  // the end of a range that moves
let listener: Listener = () => undefined;

function span_of(from: string | null, to: string | null): Span | null {
  if (from === null || to === null || !/^\d{1,14}$/.test(from) || !/^\d{1,14}$/.test(to)) return null;
  const span = { from: Number(from), to: Number(to) };
  return span.from < span.to && span.to - span.from <= kMostHistory ? span : null;
}

function fixed_range(range: string): Span | null {
  const [from, to] = range.split("-");
  return span_of(from ?? null, to ?? null);
}

function parse(hash: string): State {
  const [view = "", query = ""] = hash.replace(/^#/, "").split("?", 2);
  const all = new URLSearchParams(query);
  const own = new URLSearchParams(query);
  for (const key of kShared) own.delete(key);
  const range = all.get("range") ?? "";
  const ms = relative_ms(range);
  return {
    view: view === "" ? "overview" : view,
    range: (ms !== null && ms > 0 && ms <= kMostHistory) || fixed_range(range) !== null ? range : kDefaultRange,
    window: span_of(all.get("from"), all.get("to")),
    baseline: span_of(all.get("base_from"), all.get("base_to")),
    host: all.get("host") ?? "",
    live: all.get("live") === "1",
    own,
  };
}

export function address_of(wanted: State): string {
  const query = new URLSearchParams();
  if (wanted.range !== kDefaultRange) query.set("range", wanted.range);
  for (const [prefix, span] of [["", wanted.window], ["base_", wanted.baseline]] as const) {
    if (span === null) continue;
    query.set(`${prefix}from`, String(Math.round(span.from)));
    query.set(`${prefix}to`, String(Math.round(span.to)));
  }
  if (wanted.host !== "") query.set("host", wanted.host);
  if (wanted.live) query.set("live", "1");
  for (const [key, value] of wanted.own) query.append(key, value);
  const text = query.toString();
  return `#${wanted.view}${text === "" ? "" : "?" + text}`;
}

export function current(): Readonly<State> {
  return state;
}

export function moves(): boolean {
  return relative_ms(state.range) !== null;
}

// The time of the time line.
export function outer(): Span {
  const length = relative_ms(state.range);
  if (length === null) return fixed_range(state.range)!;
  if (anchor === 0) anchor = Math.floor(now() / 1000) * 1000;
  return { from: anchor - length, to: anchor };
}

// The time of all views.
export function window_span(): Span {
  return state.window ?? outer();
}

export function refresh(): void {
  anchor = 0;
  listener();
}

// Of the view only: `own` replaces its keys, null removes one.
export interface Change {
  view?: string;
  range?: string;
  window?: Span | null;
  baseline?: Span | null;
  host?: string;
  live?: boolean;
  own?: Record<string, string | readonly string[] | null>;
}

export function changed(change: Change): State {
  const { own, ...shared } = change;
  const next: State = { ...state, ...shared, own: new URLSearchParams(change.view === undefined || change.view === state.view ? state.own : "") };
  for (const [key, value] of Object.entries(own ?? {})) {
    next.own.delete(key);
    if (typeof value === "string") next.own.set(key, value);
    else for (const one of value ?? []) next.own.append(key, one);
  }
  return next;
}

export function go(change: Change, replace = false): void {
  const next = changed(change);
  const text = address_of(next);
  if (text === address_of(state) && text === location.hash) return;
  if (replace) history.replaceState(null, "", text);
  else history.pushState(null, "", text);
  if (next.range !== state.range) anchor = 0;
  state = next;
  listener();
}

export function own(key: string): string {
  return state.own.get(key) ?? "";
}

// The chosen part of the time line; all of it is no choice.
export function choose(span: Span): void {
  const all = outer();
  const rounded = { from: Math.round(span.from), to: Math.round(span.to) };
  if (rounded.to - rounded.from < 1000) return;
  if (rounded.from >= all.from && rounded.to <= all.to) go({ window: rounded });
  else go({ window: rounded, range: `${Math.min(rounded.from, all.from)}-${Math.max(rounded.to, all.to)}`, live: false });
}

// A window with some time around it, as of an experiment.
export function visit(span: Span): void {
  const margin = Math.max(5000, (span.to - span.from) / 4);
  go({ window: span, range: `${Math.floor(span.from - margin)}-${Math.ceil(span.to + margin)}`, live: false });
}

// The time to compare with.
export function compare(span: Span): void {
  go({ baseline: { from: Math.round(span.from), to: Math.round(span.to) } });
}

// Back to the whole range; from there to one of twice the length.
export function widen(): void {
  if (state.window !== null) return go({ window: null });
  const { from, to } = outer();
  const half = (to - from) / 2;
  const end = Math.min(Math.round(to + half), Math.max(to, Math.round(now())));
  go({ range: `${Math.max(0, Math.round(end - 4 * half))}-${end}`, live: false });
}

// By a part of the window's length: earlier is negative.
export function shift(part: number): void {
  const { from, to } = window_span();
  const by = Math.round((to - from) * part);
  if (state.window !== null) choose({ from: from + by, to: to + by });
  else go({ range: `${from + by}-${to + by}`, live: false });
}

export function start(changed_state: Listener): void {
  listener = changed_state;
  addEventListener("popstate", () => {
    state = parse(location.hash);
    listener();
  });
  addEventListener("hashchange", () => {
    if (location.hash === address_of(state)) return;
    state = parse(location.hash);
    listener();
  });
}
