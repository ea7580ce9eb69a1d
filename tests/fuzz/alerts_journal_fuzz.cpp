// SPDX-License-Identifier: Apache-2.0
// The journal of the translator alerts.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plugins/translators/alerts/journal.h"

using namespace atalaya::alerts;

// What was read is written and read again without a difference.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const auto read = parse_journal({reinterpret_cast<const char *>(data), size});
  if (!read) return 0;
  const std::string text = journal_text(read.value());
  const auto again = parse_journal(text);
  if (!again || journal_text(again.value()) != text) std::abort();
  return 0;
}
