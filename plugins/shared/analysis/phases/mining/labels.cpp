// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/mining/labels.h"

#include <algorithm>
#include <cmath>

namespace atalaya::phases {
namespace {

// Maximum number of independent threads that a sample counts as: threads of one dump are not independent.
constexpr double kThreads = 8;
// Minimum expected share of threads in any function (smoothing), in a phase and if no phase is known.
constexpr double kNoise = 0.1, kUnknown = 0.3;
// Maximum penalty for an unusual number of threads in a phase, and the constant penalty if no phase is known.
constexpr double kMaxThreadCost = 8, kUnknownThreadCost = 1;

// The standard deviation of a number of threads; it has a minimum, because the number is an integer and never constant.
double spread_of(const Moments &threads) {
  return std::max({threads.deviation(), 0.5, 0.1 * threads.mean});
}

std::vector<Segment> segments_of(std::span<const uint8_t> labels) {
  std::vector<Segment> segments;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (segments.empty() || segments.back().phase != labels[i]) segments.push_back({i, i, labels[i]});
    segments.back().end = i + 1;
  }
  return segments;
}

void join_equal(std::vector<Segment> &segments) {
  size_t kept = 0;
  for (const Segment &segment : segments) {
    if (kept > 0 && segments[kept - 1].phase == segment.phase)
      segments[kept - 1].end = segment.end;
    else
      segments[kept++] = segment;
  }
  segments.resize(kept);
}

// Adds a short segment to the adjacent segment that it fits better.
class Absorber {
 public:
  Absorber(const Trace &trace, const Fit &fit) : trace_(trace), fit_(fit), fits_(fit.states()), sums_(fit.states()) {}

  void absorb(std::vector<Segment> &segments, size_t minimum) {
    for (size_t i = 0; i < segments.size(); ++i) {
      if (segments[i].size() >= minimum || segments.size() == 1) continue;
      const bool has_next = i + 1 < segments.size();
      const bool to_next = i == 0 || (has_next && is_better(segments[i], segments[i + 1].phase, segments[i - 1].phase));
      segments[i].phase = to_next ? segments[i + 1].phase : segments[i - 1].phase;
    }
    join_equal(segments);
  }

 private:
  bool is_better(const Segment &segment, uint8_t one, uint8_t other) {
    std::fill(sums_.begin(), sums_.end(), 0);
    for (size_t i = segment.begin; i < segment.end; ++i) {
      fit_.rate(trace_, i, fits_);
      for (size_t s = 0; s < sums_.size(); ++s) sums_[s] += fits_[s];
    }
    return sums_[state_of(one)] > sums_[state_of(other)];
  }
  size_t state_of(uint8_t phase) const { return phase == kNoPhase ? sums_.size() - 1 : phase; }

  const Trace &trace_;
  const Fit &fit_;
  std::vector<double> fits_, sums_;
};

}  // namespace

Fit::Fit(std::span<const Profile> phases, uint32_t symbols) : phases_(phases.size()), symbols_(symbols) {
  const double rest = 1.0 / std::max<double>(symbols, 2);
  logs_.resize(size_t{symbols} * states(), static_cast<float>(std::log(kNoise * rest)));
  for (size_t symbol = 0; symbol < symbols; ++symbol)
    logs_[symbol * states() + phases_] = static_cast<float>(std::log(kUnknown * rest));
  for (size_t phase = 0; phase < phases_; ++phase) {
    const Profile &profile = phases[phase];
    for (const Part &part : profile.parts())
      if (part.symbol < symbols)
        logs_[part.symbol * states() + phase] =
            static_cast<float>(std::log((1 - kNoise) * part.threads / profile.total() + kNoise * rest));
    means_.push_back(profile.threads().mean);
    deviations_.push_back(spread_of(profile.threads()));
  }
  unseen_logs_.assign(states(), static_cast<float>(std::log(kNoise * rest)));
  unseen_logs_.back() = static_cast<float>(std::log(kUnknown * rest));
}

