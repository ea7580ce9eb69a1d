// SPDX-License-Identifier: Apache-2.0
// Selects the configuration settings of a job that are stored as facts.
#pragma once

#include <string_view>

#include "plugins/shared/io/match/matcher.h"
#include "plugins/shared/protocols/base/span.h"

namespace atalaya::hadoop {

// Returns true if a setting may contain a secret, judged by its key and value: passwords, keys, tokens, command lines,
// environments, URLs with a user. Such settings are never reported, even if selected.
bool may_be_secret(std::string_view key, std::string_view value);

struct Facts {
  io::MatcherList keys;  // selected keys
  bool wants(std::string_view key, std::string_view value) const {
    return key.size() <= protocols::kMaxId && keys.matches(key) && !may_be_secret(key, value);
  }
};

}  // namespace atalaya::hadoop
