// SPDX-License-Identifier: Apache-2.0
// The declarations of metrics that a store contains. A metric without a declaration is unknown: nothing is derived from its
// name.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace atalaya::store {

enum class Kind : uint32_t {
  unknown = 0,
  gauge = ATALAYA_GAUGE,
  rate = ATALAYA_RATE,    // change per second
  delta = ATALAYA_DELTA,  // amount in the window
  total = ATALAYA_TOTAL,  // a counter
};
// The text of a kind, which stores contain: "gauge"; "" for unknown.
std::string_view text_of(Kind kind);
Kind kind_of(std::string_view text);

struct MetricInfo {
  Kind kind = Kind::unknown;
  int32_t decimals = -1;  // -1: an integer, or unknown
  std::string unit;       // UCUM, "1" for a number without a unit; "": unknown
  std::string summary;
};
// Declarations by the name of the metric. A metric without a declaration has an empty MetricInfo.
using Catalogue = std::map<std::string, std::shared_ptr<const MetricInfo>, std::less<>>;

// The host's catalogue: Host::metric.
using MetricOf = std::function<std::optional<atalaya::MetricInfo>(uint32_t id)>;
MetricInfo stored_form(const atalaya::MetricInfo &declared);

// Receives a warning for the operator.
using Warn = std::function<void(const std::string &)>;

// Whether both declarations are known and differ in kind, unit or decimals.
bool is_conflict(const MetricInfo &first, const MetricInfo &second);
// The log line of a conflict: the store keeps the first declaration.
std::string conflict_text(std::string_view metric, const MetricInfo &first, const MetricInfo &second);

}  // namespace atalaya::store
