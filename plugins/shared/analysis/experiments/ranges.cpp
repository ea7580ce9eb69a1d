// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/experiments/ranges.h"

#include <optional>
#include <utility>

#include "core/base/text/text.h"
#include "plugins/shared/analysis/experiments/experiments.h"
#include "plugins/shared/io/time/time_text.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::experiments {
namespace {

// Splits "EXPERIMENT+2m". Names may contain a plus, so it splits at the last one.
std::optional<size_t> plus_in(std::string_view text) {
  const size_t plus = text.rfind('+');
  return plus == std::string_view::npos || plus == 0 ? std::nullopt : std::optional(plus);
}

bool is_time(std::string_view text, int64_t now_ns) {
  if (io::parse_time(text, now_ns)) return true;
  const auto plus = plus_in(text);
  return plus && io::parse_length(text.substr(*plus + 1));
}

using Ends = std::pair<std::string, std::string>;

// Splits a range at ".." (times contain no two dots) or at the colon that has a valid time on both sides.
std::optional<Ends> ends_of(const std::string &place, const std::string &text, int64_t now_ns) {
  if (const size_t dots = text.find(".."); dots != std::string::npos) return Ends{text.substr(0, dots), text.substr(dots + 2)};
  std::optional<Ends> found;
  for (size_t at = text.find(':'); at != std::string::npos; at = text.find(':', at + 1)) {
    Ends ends{text.substr(0, at), text.substr(at + 1)};
    if (!is_time(ends.first, now_ns) || !is_time(ends.second, now_ns)) continue;
    if (found) throw query::Wrong(place + " is ambiguous; write FROM..TO");
    found = std::move(ends);
  }
  return found;
}

}  // namespace

int64_t time_of(std::string_view where, const std::string &text, store::Store &store, int64_t now_ns) {
  const auto plus = plus_in(text);
  if (!plus || io::parse_time(text, now_ns)) return query::time_of(where, text, now_ns);
  const auto length = io::parse_length(std::string_view(text).substr(*plus + 1));
  if (!length)
    throw query::Wrong(std::string(where) + ": " + core::in_quotes(text) +
                       " is no time and not EXPERIMENT+LENGTH: " + length.error());
  return find_experiment(store, text.substr(0, *plus), "").start_ns + length.value();
}

query::Range range_of(std::string_view where, const std::string &text, store::Store &store, int64_t now_ns) {
  const std::string place = std::string(where) + " " + core::in_quotes(text);
  const auto ends = ends_of(place, text, now_ns);
  if (!ends) {
    if (text.empty() || is_time(text, now_ns))
      throw query::Wrong(place + " is no range; write FROM..TO, such as -2h..-1h, or the name of an experiment");
    const Experiment found = find_experiment(store, text, "");
    return {found.start_ns, found.end_ns(now_ns)};
  }
  const store::Range range{time_of(place, ends->first, store, now_ns), time_of(place, ends->second, store, now_ns)};
  if (range.from_ns >= range.to_ns) throw query::Wrong(place + " ends before it begins");
  return range;
}

}  // namespace atalaya::experiments
