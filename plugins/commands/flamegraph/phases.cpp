// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/flamegraph/phases.h"

#include <algorithm>

#include "core/base/sample/span_end.h"
#include "plugins/shared/analysis/phases/runs.h"
#include "plugins/shared/analysis/phases/spans.h"
#include "plugins/shared/io/match/matcher.h"
#include "plugins/shared/store/lookup.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::flamegraph {
namespace {

using store::tag_of;

}  // namespace

PhaseTimes::PhaseTimes(const std::string &pattern, store::Store &store, const store::Range &range, query::Budget &budget) {
  auto wanted = io::Matcher::parse(pattern);
  if (!wanted) throw query::Wrong("--phase " + pattern + ": " + wanted.error());
  store.spans({{std::string(phases::kPhaseSpan)}, {}, range}, [&](const store::Span &span) {
    budget.work(1);
    const auto found = phases::occurrence_of(span);
    if (!found || (!wanted->matches(found->phase) && !wanted->matches(phases::short_id(found->phase)))) return;
    budget.reserve(1);
    const int64_t end_ns = found->occurrence.is_open ? range.to_ns : found->occurrence.end_ns;
    times_[{found->host, found->pid}].push_back({found->occurrence.start_ns, end_ns});
    ++phases_;
  });
}

bool PhaseTimes::contains(const store::Stack &stack) const {
  const auto found = times_.find({tag_of(stack.tags, "host"), tag_of(stack.tags, "pid")});
  if (found == times_.end()) return false;
  const int64_t begin_ns = core::start_of(stack.time_ns, stack.duration_ns);
  int64_t inside = 0;
  for (const store::Range &time : found->second)
    inside += std::max<int64_t>(std::min(time.to_ns, stack.time_ns) - std::max(time.from_ns, begin_ns), 0);
  return 2 * inside >= std::max<int64_t>(stack.duration_ns, 1);
}

}  // namespace atalaya::flamegraph
