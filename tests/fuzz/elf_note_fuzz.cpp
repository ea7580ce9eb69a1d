// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "core/plugin/describe/elf_note.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const auto note = atalaya::core::parse_plugin_note([data, size](uint64_t offset, void *to, size_t wanted) {
    if (offset > size || wanted > size - offset) return false;
    if (wanted > 0) std::memcpy(to, data + offset, wanted);
    return true;
  });
  // An accepted note is complete.
  if (!note) return 0;
  const auto &found = note.value();
  if (found.name.empty() || found.version.empty() || found.components.empty()) __builtin_trap();
  return 0;
}
