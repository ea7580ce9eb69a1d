// SPDX-License-Identifier: Apache-2.0
// A collector that decodes requests with OpenTelemetry's own messages and prints one JSON line for each.
// usage: node otlp_collector.js FOLDER_OF_NODE_MODULES PORT [ANSWER...]; PORT 0 is any; an ANSWER is a status, or "reject N": the first requests get them.
"use strict";
const http = require("http");
const path = require("path");
const zlib = require("zlib");

const [modules, port, ...answers] = process.argv.slice(2);
const { opentelemetry } = require(path.join(modules, "@opentelemetry/otlp-transformer/build/src/generated/root.js"));
const { metrics, trace } = opentelemetry.proto.collector;
const messages = {
  "/v1/metrics": [metrics.v1.ExportMetricsServiceRequest, metrics.v1.ExportMetricsServiceResponse],
  "/v1/traces": [trace.v1.ExportTraceServiceRequest, trace.v1.ExportTraceServiceResponse],
};

function answer(request, response, body) {
  const [requestType, responseType] = messages[request.url];
  const bytes = request.headers["content-encoding"] === "gzip" ? zlib.gunzipSync(body) : body;
  const message = requestType.toObject(requestType.decode(bytes), { longs: String, enums: String, bytes: String });
  const word = answers.shift() ?? "200";
  if (word === "200" || word.startsWith("reject")) console.log(JSON.stringify({ url: request.url, ...message }));
  const rejected = word.startsWith("reject") ? { partialSuccess: { rejectedDataPoints: Number(word.split(" ")[1]), errorMessage: "too old" } } : {};
  response.writeHead(word.startsWith("reject") ? 200 : Number(word), { "content-type": "application/x-protobuf" });
  response.end(responseType.encode(rejected).finish());
}

const server = http.createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => answer(request, response, Buffer.concat(pieces)));
});
server.listen(Number(port), "127.0.0.1", () => console.log(server.address().port));
