// SPDX-License-Identifier: Apache-2.0
// A pattern, a line feed, a thread's name or a command line.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/code/tasks/task_names.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view input(reinterpret_cast<const char *>(data), size);
  const size_t end = std::min(input.find('\n'), size);
  const std::string_view subject = input.substr(std::min(end + 1, size));
  (void)atalaya::tasks::of_process(subject);
  const std::vector<std::string> patterns{std::string(input.substr(0, end))};
  auto names = atalaya::tasks::TaskNames::parse(patterns);
  if (!names || !names->of_thread(subject)) return 0;
  // The kernel's program would pass it over.
  const std::string_view kept = subject.substr(0, std::min<size_t>(subject.find('\0'), 15));
  const std::vector<std::string> prefixes = names->prefixes();
  const bool is_kept = std::any_of(prefixes.begin(), prefixes.end(), [&](const auto &prefix) { return kept.starts_with(prefix); });
  if (!is_kept && subject.find('\0') == std::string_view::npos) std::abort();
  return 0;
}
