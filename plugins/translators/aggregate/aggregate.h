// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <string>
#include <vector>

#include "plugins/shared/io/match/matcher.h"
#include "plugins/shared/io/match/patterns.h"
#include "plugins/shared/io/samples/identity.h"
#include "plugins/shared/io/samples/per_name.h"
#include "plugins/shared/io/samples/sample_window.h"
#include "plugins/shared/io/samples/totals.h"
#include "plugins/shared/io/samples/weights.h"

namespace atalaya::aggregate {

// Merges the samples of a window that have equal values of the chosen tags.
class Aggregate final : public Translator {
 public:
  static constexpr Param kTag[] = {param::string("", "A tag").unit("tag")};
  static constexpr Param kPattern[] = {param::string("", "A pattern").unit("metric")};
  static constexpr Param kFunction[] = {param::choice("", "sum|avg|min|max|count", "Function of the fields that match")};
  static constexpr Param kParams[] = {
      param::list("by", kTag, "Tags to keep in addition to host; samples equal in them are merged (default: one sample per host)"),
      param::choice("default", "sum|avg|min|max|count", "Function of the fields that \"functions\" does not list").defaults("sum"),
      param::map("functions", kFunction,
                 "Functions by metric or pattern; an exact name wins over a pattern, a longer pattern over a shorter one")
          .unit("metric"),
      param::list("fields", kPattern, "Patterns for the fields to keep: those that are meaningful for several entities together")
          .defaults("*,!*.state,!*.start.time,!*.pid"),
      param::string("count", "Name of a field to add: the number of merged samples"),
      param::list("metric", kPattern,
                  "Patterns: samples without a matching field pass unchanged (default: all samples are merged)"),
  };
  static constexpr Description description = {
      .name = "aggregate"_str, .summary = "Merge samples that are equal in the chosen tags"_str, .params = kParams};

  explicit Aggregate(Host host);
  Code process(const Window &window, Batch &batch) override;

 private:
  struct Rule {
    std::string pattern;
    io::Matcher matcher;
    io::Function function;
  };
  // Reused from window to window.
  struct Group {
    Sample first{};  // its tags and text are in the batch's arena
    io::GroupWindow window;
    int64_t samples = 0;
    io::Totals totals;
  };

  void read_functions();
  io::Function function_of(uint32_t name);
  bool selects(const Sample &sample);
  bool keeps_tag(uint32_t tag_key) const;
  void add(const Window &window, const Sample &sample);
  void emit(Batch &batch, const Group &group);

  Host host_;
  std::vector<uint32_t> by_;
  uint32_t host_tag_;
  io::Function default_;
  std::vector<Rule> rules_;  // sorted by precedence
  uint32_t count_name_ = 0;  // 0: none
  io::NamePatterns fields_, metric_;
  io::PerName<io::Function> functions_;
  io::Weights weights_;

  io::IdentityKey key_;
  io::IdentityTable ids_;
  std::vector<Group> groups_;  // the first ids_.size() are in use
};

}  // namespace atalaya::aggregate
