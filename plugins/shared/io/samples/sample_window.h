// SPDX-License-Identifier: Apache-2.0
// The times of samples, and of groups of samples that a stage aggregates.
#pragma once

#include <atalaya/plugin.hpp>

#include <algorithm>
#include <cstdint>

namespace atalaya::io {

// The time of a sample, and the time of the group that it belongs to. In a pipeline with windows all samples of a window are one
// group, also late ones, which cover earlier windows: a series has one value at each time, and an earlier value would be replaced.
// Without windows (a hub), and for instants, each time is a group.
struct SampleWindow {
  SampleWindow(const Window &window, const Sample &sample) {
    const bool is_stamped = sample.time_ns != 0;
    time_ns = is_stamped ? sample.time_ns : window.time_ns;
    const int64_t written_ns = is_stamped ? sample.duration_ns : window.duration_ns;
    duration_ns = std::clamp<int64_t>(written_ns, 0, std::max<int64_t>(time_ns, 0));  // a sender may write any number
    begin_ns = group_begin_ns = time_ns - duration_ns;
    group_time_ns = window.interval_ns > 0 && duration_ns > 0 && time_ns < window.time_ns ? window.time_ns : time_ns;
    // Retained samples of the last call come after the group of that window, which does not change.
    if ((window.flags & ATALAYA_WINDOW_LAST) != 0 && group_time_ns <= window.time_ns) {
      group_time_ns = window.time_ns + 1;
      ++group_begin_ns;
    }
  }

  int64_t time_ns, duration_ns, begin_ns, group_time_ns, group_begin_ns;
};

// The window of a group of samples: from the start of the earliest sample to the end of the pipeline's window.
struct GroupWindow {
  int64_t time_ns = 0, begin_ns = 0;

  int64_t length_ns() const { return time_ns - begin_ns; }
  void add(int64_t sample_begin_ns) { begin_ns = sample_begin_ns < begin_ns ? sample_begin_ns : begin_ns; }
};

}  // namespace atalaya::io
