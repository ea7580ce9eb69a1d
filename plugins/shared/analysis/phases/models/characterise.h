// SPDX-License-Identifier: Apache-2.0
// Recognises phases while a process runs, and learns those that it does not know. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plugins/shared/analysis/phases/mining/labels.h"
#include "plugins/shared/analysis/phases/mining/mine.h"
#include "plugins/shared/analysis/phases/mining/trace.h"
#include "plugins/shared/analysis/phases/usage.h"

namespace atalaya::phases {

// The phases of a program; processes of one program share them. At most kMaxPhases.
class PhaseBook {
 public:
  explicit PhaseBook(const Likeness &likeness = {}) : likeness_(likeness) {}
  size_t size() const { return profiles_.size(); }
  const std::vector<Profile> &profiles() const { return profiles_; }
  size_t epoch(size_t phase) const { return epochs_[phase]; }
  // Returns the number of a known phase that matches; otherwise adds this phase. Nothing: the book is full.
  std::optional<size_t> number_of(const MinedPhase &phase);
  // Adds the phase without a comparison. False: the book is full.
  bool add(const MinedPhase &phase);
  const Likeness &likeness() const { return likeness_; }

 private:
  Likeness likeness_;
  std::vector<Profile> profiles_;
  std::vector<size_t> epochs_;
};

struct CharacteriserOptions {
  size_t buffer = 120;  // samples without a known phase, after which new phases are learned
  size_t minimum = 5;   // minimum samples of a new phase
};

struct OnlineSample {
  int64_t time_ns = 0, duration_ns = 0;
  std::span<const Part> parts;
  double threads = 0;
  ResourceValues resources;
};

// Recognises the phases of one process. Memory: the larger of the samples of the buffer and of three epochs (192), and their
// functions.
class Characteriser {
 public:
  Characteriser(PhaseBook &book, const CharacteriserOptions &options) : book_(book), options_(options) {}

  // Appends the occurrences that started, changed or ended. An occurrence that continues an earlier one has the same start and
  // replaces it.
  void add(const OnlineSample &sample, std::vector<Occurrence> &changed);
  // Call it when the process has ended or its samples have a gap.
  void finish(std::vector<Occurrence> &changed);

  std::optional<size_t> phase() const { return current_ ? std::optional(current_->phase) : std::nullopt; }
  size_t buffered() const { return trace_.size(); }

 private:
  struct Candidate {
    int confidence = 0;
    size_t begin = 0;  // start of the epochs that match
  };
  struct Trial {
    size_t size = 1, position = 0;
    std::vector<Candidate> candidates;  // candidates by phase
  };

  MineOptions mining() const { return {book_.likeness(), options_.minimum}; }
  size_t min_known() const { return mining().min_known_samples(); }  // minimum samples of a known phase
  void follow(std::vector<Occurrence> &changed);
  void characterise(std::vector<Occurrence> &changed);
  std::optional<size_t> advance(Trial &trial);
  void recognise(size_t phase, size_t matching, const Trial &trial, std::vector<Occurrence> &changed);
  bool matches(const Profile &epoch, size_t phase) const;
  std::vector<Segment> without_unlike(std::vector<Segment> segments) const;
  bool has_unknown(std::vector<Segment> segments, size_t end) const;
  void learn(std::vector<Occurrence> &changed);
  // By phase of the segments: its number in the book; nothing if it is not in the book.
  using Numbers = std::vector<std::optional<size_t>>;
  Numbers known_numbers() const;
  void place(const std::vector<Segment> &segments, const Numbers &numbers, std::vector<Occurrence> &changed);
  void begin(size_t phase, size_t sample, std::vector<Occurrence> &changed);
  void end(size_t samples, std::vector<Occurrence> &changed);
  size_t extend_last(size_t limit, std::vector<Occurrence> &changed);
  bool follows_last() const;  // whether the trace follows the last occurrence without a gap
  Occurrence occurrence(size_t phase, size_t begin, size_t end) const;
  void take(size_t samples);
  void drop(size_t samples);
  // Returns how many of the first samples still belong to the phase; the others belong to another one, or to none.
  size_t samples_of_phase(size_t phase, size_t limit) const;
  double affinity(size_t phase, size_t begin, size_t end) const;  // affinity of the phase and these samples

  PhaseBook &book_;
  const CharacteriserOptions options_;
  Trace trace_;  // samples since the phase ended, or those of the last epochs of the current phase
  std::vector<int64_t> durations_ns_;
  std::vector<ResourceValues> resources_;
  std::vector<Trial> trials_;
  // numbers of samples of the trace in a matching epoch, and in one whose difference may be chance
  size_t matched_ = 0, doubted_ = 0;
  std::optional<Occurrence> current_, last_;
  MinedPhase learned_phase_;  // the phase as learned from the first samples of the current or the last occurrence
};

}  // namespace atalaya::phases
