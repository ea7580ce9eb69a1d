// SPDX-License-Identifier: Apache-2.0
// A program instrumented with OpenTelemetry's SDK: exports one value of each instrument.
// usage: node otlp_exporter.js FOLDER_OF_NODE_MODULES URL delta|cumulative
"use strict";
const path = require("path");

const [modules, url, temporality] = process.argv.slice(2);
const load = (name) => require(path.join(modules, "@opentelemetry", name));
const { MeterProvider, PeriodicExportingMetricReader, AggregationTemporality } = load("sdk-metrics");
const { OTLPMetricExporter } = load("exporter-metrics-otlp-proto");
const { Resource } = load("resources");

async function main() {
  const preference = temporality === "delta" ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE;
  const exporter = new OTLPMetricExporter({ url, temporalityPreference: preference });
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3600_000 });
  const resource = new Resource({ "host.name": "h1", "process.pid": 7, "service.name": "shop", "process.executable.name": "node" });
  const provider = new MeterProvider({ resource, readers: [reader] });
  const meter = provider.getMeter("test");
  const requests = meter.createCounter("http.requests", { unit: "{request}", description: "Requests served" });
  requests.add(3, { route: "/a" });
  requests.add(4, { route: "/b é\"" });
  meter.createUpDownCounter("queue.length").add(-5);
  meter.createObservableGauge("temperature", { unit: "Cel" }).addCallback((result) => result.observe(21.125));
  const duration = meter.createHistogram("http.duration", { unit: "s" });
  for (const seconds of [0.25, 0.5, 1]) duration.record(seconds);
  // The SDK's clock counts milliseconds: the window of the deltas needs one.
  for (const begin = Date.now(); Date.now() === begin; );
  await provider.forceFlush();
  await provider.shutdown();
}

main().catch((problem) => {
  console.error(problem);
  process.exitCode = 1;
});
