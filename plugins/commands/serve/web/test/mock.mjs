// SPDX-License-Identifier: Apache-2.0
// A server with generated data for the page: `node test/mock.mjs [PORT]`. The tests start it too. Its headers are those of serve.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { answer, Problem } from "./answers.mjs";

export const kFolder = join(dirname(fileURLToPath(import.meta.url)), "..");
const kPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// As the build does it.
export function bundle() {
  const folder = mkdtempSync(join(tmpdir(), "atalaya-page-"));
  try {
    execFileSync(process.env.ESBUILD ?? "esbuild", ["src/app.ts", "--bundle", "--minify", "--format=iife", "--target=es2020", "--log-level=warning", `--outfile=${folder}/app.js`], { cwd: kFolder });
    return { "/": ["text/html; charset=utf-8", readFileSync(join(kFolder, "index.html"))], "/assets/app.js": ["text/javascript; charset=utf-8", readFileSync(join(folder, "app.js"))],
      "/assets/app.css": ["text/css; charset=utf-8", readFileSync(join(folder, "app.css"))] };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export async function start_mock({ port = 0, token = null } = {}) {
  const files = bundle(), asked = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url, "http://localhost");
    const send = (status, type, body) => {
      response.writeHead(status, { "Content-Type": type, "Content-Security-Policy": kPolicy, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache" });
      response.end(body);
    };
    const json = (status, value) => send(status, "application/json", JSON.stringify(value));
    asked.push(request.url);
    const file = files[url.pathname];
    if (file !== undefined) return send(200, ...file);
    if (!url.pathname.startsWith("/api/page/")) return json(404, { error: { code: 404, message: "no such path" } });
    if (token !== null && request.headers.authorization !== `Bearer ${token}`) return json(401, { error: { code: 401, message: "a token is required" } });
    try {
      json(200, answer(url.pathname.slice("/api/page/".length), url.searchParams));
    } catch (error) {
      const status = error instanceof Problem ? error.status : 500;
      json(status, { error: { code: status, message: error.message } });
    }
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, asked, close: () => new Promise((resolve) => { server.closeAllConnections(); server.close(resolve); }) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log((await start_mock({ port: Number(process.argv[2] ?? 8099) })).url);
