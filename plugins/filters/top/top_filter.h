// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <string>
#include <vector>

#include "plugins/shared/io/match/patterns.h"
#include "plugins/shared/io/samples/identity.h"
#include "plugins/shared/io/samples/per_name.h"
#include "plugins/shared/io/samples/sample_window.h"
#include "plugins/shared/io/samples/totals.h"
#include "plugins/shared/io/samples/weights.h"

namespace atalaya::top {

// Passes the K samples with the largest values of one field and sums the rest into one sample.
class TopFilter final : public Filter {
 public:
  static constexpr Param kTag[] = {param::string("", "A tag").unit("tag")};
  static constexpr Param kPattern[] = {param::string("", "A pattern").unit("metric")};
  static constexpr Param kParams[] = {
      param::string("by", "Metric to rank by; samples of other families (first word of the name) pass unchanged")
          .required()
          .unit("metric"),
      param::integer("k", "Number of samples to keep per window and group").defaults("20").range(1, 100000),
      param::number("hysteresis", "Margin by which a new sample must exceed one kept in the last window to replace it")
          .defaults("10")
          .range(0, 1000)
          .unit("%"),
      param::list("per", kTag, "Tags that form groups, each with its own top K (default: one group per window)"),
      param::boolean("other", "Sum the rest of each group into one sample; false: drop it").defaults("true"),
      param::string("tag", "Tag with the value \"other\" in the sample of the rest").defaults("process"),
      param::list("fields", kPattern, "Patterns for the fields of the sample of the rest: those whose sum is meaningful")
          .defaults("*,!*.state,!*.start.time,!*.pid"),
  };
  static constexpr Description description = {
      .name = "top"_str, .summary = "Keep the K largest samples by a field and the exact rest as one"_str, .params = kParams};

  explicit TopFilter(Host host);
  Code process(const Window &window, Batch &batch) override;

 private:
  struct Candidate {
    uint64_t sample;  // position in the batch
    uint32_t group, entity;
    double rank;  // the value of the field, increased by the hysteresis if the entity was kept in the last window
    bool kept_before;
  };
  // Collects the sample `other` of one group. Reused from window to window.
  struct Group {
    io::GroupWindow window;  // time range of the merged samples
    uint64_t seen = 0, merged = 0;
    std::vector<atalaya_tag> common;  // tags that all samples of the group share
    io::Totals rest;
  };

  bool in_family(const Sample &sample);
  void add_candidate(const Window &window, const Sample &sample, uint64_t place);
  uint32_t group_of(const Window &window, const Sample &sample);
  void rank();
  void split(const Window &window, std::span<const Sample> samples);
  void add_other(Batch &batch, const Group &group);
  void end_window();

  Host host_;
  std::string family_;
  uint32_t by_, tag_;
  uint64_t k_;
  double hysteresis_;
  bool other_;
  std::vector<uint32_t> per_;
  io::NamePatterns fields_;
  io::PerName<bool> families_;
  io::Weights weights_;

  io::IdentityKey key_;
  io::IdentityTable group_ids_, entities_;
  std::vector<Group> groups_;        // the first group_ids_.size() are in use
  std::vector<uint64_t> last_kept_;  // by entity: the last round in which it was among the K
  uint64_t round_ = 1;               // number of the current window with candidates, from 1
  std::vector<Candidate> candidates_;
  std::vector<bool> removed_;  // by position in the batch: the sample is removed
};

}  // namespace atalaya::top
