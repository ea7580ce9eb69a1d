// SPDX-License-Identifier: Apache-2.0
// Finds the phases of a trace: exact repeats first, then windows that are alike, larger ones first. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plugins/shared/analysis/phases/labels.h"
#include "plugins/shared/analysis/phases/profile.h"
#include "plugins/shared/analysis/phases/trace.h"

namespace atalaya::phases {

// Sizes of epochs in samples.
inline constexpr std::array<size_t, 12> kEpochs = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

struct MineOptions {
  Likeness likeness;
  size_t least = 5;  // samples of a phase without interruption
};

struct MinedPhase {
  Profile profile;
  size_t epoch = 1;  // the least number of samples that show what the phase does
};

struct Mined {
  std::vector<MinedPhase> phases;
  std::vector<Segment> segments;  // of the whole trace, in order
};

Mined mine(const Trace &trace, const MineOptions &options);

// The smallest of kEpochs whose windows in these parts of the trace match the profile in 95 of 100 cases; else the largest that
// fits.
size_t epoch_of(const Trace &trace, const Profile &profile, const std::vector<Segment> &segments, const Likeness &likeness);

}  // namespace atalaya::phases
