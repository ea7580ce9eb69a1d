// SPDX-License-Identifier: Apache-2.0
// Which settings of a job become facts.
#pragma once

#include <string_view>

#include "plugins/shared/match/matcher.h"
#include "plugins/sources/hadoop/span.h"

namespace atalaya::hadoop {

// Whether a setting is of a kind that holds secrets: passwords, keys, tokens, command lines, environments, addresses with a user in
// them, or speaks of such in its value. Such ones are never taken, whatever was chosen.
bool may_be_secret(std::string_view key, std::string_view value);

struct Facts {
  core::MatcherList keys;  // chosen ones
  bool wants(std::string_view key, std::string_view value) const {
    return key.size() <= kMaxId && keys.matches(key) && !may_be_secret(key, value);
  }
};

}  // namespace atalaya::hadoop
