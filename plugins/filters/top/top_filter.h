// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <string>
#include <vector>

#include "plugins/shared/samples/identity.h"
#include "plugins/shared/samples/per_name.h"
#include "plugins/shared/samples/totals.h"
#include "plugins/shared/match/patterns.h"

namespace atalaya::top {

using namespace atalaya::literals;

// Keeps the K largest samples by one field and adds up the rest into one.
class TopFilter final : public Filter {
 public:
  static constexpr Param kTag[] = {{.type = ATALAYA_STRING, .summary = "A tag."_str}};
  static constexpr Param kPattern[] = {{.type = ATALAYA_STRING, .summary = "A pattern."_str}};
  static constexpr Param kParams[] = {
      {.name = "by"_str,
       .type = ATALAYA_STRING,
       .flags = ATALAYA_REQUIRED,
       .summary = "The metric that ranks; samples of other families (first word of the name) pass untouched."_str},
      {.name = "k"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "20"_str,
       .summary = "How many samples are kept in each window and group."_str,
       .min = 1,
       .max = 100000},
      {.name = "hysteresis"_str,
       .type = ATALAYA_NUMBER,
       .flags = ATALAYA_BOUNDED,
       .default_text = "10"_str,
       .unit = "%"_str,
       .summary = "By how much a newcomer must exceed one that was kept in the last window to take its place."_str,
       .min = 0,
       .max = 1000},
      {.name = "per"_str,
       .type = ATALAYA_LIST,
       .summary = "Tags that form groups, each with a top K of its own; absent: all samples of a window are one group."_str,
       .items = kTag,
       .item_count = 1,
       .item_size = sizeof(Param)},
      {.name = "other"_str,
       .type = ATALAYA_BOOL,
       .default_text = "true"_str,
       .summary = "Adds up what is not kept into one sample a group; false: it is dropped."_str},
      {.name = "tag"_str,
       .type = ATALAYA_STRING,
       .default_text = "process"_str,
       .summary = "The tag that says \"other\" in the sample that holds the rest."_str},
      {.name = "fields"_str,
       .type = ATALAYA_LIST,
       .default_text = "*,!*.state,!*.start.time,!*.pid"_str,
       .summary = "Patterns for the fields that \"other\" holds: those whose sum means something."_str,
       .items = kPattern,
       .item_count = 1,
       .item_size = sizeof(Param)},
  };
  static constexpr Description description = {
      .name = "top"_str, .summary = "keeps the K largest samples by a field and the exact rest as one"_str, .params = kParams};

  explicit TopFilter(Host host);
  Code process(const Window &window, Batch &batch) override;

 private:
  struct Candidate {
    uint64_t sample;  // its place in the batch
    uint32_t group, entity;
    double rank;  // its value, raised for one that was kept in the last window
    bool kept_before;
  };
  // What becomes the sample `other` of one group. Reused from window to window.
  struct Group {
    int64_t time_ns = 0, duration_ns = 0;
    uint64_t seen = 0, merged = 0;
    std::vector<atalaya_tag> common;  // tags that all samples of the group share
    core::Totals rest;
  };

  bool in_family(const Sample &sample);
  void enter(const Window &window, const Sample &sample, uint64_t place);
  uint32_t group_of(const Window &window, const Sample &sample);
  void rank();
  void split(std::span<const Sample> samples);
  void add_other(Batch &batch, const Group &group);
  void end_window();

  Host host_;
  std::string family_;
  uint32_t by_, tag_;
  uint64_t k_;
  double hysteresis_;
  bool other_;
  std::vector<uint32_t> per_;
  NamePatterns fields_;
  core::PerName<bool> families_;

  core::IdentityKey key_;
  core::IdentityTable group_ids_, entities_;
  std::vector<Group> groups_;        // the first group_ids_.size() are in use
  std::vector<uint64_t> last_kept_;  // by entity: the round in which it was last among the K
  uint64_t round_ = 1;               // windows with candidates, from 1
  std::vector<Candidate> candidates_;
  std::vector<bool> leaves_;  // by place in the batch
};

}  // namespace atalaya::top
