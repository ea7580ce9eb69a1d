// SPDX-License-Identifier: Apache-2.0
// Spans as lines of text, for comparing: level start+length tags | fields.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/sources/hadoop/model/history.h"

namespace atalaya::hadoop {

inline std::string text_of(const protocols::Span &span) {
  std::string out =
      span.text + " " + std::to_string(span.start_ms) + (span.duration_ms < 0 ? "..." : "+" + std::to_string(span.duration_ms));
  for (const auto &[name, value] : {std::pair<const char *, const std::string &>{"host", span.host},
                                    {"job", span.job},
                                    {"name", span.name},
                                    {"stage", span.stage},
                                    {"task", span.task},
                                    {"attempt", span.attempt},
                                    {"phase", span.phase},
                                    {"locality", span.locality},
                                    {"executor", span.executor},
                                    {"source", span.source},
                                    {"quality", span.quality},
                                    {"fact", span.fact},
                                    {"value", span.value},
                                    {"error", span.error}})
    if (!value.empty()) out.append(" ").append(name).append("=").append(value);
  const auto field = [&](const char *name, const std::optional<int64_t> &value) {
    if (value) out += std::string(" ") + name + ":" + std::to_string(*value);
  };
  out += " |";
  field("bytes", span.bytes);
  field("records", span.records);
  field("remote", span.remote_bytes);
  field("gc", span.gc_ms);
  field("slots", span.slots);
  if (span.outcome) field("outcome", static_cast<int64_t>(*span.outcome));
  for (const protocols::Counter &one : span.counters) out += " " + one.group + "/" + one.name + "=" + std::to_string(one.value);
  return out;
}

inline std::vector<std::string> texts(const protocols::Spans &spans) {
  std::vector<std::string> out;
  out.reserve(spans.size());
  for (const protocols::Span &span : spans) out.push_back(text_of(span));
  return out;
}

// A history keeps a reference to its rules.
inline const Rules kNoRules;

// A history of the text, read to its end.
struct Read {
  explicit Read(std::string_view text, const Rules &rules = kNoRules, size_t piece = SIZE_MAX) : history(rules, "from-its-name") {
    for (size_t at = 0; at < text.size();) {
      const std::string_view part = text.substr(at, piece);
      history.feed(part, spans);
      at += part.size();
    }
    history.end_of_file(spans);
  }
  std::vector<std::string> lines() const { return texts(spans); }

  History history;
  protocols::Spans spans;
};

}  // namespace atalaya::hadoop
