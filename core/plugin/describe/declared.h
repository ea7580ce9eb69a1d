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

  // Every difference once: fields and tags that are not in the metric table, numbers of the wrong type, numbers that are none.
  // A stage need not declare the names of its input (`known`). Of a span any tag that stands with some metric
  // is declared, and all if it has no numbers.
  std::set<std::string> differences(const atalaya_batch &batch, const Symbols &symbols, const std::set<std::string> &known) const;

 private:
  struct Metric {
    bool count = false;
    std::set<std::string> tags;
  };
  std::map<std::string, Metric, std::less<>> metrics_;
  std::set<std::string> tags_;  // of any of them
};

}  // namespace atalaya::core
