// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/selection.h"

#include <algorithm>
#include <utility>

namespace atalaya::store {

io::MatcherList matchers_of(const std::vector<std::string> &patterns) {
  auto matchers = io::MatcherList::parse(patterns);
  if (!matchers) throw Error(Cause::config, matchers.error());
  return std::move(*matchers);
}

TagMatchers::TagMatchers(const std::vector<TagFilter> &filters) {
  filters_.reserve(filters.size());
  for (const TagFilter &filter : filters) filters_.push_back({filter.key, matchers_of(filter.patterns)});
}

bool TagMatchers::accept(const Tags &tags) const {
  return std::all_of(filters_.begin(), filters_.end(), [&](const Filter &filter) {
    const auto tag = tags.find(filter.key);
    return tag == tags.end() ? filter.matchers.matches_absent() : filter.matchers.matches(tag->second);
  });
}

}  // namespace atalaya::store
