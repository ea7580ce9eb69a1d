// SPDX-License-Identifier: Apache-2.0
// Experiments and their workloads. The store has them as spans with certain tags: see docs/reference/query.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/sample/span_end.h"
#include "plugins/shared/store/query/types.h"
#include "plugins/shared/store/store.h"

namespace atalaya::experiments {

struct Experiment {
  std::string name;
  std::string workload;  // one run within the experiment; "": the experiment itself
  std::string user, notes;
  query::Tags tags;  // further tags of its span
  int64_t start_ns = 0;
  int64_t duration_ns = -1;  // -1: it is still open

  bool open() const { return duration_ns < 0; }
  int64_t end_ns(int64_t now_ns) const { return open() ? now_ns : core::end_of(start_ns, duration_ns); }
};

// The text and tags of the span that represents the experiment; the span has the experiment's start and duration.
std::string_view span_name(const Experiment &experiment);
query::Tags span_tags(const Experiment &experiment);
// A span with this count marks a deleted experiment.
constexpr std::string_view kDeleted = "experiment.deleted";
// The experiment of a span; nothing for other spans.
std::optional<Experiment> experiment_of(const store::Span &span);

// The experiments of this name ("": all) in order of start. `workloads`: includes their workloads.
std::vector<Experiment> experiments(store::Store &store, std::string_view name = {}, bool workloads = true);
// The latest experiment with this name and workload. If there is none, throws Wrong with similar names.
Experiment find_experiment(store::Store &store, const std::string &name, const std::string &workload);

// Checks a name or the value of a tag: 1 to 200 letters, digits, spaces and - _ . : / @ +, not starting with -. Throws Wrong.
void check_name(const char *what, const std::string &name);

}  // namespace atalaya::experiments
