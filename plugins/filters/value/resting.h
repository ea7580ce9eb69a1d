// SPDX-License-Identifier: Apache-2.0
// Samples below the thresholds, merged over time: one sample covers all the time of its parts. The integral of a field over merged
// samples is the sum of the integrals of the parts, and gauges and counts are those of each part, so averages, minimums and
// maximums of gauges are the same as without merging.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/shared/io/samples/identity.h"
#include "plugins/shared/io/samples/per_name.h"

namespace atalaya::value {

class Resting {
 public:
  // A merged sample ends at a multiple of this time, or earlier: when its entity reaches a threshold, ends, changes a gauge or gets
  // other fields, and in the last window. An entity may come in some windows only, with samples that are merged already.
  Resting(Host host, int64_t every_ns);

  // Takes the sample of this identity. False: it cannot be merged, because it covers no time or there are too many entities.
  bool add(const Window &window, const Sample &sample, std::string_view identity);
  // The entity reached a threshold: its merged sample is complete.
  void complete_entity(std::string_view identity);
  // Appends the complete samples; returns their number.
  uint64_t end_window(const Window &window, Batch &batch);

 private:
  // A field over the time of its entity.
  struct Sum {
    atalaya_field field{};  // the last value; of deltas the amount
    double integral = 0;    // of rates: value x ns
  };
  struct Entity {
    std::vector<std::pair<uint32_t, std::string>> tags;
    std::vector<Sum> sums;
    int64_t from_ns = 0, until_ns = 0;  // equal: nothing is merged
    uint64_t seen = 0;                  // window
  };
  struct Form {
    uint32_t kind = ATALAYA_GAUGE;
    int decimals = -1;  // -1: values are not rounded
    bool is_averaged(const atalaya_field &field) const { return kind == ATALAYA_RATE && field.type == ATALAYA_F64; }
    bool must_be_equal(const atalaya_field &field) const {
      return kind != ATALAYA_DELTA && kind != ATALAYA_TOTAL && !is_averaged(field);
    }
  };

  Entity *entity_of(const Sample &sample, std::string_view identity);
  bool continues(const Entity &entity, const Sample &sample, int64_t from_ns);
  void finish(Entity &entity);
  void append(Entity &entity, const Sample &sample, int64_t duration_ns);
  void give(const Entity &entity, Batch &batch);
  const Form &form_of(uint32_t name);

  Host host_;
  const int64_t every_ns_;
  uint64_t window_ = 1;
  io::IdentityTable ids_;
  std::vector<Entity> entities_;  // the first ids_.size() are in use
  io::PerName<Form> forms_;
  std::vector<Entity> finished_;  // of this window, before its end; the first finished_count_ are in use
  size_t finished_count_ = 0;
};

}  // namespace atalaya::value
