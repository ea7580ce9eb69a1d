// SPDX-License-Identifier: Apache-2.0
// Unit and kind of a metric by its name. A store holds names only, and the plugins that declare them need not be there when it is
// read. A test compares with what the plugins declare.
#pragma once

#include <string_view>

namespace atalaya::store {

enum class Kind { gauge_or_rate, delta, total };

struct MetricInfo {
  std::string_view pattern;  // a glob
  Kind kind = Kind::gauge_or_rate;
  std::string_view unit;  // "": not known
};

// Of unknown names: gauge_or_rate, no unit.
const MetricInfo &metric_info(std::string_view metric);
// The unit as people want to read it: not that of plain numbers, which is "1".
std::string_view shown_unit(std::string_view metric);

}  // namespace atalaya::store
