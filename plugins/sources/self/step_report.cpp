// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/self/step_report.h"

#include <cstdlib>

#include "plugins/sources/self/self_metrics.h"

namespace atalaya::self {

void StepReport::add_span(const core::ClockReading &now, Batch &batch) {
  const auto step_ns = clock_.check(now);
  if (!step_ns) return;
  ++steps_;
  const bool is_ahead = *step_ns > 0;
  Sample &span = batch.add(ATALAYA_SPAN, 2, 1);
  span.time_ns = is_ahead ? now.realtime - *step_ns : now.realtime;
  span.duration_ns = std::llabs(*step_ns);
  span.text = batch.copy("clock step");
  batch.tag(span, direction_, is_ahead ? "ahead" : "back");
  batch.field(span, seconds_, round_to(static_cast<double>(*step_ns) / 1e9, kStepDecimals));
}

}  // namespace atalaya::self
