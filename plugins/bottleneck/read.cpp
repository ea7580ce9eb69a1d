// SPDX-License-Identifier: Apache-2.0
#include "plugins/bottleneck/read.h"

#include <algorithm>
#include <limits>
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
  store::Selection selection{
      {}, tags, range};  // all names: to look for four of them in millions takes longer than to read the rest
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

Counters read_counters(const Told &told, const std::vector<uint32_t> &tasks, store::Store &store, query::Budget &budget) {
  Counters counters;
  store::Selection selection;
  store::TagFilter jobs{"job", {}};
  std::set<uint32_t> names;
  int64_t first_ns = std::numeric_limits<int64_t>::max(), last_ns = 0;
  for (const uint32_t number : tasks) {
    const Task &task = told.tasks[number];
    counters[number];
    if (names.insert(told.jobs[task.job].id).second) jobs.patterns.push_back(query::exactly(told.name(told.jobs[task.job].id)));
    first_ns = std::min(first_ns, task.work.start_ns);
    last_ns = std::max(last_ns, task.work.end_ns());
  }
  if (tasks.empty()) return counters;
  selection.range = {first_ns - 1, last_ns};
  selection.tags = {jobs};
  std::string key;
  store.spans(selection, [&](const store::Span &span) {
    budget.work(1);
    key.clear();
    if (span.name != "task" || !append_key(key, span.tags)) return;
    const auto task = told.keys.find(key);
    const auto wanted = task == told.keys.end() ? counters.end() : counters.find(task->second);
    if (wanted == counters.end()) return;
    for (const store::Field &field : span.fields)
      if (field.name.starts_with("counter.")) wanted->second.emplace(field.name, field.value);
  });
  return counters;
}

}  // namespace atalaya::bottleneck
