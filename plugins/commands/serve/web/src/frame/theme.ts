// SPDX-License-Identifier: Apache-2.0
// Dark or light: as the system prefers, or as the user chose.

const kKey = "atalaya-theme";
const kOrder = ["auto", "light", "dark"] as const;
export type Theme = (typeof kOrder)[number];

const dark_system = matchMedia("(prefers-color-scheme: dark)");

export function theme(): Theme {
  const stored = localStorage.getItem(kKey);
  return kOrder.find((name) => name === stored) ?? "auto";
}

export function is_dark(): boolean {
  return theme() === "dark" || (theme() === "auto" && dark_system.matches);
}

function apply(): void {
  document.documentElement.dataset.theme = theme();
}

export function next_theme(): Theme {
  const next = kOrder[(kOrder.indexOf(theme()) + 1) % kOrder.length]!;
  localStorage.setItem(kKey, next);
  apply();
  dispatchEvent(new Event("atalaya-theme"));
  return next;
}

export function start_theme(changed: () => void): void {
  apply();
  addEventListener("atalaya-theme", changed);
  dark_system.addEventListener("change", changed);
}
