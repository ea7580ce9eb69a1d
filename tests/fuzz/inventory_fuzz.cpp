// SPDX-License-Identifier: Apache-2.0
// Files that source inventory reads line by line: the first byte selects the kind.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "plugins/sources/inventory/fact_history.h"
#include "plugins/sources/inventory/properties.h"

using namespace atalaya::inventory;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// A saved history reads back the same.
void check_history(std::string_view text) {
  FactHistory history;
  if (!history.read(text)) {
    require(history.size() == 0);
    return;
  }
  FactHistory again;
  require(again.read(history.text()) && again.open() == history.open() && again.ended() == history.ended());
}

void check_facts(std::string_view text) {
  Facts facts;
  for (const Property &property : parse_assignments(text)) facts.add(property.key, property.value);
  for (const Property &property : parse_java_properties(text)) facts.add(property.key, property.value);
  for (const auto &[name, value] : facts.values()) require(!value.empty() && name.size() <= kMaxName && value.size() <= kMaxValue);
  FactHistory history;
  history.update(facts, 1);
  FactHistory again;
  require(again.read(history.text()) && again.open() == history.open());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char *>(data) + 1, size - 1);
  data[0] % 2 == 0 ? check_facts(text) : check_history(text);
  return 0;
}
