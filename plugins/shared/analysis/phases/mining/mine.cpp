// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/mining/mine.h"

#include <algorithm>
#include <map>
#include <utility>

#include "plugins/shared/analysis/phases/mining/repeats.h"

namespace atalaya::phases {
namespace {

// Minimum length of an exact run from which the number of threads is estimated.
constexpr size_t kMinExact = 8;
constexpr int kRounds = 3;

struct TimeInterval {
  size_t begin, end;
  size_t size() const { return end - begin; }
};

// Clusters parts of the trace: each part is added to the first profile that it matches.
class PhaseSet {
 public:
  explicit PhaseSet(const Likeness &likeness, std::span<const Profile> known = {})
      : likeness_(likeness), profiles_(known.begin(), known.begin() + static_cast<ptrdiff_t>(std::min(known.size(), kMaxPhases))) {}

  void add(const Profile &profile) {
    // Starts with the last profile, because parts of one phase often follow each other.
    if (!profiles_.empty() && match(profile, profiles_[last_], likeness_)) return profiles_[last_].add(profile);
    for (size_t i = 0; i < profiles_.size(); ++i) {
      if (!match(profile, profiles_[i], likeness_)) continue;
      last_ = i;
      return profiles_[i].add(profile);
    }
    if (profiles_.size() >= kMaxPhases) drop_smallest();
    last_ = profiles_.size();
    profiles_.push_back(profile);
  }
  std::vector<Profile> take() { return std::move(profiles_); }

 private:
  void drop_smallest() {
    profiles_.erase(std::min_element(profiles_.begin(), profiles_.end(),
                                     [](const Profile &a, const Profile &b) { return a.samples() < b.samples(); }));
  }

  const Likeness &likeness_;
  std::vector<Profile> profiles_;
  size_t last_ = 0;
};

class Miner {
 public:
  Miner(const Trace &trace, const MineOptions &options) : trace_(trace), options_(options) {}

  std::vector<TimeInterval> find() {
    std::vector<TimeInterval> found, rest;
    size_t at = 0;
    for (const Run &run : exact_runs(tokens_of(trace_), std::max(options_.minimum, kMinExact), kEpochs.back())) {
      found.push_back({run.begin, run.end});
      rest.push_back({at, run.begin});
      at = run.end;
    }
    rest.push_back({at, trace_.size()});
    for (auto size = kEpochs.rbegin(); size != kEpochs.rend() && *size * 2 >= options_.minimum; ++size)
      rest = search(rest, *size, found);
    std::sort(found.begin(), found.end(), [](const TimeInterval &a, const TimeInterval &b) { return a.begin < b.begin; });
    return found;
  }

 private:
  // Finds the parts where windows of this size match; returns the remaining parts.
  std::vector<TimeInterval> search(const std::vector<TimeInterval> &where, size_t window, std::vector<TimeInterval> &found) const {
    std::vector<TimeInterval> rest;
    for (const TimeInterval &time_interval : where) {
      size_t kept = time_interval.begin;
      const size_t step = std::max<size_t>(window / 4, 1);
      for (size_t at = time_interval.begin; at + 2 * window <= time_interval.end;) {
        const size_t end = grown(at, time_interval.end, window);
        if (end == at) {
          at += step;
          continue;
        }
        found.push_back({at, end});
        if (at > kept) rest.push_back({kept, at});
        at = kept = end;
      }
      if (time_interval.end > kept) rest.push_back({kept, time_interval.end});
    }
    return rest;
  }

  // The end of the matching windows that start at `begin`; `begin` if the first two do not match.
  size_t grown(size_t begin, size_t limit, size_t window) const {
    Profile all(trace_, begin, begin + window);
    const Profile next(trace_, begin + window, begin + 2 * window);
    if (!match(next, all, options_.likeness) || !is_stable(begin, window) || !is_stable(begin + window, window)) return begin;
    all.add(next);
    size_t end = begin + 2 * window;
    while (end + window <= limit) {
      const Profile more(trace_, end, end + window);
      if (!match(more, all, options_.likeness)) break;
      all.add(more);
      end += window;
    }
    return end;
  }

