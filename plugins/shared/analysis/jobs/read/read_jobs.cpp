// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/read/read_jobs.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "plugins/shared/analysis/jobs/read/read_regions.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::jobs {
namespace {

std::string job_of(const store::Tags &tags) {
  return tag_of(tags, "job");
}

// Reads open spans that started before the range. Some never get an end: if a master dies, its tasks stay open in all later ranges.
// They are ignored if their job is known to have ended before the range.
class EarlierOpen {
 public:
  explicit EarlierOpen(const query::Range &range) : begin_ns_(range.from_ns) {}

  bool keeps(const store::Span &span) {
    const std::string_view job = tag_of(span.tags, "job");
    if (job.empty()) return false;
    if (span.duration_ns >= 0 || span.start_ns > begin_ns_) {
      if (last_active_ == nullptr || *last_active_ != job) last_active_ = &*active_.emplace(job).first;
      return false;
    }
    Kept kept{span.start_ns, span.entity, span.tags, std::string(span.name), {}, {}};
    for (const store::Field &field : span.fields) {
      kept.names.emplace_back(field.name);
      kept.fields.push_back(field);
    }
    kept_[std::string(job)].push_back(std::move(kept));
    return true;
  }

  void settle(Collector &collector, store::Store &store) {
    if (kept_.empty()) return;
    store::TagFilter jobs{"job", {}};
    for (const auto &[job, kept] : kept_) jobs.patterns.push_back(query::exact_pattern(job));
    std::set<std::string> over;
    store.spans({{"job"}, {jobs}, {}}, [&](const store::Span &span) {
      const std::optional<int64_t> end = end_of(span);
      if (span.name == "job" && end && *end <= begin_ns_) over.insert(job_of(span.tags));
    });
    for (auto &[job, kept] : kept_) {
      if (over.contains(job)) continue;
      if (!active_.contains(job)) idle_.push_back(job);
      for (Kept &one : kept) one.give(collector);
    }
  }
  // Adds jobs without other data in the range.
  const std::vector<std::string> &idle() const { return idle_; }

 private:
  struct Kept {
    int64_t start_ns, entity;
    store::Tags tags;
    std::string name;
    std::vector<std::string> names;
    std::vector<store::Field> fields;

    void give(Collector &collector) {
      for (size_t i = 0; i < fields.size(); ++i) fields[i].name = names[i];
      collector.add({start_ns, kUnknown, entity, tags, name, fields});
    }
  };

  const int64_t begin_ns_;
  std::set<std::string> active_;
  const std::string *last_active_ = nullptr;  // cache: most spans have the same job as the previous span
  std::map<std::string, std::vector<Kept>> kept_;
  std::vector<std::string> idle_;
};

bool has_no_job(const store::Span &span) {
  return (span.name == "task" || span.name == "phase") && tag_of(span.tags, "job").empty();
}

// Whether the job has any span at any time: stops at the first one.
bool is_stored(const std::string &id, store::Store &store) {
  struct Found {};
  try {
    store.spans({{"job", "task", "phase", "region"}, {{"job", {query::exact_pattern(id)}}}, {}},
                [](const store::Span &) { throw Found(); });
  } catch (const Found &) {
    return true;
  }
  return false;
}

void check_known(const std::vector<std::string> &ids, const JobData &data, store::Store &store) {
  std::set<std::string> found;
  for (const Job &job : data.jobs) found.insert(data.name(job.id));
  for (const std::string &id : ids) {
    if (found.contains(id)) continue;
    if (is_stored(id, store))
      throw query::Wrong("job " + core::in_quotes(id) + " is in the store " + store.name() +
                         ", but not in this range or with these tags; omit --from, --to or --tag");
    throw query::Wrong("job " + core::in_quotes(id) + " is not in the store " + store.name() +
                       core::did_you_mean(id, store.tag_values("job")) + "; --job all selects all jobs of a range");
  }
}

}  // namespace

JobData read_jobs(const std::vector<std::string> &ids, const std::vector<store::TagFilter> &tags, const query::Range &range,
                  store::Store &store, query::Budget &budget, WithoutJob of_no_job) {
  store::Selection selection{
      {}, tags, range};  // no filter of names: filtering for four names takes longer than reading the other spans
  if (!ids.empty()) {
    store::TagFilter jobs{"job", {}};
    for (const std::string &id : ids) jobs.patterns.push_back(query::exact_pattern(id));
    selection.tags.push_back(std::move(jobs));
  }
  Collector collector;
  EarlierOpen open(range);
  store.spans(selection, [&](const store::Span &span) {
    budget.reserve(1);
    budget.work(1);
    if (of_no_job == WithoutJob::omitted && has_no_job(span)) return;
    if (!open.keeps(span)) collector.add(span);
  });
  open.settle(collector, store);
  JobData data = collector.take();
  data.idle = open.idle();
  check_known(ids, data, store);
  add_regions(data, ids, tags, range, store, budget);
  return data;
}

Counters read_counters(const JobData &data, const std::vector<uint32_t> &tasks, store::Store &store, query::Budget &budget) {
  Counters counters;
  store::Selection selection;
  store::TagFilter jobs{"job", {}};
  std::set<uint32_t> names;
  int64_t first_ns = std::numeric_limits<int64_t>::max(), last_ns = 0;
  for (const uint32_t number : tasks) {
    const Task &task = data.tasks[number];
    counters[number];
    if (names.insert(data.jobs[task.job].id).second)
      jobs.patterns.push_back(query::exact_pattern(data.name(data.jobs[task.job].id)));
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
    const auto task = data.keys.find(key);
    const auto wanted = task == data.keys.end() ? counters.end() : counters.find(task->second);
    if (wanted == counters.end()) return;
    const Task &one = data.tasks[wanted->first];
    if (one.has_span && one.work.start_ns != span.start_ns) return;  // the span belongs to an earlier run
    for (const store::Field &field : span.fields)
      if (field.name.starts_with("counter.") && wanted->second.emplace(field.name, field.value).second) budget.reserve(1);
  });
  return counters;
}

}  // namespace atalaya::jobs
