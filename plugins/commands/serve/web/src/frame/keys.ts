// SPDX-License-Identifier: Apache-2.0
// Keys of the whole page. Fields and parts with their own keys come first.
import { toggle_live, type Header } from "./header";
import type { Help } from "./help";
import { go, refresh, shift, widen } from "../data/state";
import type { Page } from "../view";
import { compare_with_before } from "../views/explore";

function typing(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.closest("input, select, textarea, dialog") !== null || target.isContentEditable);
}

export function start_keys(pages: readonly Page[], header: () => Header | null, help: Help): void {
  const search = () => document.querySelector<HTMLInputElement>("main input[type=search], main input[type=text]")?.focus();
  const actions: Record<string, () => void> = {
    "?": () => help.show(), "/": search, l: toggle_live, r: refresh, "[": () => shift(-0.5), "]": () => shift(0.5), "-": widen, Escape: widen,
    b: compare_with_before, t: () => header()?.change_theme(), Backspace: () => history.back(),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented || typing(event.target) || document.querySelector("dialog[open]") !== null) return;
    const page = /^[1-9]$/.test(event.key) ? pages[Number(event.key) - 1] : undefined;
    const action = page !== undefined ? () => go({ view: page.name }) : Object.prototype.hasOwnProperty.call(actions, event.key) ? actions[event.key] : undefined;
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
}
