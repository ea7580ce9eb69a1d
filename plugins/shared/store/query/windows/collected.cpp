// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/windows/collected.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "plugins/shared/store/query/windows/downsample.h"

namespace atalaya::query {

double collected_part(std::span<const store::CollectedTime *const> hosts, const Range &range) {
  const double length = static_cast<double>(range.to_ns) - static_cast<double>(range.from_ns);
  double sum = 0, known = 0;
  for (const store::CollectedTime *host : hosts) {
    if (host->time_intervals().empty()) continue;
    sum += static_cast<double>(host->length_in(range.from_ns, range.to_ns)) / length;
    ++known;
  }
  return known > 0 && length > 0 ? sum / known : 1;
}

void set_coverage(const Query &query, std::span<const store::CollectedTime *const> hosts, Answer &answer, Budget &budget) {
  const Intervals intervals(*query.downsample, query.range, query.edge);
  answer.coverage = collected_part(hosts, intervals.time_interval());
  if (answer.coverage >= 1) return;
  for (const Point &point : answer.points) {
    const double part = collected_part(hosts, intervals.range_of(point.time_ns));
    if (part < 1) answer.partly.push_back({point.time_ns, part});
    budget.work(hosts.size());
  }
}

void add_partly(const Answer &from, Answer &to) {
  std::vector<Covered> all;
  std::merge(from.partly.begin(), from.partly.end(), to.partly.begin(), to.partly.end(), std::back_inserter(all),
             [](const Covered &a, const Covered &b) { return std::tie(a.time_ns, a.part) < std::tie(b.time_ns, b.part); });
  all.erase(std::unique(all.begin(), all.end(), [](const Covered &a, const Covered &b) { return a.time_ns == b.time_ns; }),
            all.end());
  to.partly = std::move(all);
  to.coverage = std::min(to.coverage, from.coverage);
}

}  // namespace atalaya::query
