// SPDX-License-Identifier: Apache-2.0
// The page of atalaya serve.
import "./app.css";

interface Info {
  version: string;
  store: { name: string };
}

async function start(): Promise<void> {
  const page = document.getElementById("page");
  if (page === null) return;
  const answer = await fetch("/api/page/info");
  const info = (await answer.json()) as Info;
  page.textContent = answer.ok ? `Atalaya ${info.version}: ${info.store.name}` : "The store cannot be read.";
}

void start();
