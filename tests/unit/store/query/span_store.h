// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "plugins/shared/analysis/experiments/experiments.h"
#include "tests/unit/store/query/memory_store.h"

namespace atalaya::query::test {

// A store that holds experiments.
class SpanStore : public MemoryStore {
 public:
  void span(const experiments::Experiment &experiment, bool deleted = false) { spans_.push_back({experiment, deleted}); }
  void spans(const store::Selection &selection, const std::function<void(const store::Span &)> &visitor) override {
    const auto names = io::MatcherList::parse(selection.metrics).value();
    for (const auto &[experiment, deleted] : spans_) {
      const Tags tags = experiments::span_tags(experiment);
      const store::Field field{experiments::kDeleted, true, 1, 1};
      const std::span<const store::Field> fields(&field, deleted ? 1 : 0);
      const bool wanted = std::all_of(selection.tags.begin(), selection.tags.end(), [&](const store::TagFilter &filter) {
        return io::MatcherList::parse(filter.patterns).value().matches(tags.at(filter.key));
      });
      if (wanted && names.matches(experiments::span_name(experiment)))
        visitor({experiment.start_ns, experiment.duration_ns, 0, tags, experiments::span_name(experiment), fields});
    }
  }

 private:
  std::vector<std::pair<experiments::Experiment, bool>> spans_;
};

}  // namespace atalaya::query::test