  // Whether both halves of the part match: then it does not consist of two phases.
  bool is_stable(size_t begin, size_t window) const {
    if (window < 2 * options_.minimum) return true;
    const Profile first(trace_, begin, begin + window / 2), second(trace_, begin + window / 2, begin + window);
    return similarity(first, second, options_.likeness.rare).times >= kMinAffinity &&
           !differ_in_threads(first.threads(), second.threads());
  }

  const Trace &trace_;
  const MineOptions &options_;
};

using Traces = std::span<const Trace *const>;
using RunSegments = std::vector<std::vector<Segment>>;

std::vector<Profile> profiles_of(Traces traces, const RunSegments &segments, const MineOptions &options) {
  std::vector<Profile> sums(kMaxPhases);
  for (size_t run = 0; run < traces.size(); ++run)
    for (const Segment &segment : segments[run])
      if (segment.phase != kNoPhase) sums[segment.phase].add(Profile(*traces[run], segment.begin, segment.end));
  PhaseSet phases(options.likeness);
  for (const Profile &sum : sums)
    if (sum.samples() >= options.minimum) phases.add(sum);
  return phases.take();
}

// Adds the known phases that match none of the new ones: their occurrences here may be too short to be found.
std::vector<Profile> with_missing(std::vector<Profile> phases, std::span<const Profile> known, const Likeness &likeness) {
  const size_t own = phases.size();
  for (const Profile &one : known) {
    const auto is_same = [&](const Profile &phase) { return nearly_match(phase, one, likeness); };
    if (phases.size() < kMaxPhases && std::none_of(phases.begin(), phases.begin() + static_cast<ptrdiff_t>(own), is_same))
      phases.push_back(one);
  }
  return phases;
}

// The context of a phase: its runs, and how often it occurs between which phases.
struct Places {
  std::vector<bool> runs;
  std::map<std::pair<int, int>, size_t> between;