void Fit::rate(const Trace &trace, size_t sample, std::span<double> fits) const {
  std::fill(fits.begin(), fits.end(), 0);
  double total = 0;
  for (const Part &part : trace.parts(sample)) {
    total += part.threads;
    const float *const logs = part.symbol < symbols_ ? &logs_[size_t{part.symbol} * states()] : unseen_logs_.data();
    for (size_t s = 0; s < fits.size(); ++s) fits[s] += part.threads * logs[s];
  }
  const double weight = total > kThreads ? kThreads / total : 1;
  for (double &fit : fits) fit *= weight;
  double widest = 0.5;
  for (size_t phase = 0; phase < phases_; ++phase) {
    const double off = (trace.threads(sample) - means_[phase]) / deviations_[phase];
    fits[phase] -= std::min(off * off / 2, kMaxThreadCost) + std::log(deviations_[phase]);
    widest = std::max(widest, deviations_[phase]);
  }
  fits.back() -= kUnknownThreadCost + std::log(widest);
}

size_t border(const Trace &trace, std::span<const Profile> phases, size_t phase, size_t samples, Side side) {
  const Fit fit(phases, trace.symbols());
  // By other phase: the sum of log-likelihood ratios of these samples for `phase`, its maximum, and the number of samples up to it.
  std::vector<double> fits(fit.states()), sums(fit.states(), 0), highest(fit.states(), 0);
  std::vector<size_t> own(fit.states(), 0);
  for (size_t i = 0; i < samples; ++i) {
    fit.rate(trace, side == Side::end ? i : samples - 1 - i, fits);
    for (size_t other = 0; other < fits.size(); ++other) {
      sums[other] += fits[phase] - fits[other];
      if (sums[other] < highest[other]) continue;
      highest[other] = sums[other];
      own[other] = i + 1;
    }
  }
  // The expected ratio, from all samples of `phase`: the comparison of the phase with itself.
  size_t best = phase;
  for (size_t other = 0; other < fits.size(); ++other)
    if (highest[other] - sums[other] > highest[best] - sums[best]) best = other;
  return side == Side::end ? own[best] : samples - own[best];
}

std::vector<Segment> best_segments(const Trace &trace, std::span<const Profile> phases, size_t minimum) {
  if (trace.size() == 0) return {};
  const Fit fit(phases, trace.symbols());
  const size_t states = fit.states();
  const double change = 4 + 2 * std::log(static_cast<double>(trace.size()));
  std::vector<double> best(states, 0), fits(states);
  std::vector<uint64_t> changed(trace.size(),
                                0);            // by sample: a bit for each state whose best path comes from another state (Viterbi)
  std::vector<uint8_t> from(trace.size(), 0);  // the previous state of such a path
  for (size_t i = 0; i < trace.size(); ++i) {
    fit.rate(trace, i, fits);
    const auto leader = std::max_element(best.begin(), best.end());
    const double after_change = *leader - change;
    from[i] = static_cast<uint8_t>(leader - best.begin());
    const double highest = *leader;
    for (size_t s = 0; s < states; ++s) {
      const bool is_changed = i > 0 && after_change > best[s];
      if (is_changed) changed[i] |= uint64_t{1} << s;
      best[s] = (is_changed ? after_change : best[s]) + fits[s] - highest;
    }
  }
  std::vector<uint8_t> labels(trace.size());
  auto state = static_cast<size_t>(std::max_element(best.begin(), best.end()) - best.begin());
  for (size_t i = trace.size(); i-- > 0;) {
    labels[i] = state + 1 == states ? kNoPhase : static_cast<uint8_t>(state);
    if ((changed[i] >> state & 1) != 0) state = from[i];
  }
  std::vector<Segment> segments = segments_of(labels);
  Absorber(trace, fit).absorb(segments, minimum);
  return segments;
}

void leave_out_unlike(const Trace &trace, std::span<const Profile> phases, const Likeness &likeness,
                      std::vector<Segment> &segments) {
  for (Segment &segment : segments) {
    if (segment.phase == kNoPhase) continue;
    const Similarity found = similarity(Profile(trace, segment.begin, segment.end), phases[segment.phase], likeness.rare);
    if (found.times < kMinAffinity) segment.phase = kNoPhase;
  }
}

}  // namespace atalaya::phases
