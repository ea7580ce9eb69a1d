// SPDX-License-Identifier: Apache-2.0
// Experiments and their workloads: spans of the store by a convention of tags. See docs/reference/query.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/sample/span_end.h"
#include "plugins/shared/store/query/types.h"
#include "plugins/shared/store/store.h"

namespace atalaya::query {

struct Experiment {
  std::string name;
  std::string workload;  // one run within the experiment; "": the experiment itself
  std::string user, notes;
  Tags tags;  // further ones
  int64_t start_ns = 0;
  int64_t duration_ns = -1;  // -1: it is still open

  bool open() const { return duration_ns < 0; }
  int64_t end_ns(int64_t now_ns) const { return open() ? now_ns : core::end_of(start_ns, duration_ns); }
};

// The span that says it: its text and its tags; start and duration are the experiment's.
std::string_view span_name(const Experiment &experiment);
Tags span_tags(const Experiment &experiment);
// A span with this count is one that was deleted.
constexpr std::string_view kDeleted = "experiment.deleted";
// The experiment of a span; nothing for other spans.
std::optional<Experiment> experiment_of(const store::Span &span);

// Those of that name ("": all), in order of their start. `workloads`: theirs too.
std::vector<Experiment> experiments(store::Store &store, std::string_view name = {}, bool workloads = true);
// The last one of that name and workload. Throws Wrong when there is none, with the names that are near.
Experiment find_experiment(store::Store &store, const std::string &name, const std::string &workload);

// Names and the rest of their tags: letters, digits and a few signs that need no quoting, at most 200 bytes. Throws Wrong.
void check_name(const char *what, const std::string &name);

}  // namespace atalaya::query
