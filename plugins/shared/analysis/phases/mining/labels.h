// SPDX-License-Identifier: Apache-2.0
// Assigns a phase to each sample: the sequence of phases with the highest likelihood, in which each change has a cost. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plugins/shared/analysis/phases/mining/trace.h"
#include "plugins/shared/analysis/phases/models/profile.h"

namespace atalaya::phases {

inline constexpr uint8_t kNoPhase = UINT8_MAX;
inline constexpr size_t kMaxPhases = 63;  // phases of one process: a bit each, and one for kNoPhase

struct Segment {
  size_t begin = 0, end = 0;
  uint8_t phase = kNoPhase;
  size_t size() const { return end - begin; }
  bool operator==(const Segment &) const = default;
};

// How well single samples fit phases. Symbols at or above `symbols` are treated as unseen ones.
class Fit {
 public:
  Fit(std::span<const Profile> phases, uint32_t symbols);
  // Computes the log-likelihood of the sample for each phase; the last element is for no phase.
  void rate(const Trace &trace, size_t sample, std::span<double> fits) const;
  size_t states() const { return phases_ + 1; }

 private:
  size_t phases_;
  uint32_t symbols_;
  std::vector<float> logs_;  // log probabilities by symbol and phase
  std::vector<float> unseen_logs_;
  std::vector<double> means_, deviations_;  // mean and deviation of the number of threads, by phase
};

// Finds the sample at which `phase` starts or ends in the first `samples` of a trace, with the highest likelihood. The samples
// on the other side all belong to one other phase, or to none.
enum class Side : uint8_t { begin, end };
size_t border(const Trace &trace, std::span<const Profile> phases, size_t phase, size_t samples, Side side);

// Divides the complete trace into segments. Segments shorter than `minimum` are merged into their neighbours.
std::vector<Segment> best_segments(const Trace &trace, std::span<const Profile> phases, size_t minimum);
// Assigns a segment that is too unlike its phase to no phase.
void leave_out_unlike(const Trace &trace, std::span<const Profile> phases, const Likeness &likeness,
                      std::vector<Segment> &segments);

}  // namespace atalaya::phases
