// SPDX-License-Identifier: Apache-2.0
// Which phase each sample belongs to: the sequence of phases with the highest likelihood, where each change costs. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plugins/shared/analysis/phases/mining/trace.h"
#include "plugins/shared/analysis/phases/models/profile.h"

namespace atalaya::phases {

inline constexpr uint8_t kNoPhase = UINT8_MAX;
inline constexpr size_t kMaxPhases = 63;  // of one process: a bit each, and one for kNoPhase

struct Segment {
  size_t begin = 0, end = 0;
  uint8_t phase = kNoPhase;
  size_t size() const { return end - begin; }
  bool operator==(const Segment &) const = default;
};

// How well single samples fit phases. Symbols at or above `symbols` are as unexpected as unseen ones.
class Fit {
 public:
  Fit(std::span<const Profile> phases, uint32_t symbols);
  // Logarithms of likelihoods, for each phase and at the end for none of them.
  void rate(const Trace &trace, size_t sample, std::span<double> fits) const;
  size_t states() const { return phases_ + 1; }

 private:
  size_t phases_;
  uint32_t symbols_;
  std::vector<float> logs_;  // by symbol and phase
  std::vector<float> unseen_logs_;
  std::vector<double> means_, deviations_;  // of threads
};

// Where a phase ends, or begins, in the first samples of a trace: the samples on the other side are all of one other phase, or of
// none. The most likely place.
enum class Side : uint8_t { begin, end };
size_t border(const Trace &trace, std::span<const Profile> phases, size_t phase, size_t samples, Side side);

// Covers the whole trace. Segments shorter than `least` belong to their neighbours.
std::vector<Segment> best_segments(const Trace &trace, std::span<const Profile> phases, size_t least);
// A segment that is too unlike its phase becomes one of none.
void leave_out_unlike(const Trace &trace, std::span<const Profile> phases, const Likeness &likeness,
                      std::vector<Segment> &segments);

}  // namespace atalaya::phases
