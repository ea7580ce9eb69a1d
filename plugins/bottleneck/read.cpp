// SPDX-License-Identifier: Apache-2.0
#include "plugins/bottleneck/read.h"

#include <set>

#include "core/util/suggest.h"
#include "core/util/text.h"
#include "plugins/query/pieces.h"

namespace atalaya::bottleneck {
namespace {

void check_known(const std::vector<std::string> &ids, const Told &told, store::Store &store) {
  std::set<std::string> found;
  for (const Job &job : told.jobs) found.insert(told.name(job.id));
  for (const std::string &id : ids) {
    if (found.contains(id)) continue;
    std::set<std::string> known;
    store.spans({{"job"}, {}, {}}, [&](const store::Span &span) {
      if (const auto job = span.tags.find("job"); job != span.tags.end()) known.insert(job->second);
    });
    throw query::Wrong("job " + core::in_quotes(id) + " is not in the store " + store.name() +
                       core::did_you_mean(id, {known.begin(), known.end()}) + "; --job all takes all of a time");
  }
}

}  // namespace

Told read_jobs(const std::vector<std::string> &ids, const std::vector<store::TagFilter> &tags, const query::Range &range,
               store::Store &store, query::Budget &budget) {
  store::Selection selection{{}, tags, range};  // all names: to look for four of them in millions takes longer than to read the rest
  if (!ids.empty()) {
    store::TagFilter jobs{"job", {}};
    for (const std::string &id : ids) jobs.patterns.push_back(query::exactly(id));
    selection.tags.push_back(std::move(jobs));
  }
  Collector collector;
  store.spans(selection, [&](const store::Span &span) {
    budget.hold(1);
    budget.work(1);
    collector.add(span);
  });
  Told told = collector.take();
  check_known(ids, told, store);
  return told;
}

}  // namespace atalaya::bottleneck
