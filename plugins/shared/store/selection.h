// SPDX-License-Identifier: Apache-2.0
// Common code of the engines for a Selection.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/io/match/matcher.h"
#include "plugins/shared/store/store.h"

namespace atalaya::store {

// A compiled list of patterns. Throws Error for an invalid pattern.
io::MatcherList matchers_of(const std::vector<std::string> &patterns);

// The compiled tag filters.
class TagMatchers {
 public:
  explicit TagMatchers(const std::vector<TagFilter> &filters);
  bool accept(const Tags &tags) const;

 private:
  struct Filter {
    std::string key;
    io::MatcherList matchers;
  };
  std::vector<Filter> filters_;
};

}  // namespace atalaya::store
