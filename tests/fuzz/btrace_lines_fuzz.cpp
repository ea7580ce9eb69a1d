// SPDX-License-Identifier: Apache-2.0
// Lines of logs. The first line is a rule's pattern, the rest is read three ways: as it is, by that rule, and again with a restart
// after each line, which may change nothing.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/protocols/btrace/line_reader.h"

namespace {

using namespace atalaya;

constexpr int64_t kNow = 1'700'000'000'000'000'000;

std::vector<btrace::RuleText> rules_of(const std::string &pattern) {
  const auto captures = btrace::count_captures(pattern);
  if (!captures) return {};
  static const std::vector<std::string> targets = {"time", "task", "bytes", "tag.x", "field.y", "outcome", "seq", "_"};
  btrace::RuleText rule{.match = pattern, .emit = "begin", .level = "task"};
  for (size_t i = 0; i < captures.value(); ++i) rule.captures.push_back(targets[i % targets.size()]);
  return {rule};
}

std::string described(const btrace::Record &record) {
  std::string text = std::to_string(record.kind) + std::to_string(record.time_ns) + std::to_string(record.duration_ns);
  text += record.text;
  for (const auto &[key, value] : record.tags) (text += key) += value;
  for (const auto &[name, number] : record.fields) (text += name) += std::to_string(number.count);
  return text;
}

std::vector<std::string> read(std::string_view text, const std::vector<btrace::RuleText> &texts, bool restarts) {
  auto rules = btrace::Rules::make(texts);
  if (!rules) std::abort();  // count_captures accepted the pattern
  const btrace::ReaderOptions options{.report_open = true, .max_open = 3};
  const auto fresh = [&] { return std::make_unique<btrace::LineReader>(options, *rules, [](const std::string &) {}); };
  auto reader = fresh();
  const tail::FileId file{1, 2};
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    reader->take(file, text.substr(0, end), false, kNow, [&](const btrace::Record &record) {
      for (const auto &[key, value] : record.tags)
        if (key.empty()) std::abort();
      out.push_back(described(record));
    });
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!restarts) continue;
    const auto state = reader->state({{.id = file}});
    reader = fresh();
    if (!reader->restore(state).ok()) std::abort();
  }
  reader->expire(kNow + options.max_age_ns + 1, SIZE_MAX, [&](const btrace::Record &record) { out.push_back(described(record)); });
  if (reader->spans().open() != 0) std::abort();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const size_t newline = text.find('\n');
  if (newline > 200) return 0;  // npos, too
  const std::string_view lines = text.substr(newline + 1);
  read(lines, rules_of(std::string(text.substr(0, newline))), false);
  const auto whole = read(lines, {}, false), in_parts = read(lines, {}, true);
  if (whole != in_parts) std::abort();
  return 0;
}
