// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/samples/identity.h"
#include "plugins/shared/samples/per_name.h"

namespace atalaya::value {

using namespace atalaya::literals;

// Keeps a sample while at least one of the listed fields reaches its threshold.
class ValueFilter final : public Filter {
 public:
  static constexpr Param kParams[] = {
      {.name = "*"_str,
       .type = ATALAYA_NUMBER,
       .allowed = "*.*"_str,
       .summary = "A metric and the threshold that it must reach, in the metric's unit."_str},
      {.name = "below"_str,
       .type = ATALAYA_BOOL,
       .default_text = "false"_str,
       .summary = "Turns the comparison round: a value reaches its threshold when it is at or under it."_str},
      {.name = "change"_str,
       .type = ATALAYA_BOOL,
       .default_text = "false"_str,
       .summary = "Thresholds are amounts by which a value must differ from the last one of the same entity that was kept."_str},
      {.name = "hysteresis"_str,
       .type = ATALAYA_NUMBER,
       .flags = ATALAYA_BOUNDED,
       .default_text = "0"_str,
       .unit = "%"_str,
       .summary = "An entity that was kept stays until its values are past the threshold by this share of it."_str,
       .min = 0,
       .max = 100},
      {.name = "absent"_str,
       .type = ATALAYA_ENUM,
       .default_text = "drop"_str,
       .allowed = "drop|pass"_str,
       .summary =
           "What happens to a sample of a listed metric's family (first word of its name) that has none of the listed fields."_str},
  };
  static constexpr Description description = {
      .name = "value"_str, .summary = "keeps samples whose values reach a threshold"_str, .params = kParams};

  explicit ValueFilter(Host host);
  Code process(const Window &window, Batch &batch) override;

 private:
  struct Threshold {
    std::string metric;
    double value;
  };
  // What a field name means here.
  struct Meaning {
    bool in_family = false;
    bool listed = false;
    uint32_t threshold = 0;
  };
  // What is remembered of one listed field of one entity.
  struct Memory {
    double last_kept = std::numeric_limits<double>::quiet_NaN();
    bool reached = false;
  };

  Meaning meaning(uint32_t name);
  bool keeps(const Sample &sample);
  bool reaches(double value, const Threshold &threshold, bool reached_before) const;
  bool keeps_by_memory(Memory *memory);
  Memory *memory_of(const Sample &sample);

  Host host_;
  bool below_, change_, pass_absent_;
  double hysteresis_;
  std::vector<Threshold> thresholds_;
  core::PerName<Meaning> meanings_;

  std::vector<std::pair<uint32_t, double>> present_;  // threshold and value of the listed fields of the sample at hand
  core::IdentityKey key_;
  core::IdentityTable entities_;
  std::vector<Memory> memory_;  // one a threshold, entity by entity
};

}  // namespace atalaya::value
