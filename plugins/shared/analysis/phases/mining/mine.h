// SPDX-License-Identifier: Apache-2.0
// Finds the phases of a trace: exact repeats first, then windows that are alike, larger ones first. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plugins/shared/analysis/phases/mining/labels.h"
#include "plugins/shared/analysis/phases/mining/trace.h"
#include "plugins/shared/analysis/phases/models/profile.h"

namespace atalaya::phases {

// Sizes of epochs in samples.
inline constexpr std::array<size_t, 12> kEpochs = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

struct MineOptions {
  Likeness likeness;
  size_t minimum = 5;    // minimum samples of a phase without interruption
  size_t min_known = 3;  // the minimum for a phase that is known from longer occurrences; maximum `minimum`

  size_t min_known_samples() const { return std::min(minimum, min_known); }
};

struct MinedPhase {
  Profile profile;
  size_t epoch = 1;             // minimum number of samples that characterise the phase
  std::optional<size_t> known;  // the known phase of which this one is an alternative
};

struct Mined {
  std::vector<MinedPhase> phases;
  std::vector<Segment> segments;  // segments of the complete trace, in order
};

Mined mine(const Trace &trace, const MineOptions &options);

// The phases that several runs of a program have in common, and the segments of each run in the order of the traces, which
// share one table of symbols. `known`: phases of earlier runs, so that a single run is divided as the earlier ones; known
// phases without a segment are omitted. Alternatives are merged: they nearly match, never occur in one run, and have the same
// neighbours.
struct MinedRuns {
  std::vector<MinedPhase> phases;
  std::vector<std::vector<Segment>> segments;  // by trace; empty for a trace that is shorter than a phase
};
MinedRuns mine(std::span<const Trace *const> traces, std::span<const Profile> known, const MineOptions &options);

}  // namespace atalaya::phases
