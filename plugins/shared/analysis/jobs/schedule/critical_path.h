// SPDX-License-Identifier: Apache-2.0
// The chain of tasks and gaps that a job waited for: each begins when the one before it ends, so they add up to its length. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/analysis/jobs/model/tasks.h"

namespace atalaya::jobs {

// A task of the path, or a gap without one.
struct PathStep {
  enum class Kind : uint8_t { task, gap };
  // A task began when its slot became free, when another stage ended, or when no task ended before it.
  enum class After : uint8_t { start, slot, stage };
  Kind kind = Kind::gap;
  After after = After::start;
  uint32_t task = 0;  // index of the task; for a gap: index of the task after it
  int64_t begin_ns = 0, end_ns = 0;
};

struct PathPart {
  std::string name;  // "map spill", "stage 2 garbage collection", "between tasks"
  int64_t ns = 0;
};

struct CriticalPath {
  int64_t begin_ns = 0, end_ns = 0;
  std::vector<PathStep> steps;  // in order of time, without holes or overlaps
  std::vector<PathPart> parts;  // longest first; they add up to end_ns - begin_ns
};

// Nothing if no task of the job has an end, or if the job still runs.
std::optional<CriticalPath> critical_path(const JobData &data, uint32_t job);

// "its slot became free", "stage map ended", "the job started"
std::string_view after_text(PathStep::After after);

}  // namespace atalaya::jobs
