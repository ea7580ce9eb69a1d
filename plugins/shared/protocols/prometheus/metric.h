// SPDX-License-Identifier: Apache-2.0
// The declaration of a metric as Prometheus and OpenMetrics define it.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace atalaya::prometheus {

enum class Type : uint8_t { unknown, gauge, counter };

struct Metric {
  std::string original;  // proc.cpu.user
  std::string family;    // proc_cpu_user; of a counter without the suffix _total
  Type type = Type::unknown;
  std::string help;
  std::string unit;  // OpenMetrics: the last part of the family's name; "": none
};

// Describes a metric. A total is a counter. A delta is a gauge, because each value is the amount of one window. The type of an
// undeclared metric is unknown.
Metric describe(std::string_view name, const std::optional<MetricInfo> &info);

// The owners of exposed names: different metrics may have the same name for Prometheus (a.b, a_b), which would mix their series.
// The first one has it, whichever series come and go. Any thread.
class ExposedNames {
 public:
  // Registers the exposed name. False: another metric has it.
  bool claim(const Metric &metric);
  // Refused metrics, each with the owner of its name; new ones since the last call.
  using Collisions = std::vector<std::pair<std::string, std::string>>;
  Collisions collisions();

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::string> owners_;  // original names by exposed names
  std::unordered_set<std::string> refused_;
  Collisions new_collisions_;
};

}  // namespace atalaya::prometheus
