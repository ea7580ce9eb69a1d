// SPDX-License-Identifier: Apache-2.0
// Definitions of phases from any source: refused, or written and read back as the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plugins/shared/analysis/phases/database.h"

using namespace atalaya::phases;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  PhaseDatabase database;
  const bool is_read = database.import(text).ok();
  require(is_read || database.phases().empty());
  if (database.add_definition(text).ok()) require(!database.phases().empty());
  const std::string exported = database.exported();
  PhaseDatabase again;
  require(again.import(exported).ok());
  require(again.phases().size() <= database.phases().size());
  for (const KnownPhase &phase : again.phases()) require(phase.phase.profile.total() > 0);
  return 0;
}
