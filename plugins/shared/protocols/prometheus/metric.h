// SPDX-License-Identifier: Apache-2.0
// The declaration of a metric as Prometheus and OpenMetrics define it.
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
  std::string family;    // proc_cpu_user; of a counter without the suffix _total
  Type type = Type::unknown;
  std::string help;
  std::string unit;  // OpenMetrics: the last part of the family's name; "": none
};

// Host::metric.
using MetricOf = std::function<std::optional<MetricInfo>(uint32_t id)>;

// Describes a metric. A total is a counter. A delta is a gauge, because each value is the amount of one window. The type of an
// undeclared metric is unknown.
Metric describe(std::string_view name, const std::optional<MetricInfo> &info);

}  // namespace atalaya::prometheus
