// SPDX-License-Identifier: Apache-2.0
// Looking at a spool without owning it: nothing is changed, and an agent may work on it meanwhile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/delivery/segment.h"
#include "core/delivery/spool_state.h"

namespace atalaya::core {

struct SpoolView {
  struct File {
    uint64_t name = 0, size = 0;
    std::string path;
  };
  SpoolState state;  // as last stored
  bool has_state = false;
  std::vector<File> segments;  // those not fully delivered
};

// The error says when there is no spool.
Result<SpoolView> look_at_spool(const std::string &dir);

std::string segment_path(const std::string &dir, uint64_t segment);
// Segments of a folder, in order.
std::vector<SpoolView::File> list_segments(const std::string &dir);

// Calls `found` for every record and every damaged part that is not settled, in order, until it returns false.
using FoundInSpool = std::function<bool(const SpoolView::File &, const SegmentReader::Found &)>;
void walk_spool(const SpoolView &view, bool check_bodies, const FoundInSpool &found);

}  // namespace atalaya::core
