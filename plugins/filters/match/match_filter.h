// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <optional>
#include <vector>

#include "plugins/shared/io/match/matcher.h"
#include "plugins/shared/io/match/patterns.h"

namespace atalaya::match {

// Passes the samples with matching tags, and of these only the fields with matching names.
class MatchFilter final : public Filter {
 public:
  static constexpr Param kPattern[] = {param::string("", "A pattern")};
  static constexpr Param kMetric[] = {param::string("", "A pattern").unit("metric")};
  static constexpr Param kParams[] = {
      param::list("*", kPattern, "A tag and patterns for its value; of several tags, all must match").allowed("*").unit("tag"),
      param::list("metric", kMetric, "Patterns for the fields to keep; a sample without fields is dropped"),
      param::choice("kind", "metrics|stack|span", "Only keep samples of this kind"),
      param::choice("absent", "drop|pass", "Handling of samples without a listed tag; if all its patterns are negated, they pass")
          .defaults("drop"),
  };
  static constexpr Description description = {
      .name = "match"_str, .summary = "Keep samples and fields by name, tag and kind"_str, .params = kParams};

  explicit MatchFilter(Host host);
  Code process(const Window &window, Batch &batch) override;

 private:
  struct TagPatterns {
    uint32_t key;
    io::MatcherList patterns;
  };
  bool keeps(const Sample &sample) const;
  void keep_matching_fields(Batch &batch, Sample &sample);

  Host host_;
  io::NamePatterns metric_;
  std::optional<uint32_t> kind_;
  bool pass_absent_;
  std::vector<TagPatterns> tags_;
};

}  // namespace atalaya::match
