// SPDX-License-Identifier: Apache-2.0
// Stores the windows of the last minutes and passes those around a trigger, each at most once.
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
  size_t bytes = 0;        // maximum memory of the ring
  int64_t keep_ns = 0;     // maximum age of a stored window
  int64_t after_ns = 0;    // a recording ends this long after its last trigger
  int64_t longest_ns = 0;  // maximum time from the first trigger to the end; then samples trigger no recording for the same time
};

struct Trigger {
  std::string cause;
  std::optional<int64_t> last_ns;  // time before the trigger to record; absent: all stored windows
  bool is_user = false;            // a user's request: not ignored after a recording of maximum length
};

// A recording has the windows that end in (from_ns, until_ns].
struct Recording {
  int64_t from_ns = 0, until_ns = 0, first_trigger_ns = 0;
  std::string cause;  // cause of the first trigger
  uint64_t triggers = 0, samples = 0, lost = 0;
};

class Recorder {
 public:
  explicit Recorder(const Limits &limits) : limits_(limits), ring_(limits.bytes) {}

  void add(const Window &window, std::span<const Sample> samples);
  // Starts or extends a recording and returns it; null if the trigger was ignored.
  const Recording *trigger(const Trigger &trigger, int64_t now_ns);
  // Appends stored windows of the recording to the batch: at least one, further ones up to `max_samples`. Returns the recording
  // when it is complete.
  std::optional<Recording> pass(Batch &batch, uint64_t max_samples);

  const std::optional<Recording> &recording() const { return recording_; }
  // Samples that were removed from the full ring before a recording passed them.
  uint64_t lost() const { return lost_; }
  uint64_t ignored() const { return ignored_; }

 private:
  bool is_pending(const RingEntry &entry) const {
    return recording_ && !entry.is_passed && entry.time_ns > recording_->from_ns && entry.time_ns <= recording_->until_ns;
  }
  void drop(const RingEntry &entry);

  const Limits limits_;
  PackedRing ring_;
  std::optional<Recording> recording_;
  int64_t now_ns_ = 0;          // time of the last window
  int64_t quiet_until_ns_ = 0;  // samples trigger no recording until then (after a recording of maximum length)
  uint64_t lost_ = 0, ignored_ = 0;
};

}  // namespace atalaya::recorder
