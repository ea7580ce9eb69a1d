// SPDX-License-Identifier: Apache-2.0
// The modules of the page that need no browser, for tests in node.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kFolder } from "./mock.mjs";

// The few parts of a browser that modules look at when they are loaded.
globalThis.location ??= { hash: "" };
globalThis.matchMedia ??= () => ({ matches: false, addEventListener() {} });
globalThis.localStorage ??= { getItem: () => null, setItem() {} };
globalThis.sessionStorage ??= { getItem: () => null, setItem() {} };

export async function module_of(name) {
  const folder = mkdtempSync(join(tmpdir(), "atalaya-module-"));
  try {
    execFileSync(process.env.ESBUILD ?? "esbuild", [`src/${name}.ts`, "--bundle", "--format=esm", "--target=es2020", "--log-level=warning", `--outfile=${folder}/${name}.mjs`], { cwd: kFolder });
    return await import(join(folder, `${name}.mjs`));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
