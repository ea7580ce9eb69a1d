// SPDX-License-Identifier: Apache-2.0
// Reads the bytes as a history at once and in pieces: both return the same spans, and no span ends before it begins.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include "plugins/sources/hadoop/model/history.h"

namespace atalaya::testing {

inline const hadoop::Rules &fuzz_rules() {
  static const hadoop::Rules rules{hadoop::Topology({{"n1", "/d/r1"}, {"n2", "/d/r2"}}, {{"10.0.0.1", "n1"}}), {io::MatcherList()}};
  return rules;
}

inline protocols::Spans spans_of(hadoop::History &history, std::string_view text, size_t piece) {
  protocols::Spans spans;
  for (size_t at = 0; at < text.size(); at += piece) history.feed(text.substr(at, piece), spans);
  history.end_of_file(spans);
  history.open(spans);
  return spans;
}

inline bool same(const protocols::Span &a, const protocols::Span &b) {
  return a.text == b.text && a.start_ms == b.start_ms && a.duration_ms == b.duration_ms && a.job == b.job &&
         a.attempt == b.attempt && a.phase == b.phase && a.at == b.at && a.counters.size() == b.counters.size();
}

inline void read_history(std::string_view text, size_t piece) {
  hadoop::History whole(fuzz_rules(), "name"), parts(fuzz_rules(), "name");
  const protocols::Spans at_once = spans_of(whole, text, text.size() + 1), in_pieces = spans_of(parts, text, piece);
  for (const protocols::Span &span : at_once)
    if (span.start_ms <= 0 || span.duration_ms < -1 || span.text.empty()) std::abort();
  if (whole.broken() || parts.broken()) return;  // the position of seen damage depends on the data before it
  if (at_once.size() != in_pieces.size() || whole.damage().count != parts.damage().count || whole.key() != parts.key())
    std::abort();
  for (size_t i = 0; i < at_once.size() && !whole.ended(); ++i)
    if (at_once[i].duration_ms >= 0 && !same(at_once[i], in_pieces[i])) std::abort();
}

// The first byte is the length of pieces.
inline int fuzz_history(const uint8_t *data, size_t size, std::string_view before) {
  if (size == 0) return 0;
  const std::string text = std::string(before) + std::string(reinterpret_cast<const char *>(data) + 1, size - 1);
  read_history(text, data[0] + size_t{1});
  return 0;
}

}  // namespace atalaya::testing
