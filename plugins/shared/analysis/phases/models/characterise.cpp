// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/models/characterise.h"

#include <algorithm>
#include <utility>

#include "plugins/shared/analysis/phases/mining/labels.h"

namespace atalaya::phases {
namespace {

// A phase is recognised when the number of its matching epochs minus the other epochs reaches this.
constexpr int kSure = 5;

void join(Occurrence &first, const Occurrence &second) {
  first.end_ns = second.end_ns;
  first.threads.add(second.threads);
  first.usage.add(second.usage);
}

}  // namespace

std::optional<size_t> PhaseBook::number_of(const MinedPhase &phase) {
  for (size_t i = 0; i < profiles_.size(); ++i)
    if (match(phase.profile, profiles_[i], likeness_)) return i;
  return add(phase) ? std::optional(profiles_.size() - 1) : std::nullopt;
}

bool PhaseBook::add(const MinedPhase &phase) {
  if (profiles_.size() >= kMaxPhases) return false;
  profiles_.push_back(phase.profile);
  epochs_.push_back(phase.epoch);
  return true;
}

void Characteriser::add(const OnlineSample &sample, std::vector<Occurrence> &changed) {
  trace_.add(sample.time_ns, sample.parts, sample.threads);
  durations_ns_.push_back(sample.duration_ns);
  resources_.push_back(sample.resources);
  if (current_) return follow(changed);
  characterise(changed);
  if (!current_ && trace_.size() >= options_.buffer) learn(changed);
}

void Characteriser::finish(std::vector<Occurrence> &changed) {
  if (current_) end(samples_of_phase(current_->phase, trace_.size()), changed);
  if (trace_.size() >= 2 * options_.minimum)
    learn(changed);
  else if (trace_.size() >= min_known())
    place(without_unlike(best_segments(trace_, book_.profiles(), min_known())), known_numbers(), changed);
  else
    extend_last(trace_.size(), changed);
  if (current_) end(0, changed);
  drop(trace_.size());
  last_.reset();
  learned_phase_ = {};
}

// A phase continues while its epochs match. One of 20 epochs may differ by chance: it ends the phase only if some of its samples
// are unlikely, or if the next epoch differs too. The last matching epoch stays in the buffer, because the end may be in it.
void Characteriser::follow(std::vector<Occurrence> &changed) {
  const size_t epoch = std::max(book_.epoch(current_->phase), learned_phase_.epoch);
  const size_t seen = matched_ + doubted_;
  if (trace_.size() < seen + epoch) return;
  if (matches(Profile(trace_, seen, trace_.size()), current_->phase)) {
    take(seen);
    matched_ = trace_.size();
    doubted_ = 0;
    return;
  }
  const size_t last = samples_of_phase(current_->phase, trace_.size());
  if (last == trace_.size() && doubted_ == 0) {
    doubted_ = epoch;
    return;
  }
  end(last == trace_.size() ? matched_ : last, changed);
  characterise(changed);
}

// Tries all sizes of epochs, the smallest first.
void Characteriser::characterise(std::vector<Occurrence> &changed) {
  if (trials_.empty())
    for (const size_t size : kEpochs) trials_.push_back({size, 0, {}});
  for (Trial &trial : trials_) {
    const auto phase = advance(trial);
    if (!phase) continue;
    recognise(*phase, trial.candidates[*phase].begin, trial, changed);
    return;
  }
}

// Labels the samples before a recognised phase, which belong to phases shorter than five epochs or to none. The most likely labels
// usually end with this phase; otherwise it starts where its own samples become likely. Its epochs start at `matching`.
void Characteriser::recognise(size_t phase, size_t matching, const Trial &trial, std::vector<Occurrence> &changed) {
  const size_t seen = trial.position, certain = std::min(matching + trial.size, seen);
  const std::vector<Segment> likely = best_segments(trace_, book_.profiles(), min_known());
  if (has_unknown(likely, matching)) {
    trials_.clear();
    return learn(changed);
  }
  const std::vector<Segment> segments = without_unlike(likely);
  if (segments.back().phase == phase && segments.back().begin < certain) return place(segments, known_numbers(), changed);
  const size_t first = border(trace_, book_.profiles(), phase, certain, Side::begin);
  begin(phase, first, changed);
  take(seen - first);
}

std::optional<size_t> Characteriser::advance(Trial &trial) {
  trial.candidates.resize(book_.size());
  for (; trial.position + trial.size <= trace_.size(); trial.position += trial.size) {
    std::optional<Profile> epoch;
    for (size_t i = 0; i < book_.size(); ++i) {
      if (book_.epoch(i) != trial.size) continue;
      if (!epoch) epoch.emplace(trace_, trial.position, trial.position + trial.size);
      Candidate &candidate = trial.candidates[i];
      if (!matches(*epoch, i)) {
        candidate.confidence = std::max(candidate.confidence - 1, 0);
        continue;
      }
      if (candidate.confidence++ == 0) candidate.begin = trial.position;
      if (candidate.confidence < kSure) continue;
      trial.position += trial.size;
      return i;
    }
  }
  return std::nullopt;
}

// Whether the samples match the phase in the book, or its current or last occurrence, which may have other shares of functions.
bool Characteriser::matches(const Profile &epoch, size_t phase) const {
  return match(epoch, book_.profiles()[phase], book_.likeness()) ||
         (learned_phase_.known == phase && match(epoch, learned_phase_.profile, book_.likeness()));
}

std::vector<Segment> Characteriser::without_unlike(std::vector<Segment> segments) const {
  leave_out_unlike(trace_, book_.profiles(), book_.likeness(), segments);
  return segments;
}

// Whether the samples before `end` may contain a new phase: enough of them do not match the phases that explain them best.
bool Characteriser::has_unknown(std::vector<Segment> segments, size_t end) const {
  std::erase_if(segments, [end](const Segment &segment) { return segment.begin >= end; });
  if (!segments.empty()) segments.back().end = std::min(segments.back().end, end);
  size_t unknown = 0;
  for (const Segment &segment : without_unlike(std::move(segments))) unknown += segment.phase == kNoPhase ? segment.size() : 0;
  return unknown >= 2 * options_.minimum;
}

Characteriser::Numbers Characteriser::known_numbers() const {
  Numbers numbers;
  for (size_t i = 0; i < book_.size(); ++i) numbers.emplace_back(i);
  return numbers;
}

// Mines the complete buffer, with known phases where they match; its last phase continues.
void Characteriser::learn(std::vector<Occurrence> &changed) {
  const Trace *const one = &trace_;
  const MinedRuns mined = mine(std::span(&one, 1), book_.profiles(), mining());
  Numbers numbers;
  for (const MinedPhase &phase : mined.phases) numbers.push_back(phase.known ? phase.known : book_.number_of(phase));
  const std::vector<Segment> &segments = mined.segments.front();
  place(segments, numbers, changed);
  if (trace_.size() > 0 && current_) end(0, changed);
  if (current_ && mined.phases[segments.back().phase].known) learned_phase_.epoch = mined.phases[segments.back().phase].epoch;
  // Samples without a phase are not searched again.
  if (trace_.size() > options_.buffer / 2) drop(trace_.size() - options_.buffer / 2);
}

// Converts segments of the trace to occurrences; the last one becomes the current one.
void Characteriser::place(const std::vector<Segment> &segments, const Numbers &numbers, std::vector<Occurrence> &changed) {
  size_t rest = 0;
  for (Segment segment : segments) {
    const auto number = segment.phase == kNoPhase ? std::nullopt : numbers[segment.phase];
    if (!number) continue;
    if (current_) {
      end(0, changed);
    } else if (last_ && last_->phase != *number) {
      // The end of the last phase, if shorter than a phase, became a part of this segment: it is returned to the last phase, unless
      // too few samples remain.
      const size_t spare = std::max(segment.size(), min_known()) - min_known();
      rest = extend_last(segment.begin + std::min(min_known() - 1, spare), changed);
      segment.begin = std::max(segment.begin, rest);
    }
    begin(*number, segment.begin - rest, changed);
    take(segment.size());
    rest = segment.end;
  }
  // No phase was found: the first samples may be the end of the last phase, shorter than a phase.
  if (!current_ && follows_last())
    extend_last(std::min(samples_of_phase(last_->phase, trace_.size()), options_.minimum - 1), changed);
}

// The samples before belong to no phase or, if there are few of them, to the phase that is before and after them.
void Characteriser::begin(size_t phase, size_t sample, std::vector<Occurrence> &changed) {
  const size_t few = std::max(options_.minimum, book_.epoch(phase));
  if (follows_last() && last_->phase == phase && sample <= few) {
    current_ = last_;
    current_->is_open = true;
    take(sample);
  } else {
    drop(sample - extend_last(sample, changed));
    learned_phase_ = {{}, 1, phase};
    current_ = occurrence(phase, 0, 0);
    current_->start_ns = trace_.time_ns(0) - durations_ns_[0];
    current_->end_ns = current_->start_ns;
    current_->is_open = true;
  }
  changed.push_back(*current_);
  trials_.clear();
  matched_ = doubted_ = 0;
}

// Samples after the last phase may still belong to it, because two successive epochs may differ by chance. Returns their number, at
// most `limit`.
size_t Characteriser::extend_last(size_t limit, std::vector<Occurrence> &changed) {
  const size_t more = follows_last() ? samples_of_phase(last_->phase, limit) : 0;
  if (more == 0) return 0;
  join(*last_, occurrence(last_->phase, 0, more));
  changed.push_back(*last_);
  drop(more);
  return more;
}

bool Characteriser::follows_last() const {
  return last_ && trace_.size() > 0 && last_->end_ns == trace_.time_ns(0) - durations_ns_[0];
}

// The first samples of this epoch still belong to the phase.
void Characteriser::end(size_t samples, std::vector<Occurrence> &changed) {
  take(samples);
  current_->is_open = false;
  changed.push_back(*current_);
  last_ = std::exchange(current_, std::nullopt);
  trials_.clear();
}

Occurrence Characteriser::occurrence(size_t phase, size_t begin, size_t end) const {
  Occurrence found;
  found.phase = phase;
  for (size_t i = begin; i < end; ++i) {
    found.threads.add(trace_.threads(i));
    found.usage.add(resources_[i]);
    found.end_ns = trace_.time_ns(i);
  }
  return found;
}

void Characteriser::take(size_t samples) {
  if (samples == 0) return;
  join(*current_, occurrence(current_->phase, 0, samples));
  if (learned_phase_.profile.samples() < options_.buffer) learned_phase_.profile.add(Profile(trace_, 0, samples));
  drop(samples);
}

void Characteriser::drop(size_t samples) {
  trace_.drop_front(samples);
  durations_ns_.erase(durations_ns_.begin(), durations_ns_.begin() + static_cast<std::ptrdiff_t>(samples));
  resources_.erase(resources_.begin(), resources_.begin() + static_cast<std::ptrdiff_t>(samples));
  if (samples > 0) trials_.clear();
}

// Samples of an unknown phase with common first functions are more likely in any known phase than in none. So the last samples must
// also match the phase.
size_t Characteriser::samples_of_phase(size_t phase, size_t limit) const {
  const size_t window = std::max(options_.minimum, book_.epoch(phase));
  const auto start_of = [&](size_t end) { return end - std::min(end, window); };
  const size_t likely = border(trace_, book_.profiles(), phase, limit, Side::end);
  size_t end = likely;
  while (end > 0 && affinity(phase, start_of(end), end) < kMinAffinity) --end;
  if (end == likely) return likely;
  // A part of the last matching window may belong to the other phase.
  size_t best = end;
  for (size_t at = end; at-- > start_of(end);)
    if (affinity(phase, start_of(end), at) > affinity(phase, start_of(end), best)) best = at;
  return best;
}

double Characteriser::affinity(size_t phase, size_t begin, size_t end) const {
  const Profile samples(trace_, begin, end);
  const double of_book = similarity(samples, book_.profiles()[phase], book_.likeness().rare).times;
  if (learned_phase_.known != phase) return of_book;
  return std::max(of_book, similarity(samples, learned_phase_.profile, book_.likeness().rare).times);
}

}  // namespace atalaya::phases
