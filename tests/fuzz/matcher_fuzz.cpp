// SPDX-License-Identifier: Apache-2.0
// A pattern, a line feed, a subject.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "plugins/shared/io/match/matcher.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view input(reinterpret_cast<const char *>(data), size);
  const size_t end = std::min(input.find('\n'), size);
  const std::string_view subject = input.substr(std::min(end + 1, size));
  auto matcher = atalaya::io::Matcher::parse(input.substr(0, end));
  if (!matcher) return 0;
  auto negated = atalaya::io::Matcher::parse("!" + std::string(input.substr(0, end)));
  if (!matcher->negated() && negated && matcher->matches(subject) == negated->matches(subject)) std::abort();
  return 0;
}
