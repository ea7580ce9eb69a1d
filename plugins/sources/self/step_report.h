// SPDX-License-Identifier: Apache-2.0
// Steps of the wall clock: one span each, and their count.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>

#include "core/base/clock_steps.h"

namespace atalaya::self {

class StepReport {
 public:
  explicit StepReport(Host host)
      : direction_(host.intern("direction")), seconds_(host.intern("self.clock.step")), count_(host.intern("self.clock.steps")) {}

  // Adds the step since the last call, if there was one. Its span is the time that the wall clock left out, or showed twice.
  void add_span(const core::ClockReading &now, Batch &batch);
  void add_count(Sample &sample, Batch &batch) const { batch.field(sample, count_, steps_); }

 private:
  uint32_t direction_, seconds_, count_;
  core::ClockSteps clock_;
  int64_t steps_ = 0;  // number of steps since the start of the agent
};

}  // namespace atalaya::self
