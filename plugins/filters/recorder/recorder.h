// SPDX-License-Identifier: Apache-2.0
// Keeps the windows of the last minutes and passes those around a trigger, each at most once.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "plugins/filters/recorder/packed_ring.h"

namespace atalaya::recorder {

struct Limits {
  size_t bytes = 0;        // of the ring
  int64_t keep_ns = 0;     // the ring's length in time
  int64_t after_ns = 0;    // the part of a recording after its last trigger
  int64_t longest_ns = 0;  // from the first trigger to the end; then triggers of samples are ignored for as long
};

struct Trigger {
  std::string cause;
  std::optional<int64_t> last_ns;  // the part before the trigger; absent: all that is kept
  bool is_user = false;            // not ignored after a recording of maximum length
};

// Windows (from, until]
struct Recording {
  int64_t from_ns = 0, until_ns = 0, first_trigger_ns = 0;
  std::string cause;  // of the first trigger
  uint64_t triggers = 0, samples = 0, lost = 0;
};

class Recorder {
 public:
  explicit Recorder(const Limits &limits) : limits_(limits), ring_(limits.bytes) {}

  void add(const Window &window, std::span<const Sample> samples);
  // The recording that it starts or extends, null: ignored.
  const Recording *trigger(const Trigger &trigger, int64_t now_ns);
  // Appends windows to the batch, at most this number of samples or one window. Returns the recording when it is complete.
  std::optional<Recording> pass(Batch &batch, uint64_t max_samples);

  const std::optional<Recording> &recording() const { return recording_; }
  // Samples that a recording lacks.
  uint64_t lost() const { return lost_; }
  uint64_t ignored() const { return ignored_; }

 private:
  bool is_wanted(const RingEntry &entry) const {
    return recording_ && !entry.is_passed && entry.time_ns > recording_->from_ns && entry.time_ns <= recording_->until_ns;
  }
  void drop(const RingEntry &entry);

  const Limits limits_;
  PackedRing ring_;
  std::optional<Recording> recording_;
  int64_t now_ns_ = 0;          // the last window
  int64_t quiet_until_ns_ = 0;  // after a recording of maximum length
  uint64_t lost_ = 0, ignored_ = 0;
};

}  // namespace atalaya::recorder
