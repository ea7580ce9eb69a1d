// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <string>
#include <vector>

#include "plugins/shared/samples/identity.h"
#include "plugins/shared/samples/per_name.h"
#include "plugins/shared/samples/totals.h"
#include "plugins/shared/match/matcher.h"
#include "plugins/shared/match/patterns.h"

namespace atalaya::aggregate {

using namespace atalaya::literals;

// Makes one sample of all those of a window that agree in the chosen tags.
class Aggregate final : public Translator {
 public:
  static constexpr Param kTag[] = {{.type = ATALAYA_STRING, .summary = "A tag."_str}};
  static constexpr Param kPattern[] = {{.type = ATALAYA_STRING, .summary = "A pattern."_str}};
  static constexpr Param kFunction[] = {
      {.type = ATALAYA_ENUM, .allowed = "sum|avg|min|max|count"_str, .summary = "What becomes of the fields that match."_str}};
  static constexpr Param kParams[] = {
      {.name = "by"_str,
       .type = ATALAYA_LIST,
       .summary = "Tags that stay, beside host; samples that agree in them become one. Absent: one sample a host."_str,
       .items = kTag,
       .item_count = 1,
       .item_size = sizeof(Param)},
      {.name = "default"_str,
       .type = ATALAYA_ENUM,
       .default_text = "sum"_str,
       .allowed = "sum|avg|min|max|count"_str,
       .summary = "What becomes of fields that \"functions\" does not name."_str},
      {.name = "functions"_str,
       .type = ATALAYA_MAP,
       .summary =
           "A metric or a pattern and its function; an exact name wins over a pattern, a longer pattern over a shorter one."_str,
       .items = kFunction,
       .item_count = 1,
       .item_size = sizeof(Param)},
      {.name = "fields"_str,
       .type = ATALAYA_LIST,
       .default_text = "*,!*.state,!*.start.time,!*.pid"_str,
       .summary = "Patterns for the fields that are kept: those that mean something for several entities at once."_str,
       .items = kPattern,
       .item_count = 1,
       .item_size = sizeof(Param)},
      {.name = "count"_str,
       .type = ATALAYA_STRING,
       .summary = "A field of this name is added: how many samples became one, as a count."_str},
      {.name = "metric"_str,
       .type = ATALAYA_LIST,
       .summary = "Patterns: samples without any field that matches pass untouched. Absent: all samples are taken."_str,
       .items = kPattern,
       .item_count = 1,
       .item_size = sizeof(Param)},
  };
  static constexpr Description description = {
      .name = "aggregate"_str, .summary = "makes one sample of those that agree in some tags"_str, .params = kParams};

  explicit Aggregate(Host host);
  Code process(const Window &window, Batch &batch) override;

 private:
  struct Rule {
    std::string pattern;
    core::Matcher matcher;
    core::Function function;
  };
  // Reused from window to window.
  struct Group {
    Sample first{};  // its tags and text lie in the batch's arena
    int64_t time_ns = 0, duration_ns = 0;
    int64_t samples = 0;
    core::Totals totals;
  };

  void read_functions();
  core::Function function_of(uint32_t name);
  bool takes(const Sample &sample);
  bool stays(uint32_t tag_key) const;
  void add(const Window &window, const Sample &sample);
  void emit(Batch &batch, const Group &group);

  Host host_;
  std::vector<uint32_t> by_;
  uint32_t host_tag_;
  core::Function default_;
  std::vector<Rule> rules_;  // in order of precedence
  uint32_t count_name_ = 0;  // 0: none
  NamePatterns fields_, metric_;
  core::PerName<core::Function> functions_;

  core::IdentityKey key_;
  core::IdentityTable ids_;
  std::vector<Group> groups_;  // the first ids_.size() are in use
};

}  // namespace atalaya::aggregate
