// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/windows/collected.h"

#include "plugins/shared/store/query/windows/downsample.h"

namespace atalaya::query {

double collected_part(std::span<const store::CollectedTime *const> hosts, const Range &range) {
  const double length = static_cast<double>(range.to_ns) - static_cast<double>(range.from_ns);
  double sum = 0, known = 0;
  for (const store::CollectedTime *host : hosts) {
    if (host->stretches().empty()) continue;
    sum += static_cast<double>(host->length_in(range.from_ns, range.to_ns)) / length;
    ++known;
  }
  return known > 0 && length > 0 ? sum / known : 1;
}

void set_coverage(const Query &query, std::span<const store::CollectedTime *const> hosts, Answer &answer, Budget &budget) {
  const Intervals intervals(*query.downsample, query.range, query.edge);
  answer.coverage = collected_part(hosts, intervals.stretch());
  if (answer.coverage >= 1) return;
  for (const Point &point : answer.points) {
    const double part = collected_part(hosts, intervals.range_of(point.time_ns));
    if (part < 1) answer.partly.push_back({point.time_ns, part});
    budget.work(hosts.size());
  }
}

}  // namespace atalaya::query
