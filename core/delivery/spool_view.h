// SPDX-License-Identifier: Apache-2.0
// Reads a spool without its lock and without changes, also while an agent uses it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/delivery/segment.h"
#include "core/delivery/spool_state.h"

namespace atalaya::core {

struct SpoolView {
  struct File {
    uint64_t name = 0, size = 0;  // name: sequence of its first record
    std::string path;
  };
  SpoolState state;  // the last stored state
  bool has_state = false;
  std::vector<File> segments;  // segments with undelivered records
};

// Returns an error if the folder contains no spool.
Result<SpoolView> view_spool(const std::string &dir);

std::string segment_path(const std::string &dir, uint64_t segment);
// The segments of a folder, in the order of their records.
std::vector<SpoolView::File> list_segments(const std::string &dir);

// Calls `found` for each unsettled record and each damaged part, in their order, until it returns false.
using FoundInSpool = std::function<bool(const SpoolView::File &, const SegmentReader::Found &)>;
void walk_spool(const SpoolView &view, bool check_bodies, const FoundInSpool &found);

}  // namespace atalaya::core
