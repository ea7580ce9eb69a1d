// SPDX-License-Identifier: Apache-2.0
// The declaration of a metric in the words of Prometheus and OpenMetrics.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace atalaya::prometheus {

enum class Type : uint8_t { unknown, gauge, counter };

struct Metric {
  std::string original;  // proc.cpu.user
  std::string family;    // proc_cpu_user; a counter's without _total
  Type type = Type::unknown;
  std::string help;
  std::string unit;  // OpenMetrics: the last word of the family; "": none
};

// Host::metric.
using MetricOf = std::function<std::optional<MetricInfo>(uint32_t id)>;

// A total is a counter. A delta is a gauge: each value is the amount of one window. Without a declaration the type is unknown.
Metric describe(std::string_view name, const std::optional<MetricInfo> &info);

}  // namespace atalaya::prometheus
