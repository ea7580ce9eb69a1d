// SPDX-License-Identifier: Apache-2.0
// Encodes OpenTelemetry's protocol (OTLP/HTTP, protobuf): pieces of ExportMetricsServiceRequest and ExportTraceServiceRequest.
// Source: opentelemetry.io/docs/specs/otlp, opentelemetry-proto 1.5 (collector, metrics, trace, resource, common). Pure.
#pragma once

#include <memory>

#include "plugins/shared/protocols/base/message_encoder.h"

namespace atalaya::protocols {

// Each sample is one resource with its metrics. Gauges and rates are gauges; deltas are sums of temporality delta from the start of
// the window; totals are cumulative sums without a start time, because a sample does not have it.
std::unique_ptr<MessageEncoder> make_otlp_metrics(const core::NameOf &name_of, const MetricOf &metric_of);
// Encodes ended spans. Spans with the same tag `job` (if it is missing, `experiment`) are one trace.
std::unique_ptr<MessageEncoder> make_otlp_traces(const core::NameOf &name_of);

}  // namespace atalaya::protocols
