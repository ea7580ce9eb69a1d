// SPDX-License-Identifier: Apache-2.0
// The client of the Model Context Protocol's own SDK. It reads calls from standard input, a JSON line each ({tool, arguments}; or
// {list: true}), and prints their results, a JSON line each.
// usage: node mcp_client.mjs FOLDER_OF_NODE_MODULES http URL [TOKEN]
//        node mcp_client.mjs FOLDER_OF_NODE_MODULES stdio COMMAND [WORD...]
import path from "node:path";
import readline from "node:readline";

const [modules, kind, target, ...rest] = process.argv.slice(2);
const load = (name) => import(path.join(modules, "@modelcontextprotocol/sdk/dist/esm/client", name));
const { Client } = await load("index.js");

async function transport() {
  if (kind === "stdio") {
    const { StdioClientTransport } = await load("stdio.js");
    return new StdioClientTransport({ command: target, args: rest, env: process.env });
  }
  const { StreamableHTTPClientTransport } = await load("streamableHttp.js");
  const headers = rest.length > 0 ? { Authorization: `Bearer ${rest[0]}` } : {};
  return new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers } });
}

const client = new Client({ name: "judge", version: "1" });
await client.connect(await transport());
console.log(JSON.stringify({ server: client.getServerVersion(), instructions: client.getInstructions() }));
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { list, tool, arguments: given } = JSON.parse(line);
  try {
    console.log(JSON.stringify(list ? await client.listTools() : await client.callTool({ name: tool, arguments: given })));
  } catch (error) {
    console.log(JSON.stringify({ code: error.code, message: error.message }));
  }
}
await client.close();
