// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/sample/symbols.h"

namespace atalaya::core {

// The declared metrics of a component, to compare with the emitted ones.
class Declared {
 public:
  explicit Declared(const atalaya_component &component);

  // Returns each difference once: fields and tags that are not in the metric table, numbers of the wrong type, NaN and infinity. A
  // stage need not declare the names of its input (`known`). A tag of a span is declared if any metric has it; a span without
  // fields may have any tags.
  std::set<std::string> differences(const atalaya_batch &batch, const Symbols &symbols, const std::set<std::string> &known) const;

 private:
  struct Metric {
    bool count = false;
    std::set<std::string> tags;
  };
  std::map<std::string, Metric, std::less<>> metrics_;
  std::set<std::string> tags_;  // the tags of all metrics
};

}  // namespace atalaya::core
