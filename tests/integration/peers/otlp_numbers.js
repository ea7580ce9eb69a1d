// SPDX-License-Identifier: Apache-2.0
// A program instrumented with OpenTelemetry's SDK: exports a gauge with the numbers from FIRST on, each until it is acknowledged, and
// prints each number that was.
// usage: node otlp_numbers.js FOLDER_OF_NODE_MODULES PORT FIRST
"use strict";
const path = require("path");

const [modules, port, first] = process.argv.slice(2);
const load = (name) => require(path.join(modules, "@opentelemetry", name));
const { MeterProvider, MetricReader } = load("sdk-metrics");
const { OTLPMetricExporter } = load("exporter-metrics-otlp-proto");
const { Resource } = load("resources");

class OnRequest extends MetricReader {
  async onShutdown() {}
  async onForceFlush() {}
}

// One provider for each host, as each has a resource of its own.
function meterOf(host, current) {
  const reader = new OnRequest();
  const provider = new MeterProvider({ resource: new Resource({ "host.name": host }), readers: [reader] });
  provider.getMeter("test").createObservableGauge("restart.number").addCallback((result) => result.observe(current.number));
  return reader;
}

async function main() {
  const exporter = new OTLPMetricExporter({ url: `http://127.0.0.1:${port}/v1/metrics`, timeoutMillis: 20_000 });
  const current = { number: Number(first) };
  const readers = [0, 1, 2].map((host) => meterOf(`h${host}`, current));
  for (;;) {
    const { resourceMetrics } = await readers[current.number % 3].collect();
    let result;
    do {
      result = await new Promise((resolve) => exporter.export(resourceMetrics, resolve));
    } while (result.code !== 0);
    console.log(current.number++);
    await new Promise((resolve) => setTimeout(resolve, 2)); // the store has one value of a series per millisecond
  }
}

main();
