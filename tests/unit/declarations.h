// SPDX-License-Identifier: Apache-2.0
// A host's metric catalogue for tests.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace atalaya::testing {

class Declarations {
 public:
  Declarations &add(std::string name, uint32_t kind, std::string unit, std::string summary = {}, int decimals = -1) {
    metrics_[std::move(name)] = {kind, decimals, std::move(unit), std::move(summary)};
    return *this;
  }
  std::optional<MetricInfo> find(std::string_view name) const {
    const auto found = metrics_.find(name);
    if (found == metrics_.end()) return std::nullopt;
    const Metric &metric = found->second;
    return MetricInfo{metric.kind, metric.decimals, metric.unit, metric.summary, {}};
  }
  // As Host::metric.
  std::function<std::optional<MetricInfo>(uint32_t)> metric_of(std::function<std::string_view(uint32_t)> name_of) const {
    return [this, name_of = std::move(name_of)](uint32_t id) { return find(name_of(id)); };
  }

 private:
  struct Metric {
    uint32_t kind;
    int decimals;
    std::string unit, summary;
  };
  std::map<std::string, Metric, std::less<>> metrics_;
};

}  // namespace atalaya::testing
