// SPDX-License-Identifier: Apache-2.0
// Requests to the server that sent the page; there are no others.

export class Refusal extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

export type Query = Record<string, string | number | boolean | readonly string[] | null | undefined>;

const kToken = "atalaya-token";
let ask_for_token: (() => Promise<string>) | null = null;
let asking: Promise<string> | null = null;

export function when_token_is_missing(ask: () => Promise<string>): void {
  ask_for_token = ask;
}

// The pattern that only this text fits: filters of the server are patterns, and a name may contain their signs.
export function exactly(text: string): string {
  return text.replace(/[*?[\]\\!~]/g, "\\$&");
}

export function address(path: string, query: Query = {}): string {
  const parts = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "") continue;
    if (typeof value === "object") for (const one of value) parts.append(key, one);
    else parts.append(key, String(value));
  }
  const text = parts.toString();
  return `/api/page/${path}${text === "" ? "" : "?" + text}`;
}

// The one question of all requests that wait for a token.
async function new_token(): Promise<void> {
  if (ask_for_token === null) throw new Refusal(401, "The server requires a token");
  asking ??= ask_for_token().finally(() => (asking = null));
  sessionStorage.setItem(kToken, await asking);
}

async function message_of(response: Response): Promise<string> {
  try {
    const body = (await response.json()) as { error?: { message?: unknown } };
    if (typeof body.error?.message === "string") return body.error.message;
  } catch {
    // The status is all that is known.
  }
  return `The server answered with status ${response.status}`;
}

export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  for (;;) {
    const token = sessionStorage.getItem(kToken);
    const headers: Record<string, string> = token === null ? {} : { Authorization: `Bearer ${token}` };
    let response: Response;
    try {
      response = await fetch(address(path, query), { headers, signal: signal ?? null, cache: "no-store" });
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new Refusal(0, "The server does not answer. Is `atalaya serve` running?");
    }
    if (response.ok) return (await response.json()) as T;
    if (response.status !== 401) throw new Refusal(response.status, await message_of(response));
    if (token === sessionStorage.getItem(kToken)) await new_token();
  }
}

export function aborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export function text_of(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
