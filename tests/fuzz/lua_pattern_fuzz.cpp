// SPDX-License-Identifier: Apache-2.0
// The first byte is the length of the pattern; the rest is the subject. Every search ends within its budget, inside its subject.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/base/text/lua_pattern.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char *>(data) + 1, size - 1);
  const size_t pattern_size = std::min<size_t>(data[0], text.size());
  const std::string_view subject = text.substr(pattern_size);
  atalaya::core::LuaPattern pattern(subject, text.substr(0, pattern_size), true);
  for (size_t i = 0; i <= subject.size() && pattern.error() == nullptr; ++i) {
    const char *end = pattern.match_at(subject.data() + i);
    if (end == nullptr) continue;
    if (end < subject.data() + i || end > subject.data() + subject.size()) std::abort();
    for (int c = 0; c < pattern.captures(); ++c) {
      const auto &capture = pattern.capture(c);
      if (capture.begin < subject.data() || capture.begin > subject.data() + subject.size()) std::abort();
      if (capture.size > subject.data() + subject.size() - capture.begin) std::abort();
    }
  }
  return 0;
}
