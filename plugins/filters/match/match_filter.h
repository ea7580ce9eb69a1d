// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <optional>
#include <vector>

#include "plugins/shared/match/matcher.h"
#include "plugins/shared/match/patterns.h"

namespace atalaya::match {

using namespace atalaya::literals;

// Keeps the samples whose tags match, and of them the fields whose names match.
class MatchFilter final : public Filter {
 public:
  static constexpr Param kPattern[] = {{.type = ATALAYA_STRING, .summary = "A pattern."_str}};
  static constexpr Param kParams[] = {
      {.name = "*"_str,
       .type = ATALAYA_LIST,
       .allowed = "*"_str,
       .summary = "A tag and the patterns for its value; of several tags, all must match."_str,
       .items = kPattern,
       .item_count = 1,
       .item_size = sizeof(Param)},
      {.name = "metric"_str,
       .type = ATALAYA_LIST,
       .summary = "Patterns for field names: the fields that match stay, a sample left without fields is dropped."_str,
       .items = kPattern,
       .item_count = 1,
       .item_size = sizeof(Param)},
      {.name = "kind"_str,
       .type = ATALAYA_ENUM,
       .allowed = "metrics|stack|span"_str,
       .summary = "Keeps samples of this kind only."_str},
      {.name = "absent"_str,
       .type = ATALAYA_ENUM,
       .default_text = "drop"_str,
       .allowed = "drop|pass"_str,
       .summary =
           "What happens to a sample that lacks a listed tag; where all patterns of the tag are negated, it passes anyway."_str},
  };
  static constexpr Description description = {
      .name = "match"_str, .summary = "keeps samples and fields by name, tag and kind"_str, .params = kParams};

  explicit MatchFilter(Host host);
  Code process(const Window &window, Batch &batch) override;

 private:
  struct TagPatterns {
    uint32_t key;
    core::MatcherList patterns;
  };
  bool keeps(const Sample &sample) const;
  void keep_matching_fields(Batch &batch, Sample &sample);

  NamePatterns metric_;
  std::optional<uint32_t> kind_;
  bool pass_absent_;
  std::vector<TagPatterns> tags_;
};

}  // namespace atalaya::match
