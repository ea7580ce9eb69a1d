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
  size_t least = 5;      // samples of a phase without interruption
  size_t min_known = 3;  // the same of a phase that is known from longer occurrences; at most `least`

  size_t min_known_samples() const { return std::min(least, min_known); }
};

struct MinedPhase {
  Profile profile;
  size_t epoch = 1;             // the least number of samples that show what the phase does
  std::optional<size_t> known;  // the known phase that it is an alternative of
};

struct Mined {
  std::vector<MinedPhase> phases;
  std::vector<Segment> segments;  // of the whole trace, in order
};

Mined mine(const Trace &trace, const MineOptions &options);

// The phases that several runs of a program have in common, and the segments of each run, in the order of the traces, whose symbols
// are common. `known`: phases of earlier runs, so that one run alone is divided as the others were; those without a segment are
// left out. Alternatives are one phase: they nearly match, never occur in one run, and have the same neighbours.
struct MinedRuns {
  std::vector<MinedPhase> phases;
  std::vector<std::vector<Segment>> segments;  // none of a trace that is shorter than a phase
};
MinedRuns mine(std::span<const Trace *const> traces, std::span<const Profile> known, const MineOptions &options);

}  // namespace atalaya::phases
