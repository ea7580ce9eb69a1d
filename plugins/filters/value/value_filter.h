// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/filters/value/resting.h"
#include "plugins/shared/io/samples/identity.h"
#include "plugins/shared/io/samples/per_name.h"

namespace atalaya::value {

// Passes a sample if at least one of the listed fields reaches its threshold.
class ValueFilter final : public Filter {
 public:
  static constexpr Param kParams[] = {
      param::number("*", "A metric and the threshold to reach, in the metric's unit").allowed("*.*"),
      param::boolean("below", "Invert the comparison: values at or below the threshold reach it").defaults("false"),
      param::boolean("change", "Thresholds apply to the change since the last kept value of the same entity").defaults("false"),
      param::number("hysteresis", "Margin, in % of the threshold, before an entity that was kept is dropped again")
          .defaults("0")
          .range(0, 100)
          .unit("%"),
      param::choice("absent", "drop|pass", "Handling of samples of a listed family (first word of a metric) without a listed field")
          .defaults("drop"),
      param::duration("rest", "Merge the samples below the thresholds into one per entity and this time (default: drop them)")
          .range(1e8, 300e9),
  };
  static constexpr Description description = {
      .name = "value"_str, .summary = "Keep samples whose values reach a threshold"_str, .params = kParams, .flags = ATALAYA_HOLDS};

  explicit ValueFilter(Host host);
  Code process(const Window &window, Batch &batch) override;

 private:
  struct Threshold {
    std::string metric;
    double value;
    uint32_t name;       // id of the metric
    uint32_t place = 0;  // position of the field in the last searched sample: the next samples mostly have the same layout
  };
  // How the filter treats a field name.
  struct FieldRule {
    bool in_family = false;
    bool listed = false;
    uint32_t threshold = 0;
  };
  // The state of one listed field of one entity.
  struct FieldState {
    double last_kept = std::numeric_limits<double>::quiet_NaN();
    bool reached = false;
  };

  uint64_t compact(const Window &window, Batch &batch);
  FieldRule rule(uint32_t name);
  void add_present(uint32_t threshold, const atalaya_field &field);
  bool find_at_places(const Sample &sample);
  bool find_by_search(const Sample &sample);
  bool keeps(const Sample &sample);
  bool reaches(double value, const Threshold &threshold, bool reached_before) const;
  bool keeps_by_memory(FieldState *memory);
  std::string_view identity_of(const Sample &sample);
  FieldState *memory_of(const Sample &sample);

  Host host_;
  bool below_, change_, pass_absent_;
  double hysteresis_;
  std::vector<Threshold> thresholds_;
  io::PerName<FieldRule> meanings_;

  std::vector<std::pair<uint32_t, double>> present_;  // threshold and value of the listed fields of the current sample
  io::IdentityKey key_;
  std::string_view identity_;  // hash key of the current sample's tags; empty: not computed yet
  io::IdentityTable entities_;
  std::vector<FieldState> memory_;  // index: entity x number of thresholds + threshold
  std::optional<Resting> resting_;
};

}  // namespace atalaya::value
