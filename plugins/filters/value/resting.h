// SPDX-License-Identifier: Apache-2.0
// Merges the samples below the thresholds over time: one sample covers several windows of an entity. Invariant: the integral of a
// field over the merged sample is the sum of the integrals of its parts, and a gauge is equal in all parts. So averages, minimums
// and maximums are the same with and without merging.
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
  // A merged sample ends at a multiple of `every_ns`, or earlier: when its entity reaches a threshold, ends, changes a gauge or
  // gets other fields, and in the last window. An input sample may itself cover several windows.
  Resting(Host host, int64_t every_ns);

  // Adds the sample of the entity with this identity. Returns false if the sample cannot be merged: it has no duration, or there
  // are too many entities.
  bool add(const Window &window, const Sample &sample, std::string_view identity);
  // Completes the merged sample of an entity that reached a threshold.
  void complete_entity(std::string_view identity);
  // Appends the complete samples; returns their number.
  uint64_t end_window(const Window &window, Batch &batch);

 private:
  // One field of a merged sample.
  struct Sum {
    atalaya_field field{};  // the last value; of a delta the sum
    double integral = 0;    // for a rate: sum of value x duration in ns
  };
  struct Entity {
    std::vector<std::pair<uint32_t, std::string>> tags;
    std::vector<Sum> sums;
    int64_t from_ns = 0, until_ns = 0;  // range of the merged sample; equal: there is none
    uint64_t seen = 0;                  // number of the last window with a sample of the entity
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
  bool can_merge(const Entity &entity, const Sample &sample, int64_t from_ns);
  void finish(Entity &entity);
  void append(Entity &entity, const Sample &sample, int64_t duration_ns);
  void emit(const Entity &entity, Batch &batch);
  const Form &form_of(uint32_t name);

  Host host_;
  const int64_t every_ns_;
  uint64_t window_ = 1;
  io::IdentityTable ids_;
  std::vector<Entity> entities_;  // the first ids_.size() are in use
  io::PerName<Form> merge_forms_;
  std::vector<Entity> finished_;  // completed in this window; the first finished_count_ are in use
  size_t finished_count_ = 0;
};

}  // namespace atalaya::value
