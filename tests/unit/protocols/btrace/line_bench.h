// SPDX-License-Identifier: Apache-2.0
// Lines in, samples out as text:
//   btrace.requests=5i                     [key=a] btrace.counts=3i           @9 ... (a time in ns that the line had)
//   span phase 1000+500 [job=j phase=spill] span.bytes=4096i                  +open: it has not ended
#pragma once

#include <doctest/doctest.h>

#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "core/base/text/text.h"
#include "plugins/shared/protocols/btrace/line_reader.h"
#include "tests/unit/lines.h"

namespace atalaya::testing {

using Lines = std::vector<std::string>;
inline constexpr int64_t kSecond = 1'000'000'000, kNow = 1'700'000'000 * kSecond;

inline std::string text_of(const btrace::Record &record) {
  std::string text;
  if (record.kind == ATALAYA_SPAN) {
    text = "span " + std::string(record.text) + " " + std::to_string(record.time_ns) + "+" +
           (record.duration_ns < 0 ? "open" : std::to_string(record.duration_ns)) + " ";
  } else if (record.time_ns != 0) {
    text = "@" + std::to_string(record.time_ns) + " ";
  }
  if (!record.tags.empty()) {
    text += "[";
    for (const auto &[key, value] : record.tags)
      text += (text.ends_with('[') ? "" : " ") + std::string(key) + "=" + std::string(value);
    text += "] ";
  }
  for (const auto &[name, number] : record.fields)
    text +=
        std::string(name) + "=" + (number.is_count ? std::to_string(number.count) + "i" : core::number_text(number.value)) + " ";
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

class LineBench {
 public:
  explicit LineBench(btrace::ReaderOptions options = {}, const std::vector<btrace::RuleText> &texts = {}) : options_(options) {
    auto rules = btrace::Rules::make(texts);
    REQUIRE_MESSAGE(rules.ok(), (rules ? "" : rules.error()));
    rules_ = *rules;
    restart({});
  }

  Lines read(const Lines &lines, tail::FileId file = {1, 1}, int64_t now_ns = kNow) {
    Lines out;
    for (const std::string &line : lines)
      reader->take(file, line, false, now_ns, [&](const btrace::Record &record) { out.push_back(text_of(record)); });
    return out;
  }
  Lines expire(int64_t now_ns, size_t maximum = 1000) {
    Lines out;
    reader->expire(now_ns, maximum, [&](const btrace::Record &record) { out.push_back(text_of(record)); });
    return out;
  }
  void restart(const Lines &state) {
    reader = std::make_unique<btrace::LineReader>(options_, rules_, [this](const std::string &text) { said.push_back(text); });
    REQUIRE(reader->restore(state).ok());
  }
  const btrace::LineCounts &counts() const { return reader->counts(); }

  std::unique_ptr<btrace::LineReader> reader;
  Lines said;

 private:
  btrace::ReaderOptions options_;
  btrace::Rules rules_;
};

}  // namespace atalaya::testing
