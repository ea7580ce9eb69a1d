// SPDX-License-Identifier: Apache-2.0
// The operator's rules: Lua patterns that turn lines into fields and spans.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "plugins/shared/protocols/btrace/record.h"
#include "plugins/shared/protocols/btrace/spans.h"

namespace atalaya::btrace {

// A rule as in the configuration.
struct RuleText {
  std::string match;
  std::string emit;   // metrics, begin, end, span, drop
  std::string level;  // level of a span
  std::vector<std::string> captures;
  std::vector<std::pair<std::string, std::string>> tags;
  std::string time = "epoch";
  bool utc = false;
};

// The number of captures of a Lua pattern, or its error.
core::Result<size_t> count_captures(std::string_view pattern);

class Rules {
 public:
  enum class Found { none, metrics, event, drop };

  static core::Result<Rules> make(const std::vector<RuleText> &texts);

  // Applies the first matching rule, which fills `record` (metrics) or `event`. Error: a rule matched with invalid values, or a
  // search took too long.
  core::Result<Found> read(std::string_view line, Record &record, SpanEvent &event);

 private:
  enum class Emit { metrics, begin, end, span, drop };
  struct Target {
    enum class Kind { ignored, tag, field, key } kind;
    std::string name;
  };
  struct Rule {
    std::string pattern;
    Emit emit = Emit::metrics;
    std::string level;
    std::vector<Target> targets;
    std::vector<std::pair<std::string, std::string>> tags;
    std::string time_format;  // format of times; "": Unix time
    bool utc = false;
  };

  static core::Result<Rule> make_rule(const RuleText &text);
  static core::Result<Target> make_target(const std::string &text, bool metrics);
  static core::Status apply(const Rule &rule, const std::vector<std::string_view> &captures, Record &record, SpanEvent &event);
  static core::Status set(const Rule &rule, const Target &target, std::string_view value, Record &record, SpanEvent &event);

  std::vector<Rule> rules_;
  std::vector<std::string_view> captures_;  // captures of the current line
};

}  // namespace atalaya::btrace
