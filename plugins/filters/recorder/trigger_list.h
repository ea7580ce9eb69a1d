// SPDX-License-Identifier: Apache-2.0
// Selects the samples that start a recording, by their tags. A repeated span starts one recording only.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "plugins/shared/io/match/matcher.h"
#include "plugins/shared/io/samples/identity.h"

namespace atalaya::recorder {

class TriggerList {
 public:
  // `texts`: elements TAG=PATTERN. Throws Failure on a malformed element.
  TriggerList(Host host, const std::vector<std::string> &texts);
  // Returns the cause, TAG=VALUE, if the sample starts a recording.
  std::optional<std::string> cause_of(const Sample &sample);

 private:
  struct Condition {
    std::string tag;
    uint32_t key = 0;
    io::MatcherList pattern;
  };
  bool is_new(const Sample &sample);

  std::vector<Condition> conditions_;
  io::IdentityKey key_;
  const uint64_t seed_;
  std::unordered_set<uint64_t> known_;
  std::deque<uint64_t> order_;
};

}  // namespace atalaya::recorder
