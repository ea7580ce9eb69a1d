// SPDX-License-Identifier: Apache-2.0
// Writes Prometheus' text format 0.0.4 and OpenMetrics 1.0. Pure.
// Source: prometheus.io/docs/instrumenting/exposition_formats; the specification of OpenMetrics 1.0.
//   # HELP proc_threads Threads
//   # TYPE proc_threads gauge
//   proc_threads{host="vm",pid="1"} 3 1795219532000
// All series of a metric are together, behind its head. In OpenMetrics, times are seconds, a unit has a line, and "# EOF" is the
// end.
#pragma once

#include <atalaya/plugin.h>

#include <optional>
#include <string>
#include <string_view>

#include "plugins/shared/protocols/prometheus/metric.h"

namespace atalaya::prometheus {

enum class Form : uint8_t { text, openmetrics };
// The header Content-Type of the form.
const char *content_type(Form form);

// Appends NAME="VALUE" to labels; the name is legal (legal_label).
void append_label(std::string &labels, std::string_view name, std::string_view value);

void append_head(const Metric &metric, Form form, std::string &out);
// Appends a sample of the metric with these labels, and its time if there is one.
void append_series(const Metric &metric, std::string_view labels, const atalaya_field &value, std::optional<int64_t> time_ns,
                   Form form, std::string &out);
void append_end(Form form, std::string &out);

}  // namespace atalaya::prometheus