  std::pair<int, int> usual() const {
    return std::max_element(between.begin(), between.end(), [](const auto &a, const auto &b) { return a.second < b.second; })
        ->first;
  }
};

std::vector<Places> places_of(size_t phases, const RunSegments &runs) {
  constexpr int kEnd = -1;
  std::vector<Places> places(phases, Places{std::vector<bool>(runs.size()), {}});
  for (size_t run = 0; run < runs.size(); ++run)
    for (size_t i = 0; i < runs[run].size(); ++i) {
      const uint8_t phase = runs[run][i].phase;
      if (phase == kNoPhase) continue;
      places[phase].runs[run] = true;
      ++places[phase].between[{i > 0 ? runs[run][i - 1].phase : kEnd, i + 1 < runs[run].size() ? runs[run][i + 1].phase : kEnd}];
    }
  return places;
}

bool are_alternatives(const Places &a, const Places &b) {
  if (a.between.empty() || b.between.empty() || a.usual() != b.usual()) return false;
  for (size_t run = 0; run < a.runs.size(); ++run)
    if (a.runs[run] && b.runs[run]) return false;
  return true;
}

// Merges phases that occur in the same contexts but never together; the first one remains.
void join_alternatives(std::vector<Profile> &phases, RunSegments &runs, const Likeness &likeness) {
  std::vector<Places> places = places_of(phases.size(), runs);
  for (uint8_t first = 0; first < phases.size(); ++first)
    for (uint8_t other = first + 1; other < phases.size(); ++other) {
      if (!are_alternatives(places[first], places[other]) || !nearly_match(phases[first], phases[other], likeness)) continue;
      phases[first].add(phases[other]);
      for (std::vector<Segment> &segments : runs)
        for (Segment &segment : segments)
          if (segment.phase == other) segment.phase = first;
      places = places_of(phases.size(), runs);
    }
}

// A new phase may be a known phase that is missing in these runs, with different shares.
void find_known(std::vector<MinedPhase> &phases, std::span<const Profile> known, const Likeness &likeness) {
  const auto is_known = [&](const MinedPhase &phase, const Profile &one) { return match(phase.profile, one, likeness); };
  std::vector<bool> seen(known.size());
  for (size_t i = 0; i < known.size(); ++i)
    seen[i] = std::any_of(phases.begin(), phases.end(), [&](const MinedPhase &phase) { return is_known(phase, known[i]); });
  for (MinedPhase &phase : phases) {
    if (std::any_of(known.begin(), known.end(), [&](const Profile &one) { return is_known(phase, one); })) continue;
    for (size_t i = 0; i < known.size() && !phase.known; ++i)
      if (!seen[i] && nearly_match(phase.profile, known[i], likeness)) phase.known = i, seen[i] = true;
  }
}

// Numbers the phases in the order of their first segments; phases without segments are removed.
std::vector<Profile> in_order(std::vector<Profile> phases, RunSegments &runs) {
  std::vector<uint8_t> numbers(phases.size(), kNoPhase);
  std::vector<Profile> ordered;
  for (std::vector<Segment> &segments : runs)
    for (Segment &segment : segments) {
      if (segment.phase == kNoPhase) continue;
      uint8_t &number = numbers[segment.phase];
      if (number == kNoPhase) {
        number = static_cast<uint8_t>(ordered.size());
        ordered.push_back(std::move(phases[segment.phase]));
      }
      segment.phase = number;
    }
  return ordered;
}

// The epoch of a phase: the smallest of kEpochs for which 95 % of the windows in its segments match its profile; otherwise the
// largest one that fits.
size_t epoch_of(uint8_t phase, const Profile &profile, Traces traces, const RunSegments &segments, const Likeness &likeness) {
  constexpr size_t kMostWindows = 400;
  constexpr double kOften = 0.95;
  size_t largest = 1;
  for (const size_t size : kEpochs) {
    size_t windows = 0, matching = 0;
    for (size_t run = 0; run < traces.size(); ++run)
      for (const Segment &segment : segments[run])
        for (size_t at = segment.begin; segment.phase == phase && at + size <= segment.end && windows < kMostWindows;
             at += size, ++windows)
          matching += match(Profile(*traces[run], at, at + size), profile, likeness) ? 1 : 0;
    if (windows == 0) break;
    largest = size;
    if (static_cast<double>(matching) >= kOften * static_cast<double>(windows)) break;
  }
  return largest;
}

}  // namespace

MinedRuns mine(Traces traces, std::span<const Profile> known, const MineOptions &options) {
  PhaseSet set(options.likeness, known);
  for (const Trace *trace : traces)
    for (const TimeInterval &time_interval : Miner(*trace, options).find())
      if (time_interval.size() >= options.minimum) set.add(Profile(*trace, time_interval.begin, time_interval.end));
  std::vector<Profile> phases = set.take();
  MinedRuns mined;
  mined.segments.resize(traces.size());
  for (int round = 1; round <= kRounds; ++round) {
    const size_t minimum = known.empty() && round < kRounds ? options.minimum : options.min_known_samples();
    for (size_t run = 0; run < traces.size(); ++run)
      if (traces[run]->size() >= options.minimum) mined.segments[run] = best_segments(*traces[run], phases, minimum);
    if (round < kRounds) phases = with_missing(profiles_of(traces, mined.segments, options), known, options.likeness);
  }
  for (size_t run = 0; run < traces.size(); ++run) leave_out_unlike(*traces[run], phases, options.likeness, mined.segments[run]);
  join_alternatives(phases, mined.segments, options.likeness);
  for (Profile &profile : in_order(std::move(phases), mined.segments)) mined.phases.push_back({std::move(profile), 1, {}});
  for (size_t i = 0; i < mined.phases.size(); ++i)
    mined.phases[i].epoch = epoch_of(static_cast<uint8_t>(i), mined.phases[i].profile, traces, mined.segments, options.likeness);
  find_known(mined.phases, known, options.likeness);
  return mined;
}

Mined mine(const Trace &trace, const MineOptions &options) {
  const Trace *const one = &trace;
  MinedRuns mined = mine(std::span(&one, 1), {}, options);
  return {std::move(mined.phases), std::move(mined.segments.front())};
}

}  // namespace atalaya::phases
