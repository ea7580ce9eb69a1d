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

// A list of patterns, compiled. Throws Error where one is none.
io::MatcherList matchers_of(const std::vector<std::string> &patterns);

// The filters of tags, compiled.
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
