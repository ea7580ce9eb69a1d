// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/read/read_regions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "plugins/shared/analysis/jobs/model/job_hosts.h"
#include "plugins/shared/analysis/jobs/read/uncaptured_runs.h"
#include "plugins/shared/analysis/jobs/reasons/hosts.h"

namespace atalaya::jobs {
namespace {

// Reads runs of regions. Probes rarely know the job of a program: runs without a job belong to the jobs that ran on their node at
// their time. There may be thousands per second, so they are summed while they are read.
class RegionsWithoutJob {
 public:
  explicit RegionsWithoutJob(const JobHosts &hosts) : hosts_(hosts) {}

  void add(const store::Span &span, query::Budget &budget) {
    if (span.name != "region" || span.duration_ns < 0 || !tag_of(span.tags, "job").empty()) return;
    const std::string_view host = tag_of(span.tags, "host");
    auto found = found_.find(host);
    if (found == found_.end()) found = found_.emplace(host, Found(hosts_.times_of(host))).first;
    found->second.add(span, budget);
  }

  void give(JobData &data) {
    std::set<std::string> stored;
    for (const auto &[host, found] : found_) stored.insert(host);
    const SameHosts same(hosts_.names(), stored);
    for (const auto &[host, found] : found_)
      if (const std::string *span_host = same.span_host_of(host)) found.give(data, data.names.id_of(*span_host));
    for (std::string &note : same.notes("code regions")) data.notes.push_back(std::move(note));
  }

 private:
  using ByName = std::map<std::string, Region, std::less<>>;

  // The runs of a host.
  class Found {
   public:
    explicit Found(const JobTimes *times) : times_(times), regions_(times == nullptr ? 0 : times->size()) {}

    // A run belongs to each job that ran at its time.
    void add(const store::Span &span, query::Budget &budget) {
      bool is_inside = false;
      for (size_t i = 0; i < regions_.size(); ++i) {
        const std::optional<Region> run = part_of(span, (*times_)[i]);
        if (!run) continue;
        is_inside = true;
        add(regions_[i], tag_of(span.tags, "name"), *run, budget);
      }
      if (is_inside) ++runs_;
    }

    void give(JobData &data, uint32_t host) const {
      data.regions_without_job += runs_;
      for (size_t i = 0; i < regions_.size(); ++i)
        for (const auto &[name, region] : regions_[i]) {
          Region &given = data.regions.emplace_back(region);
          given.job = (*times_)[i].job;
          given.name = data.names.id_of(name);
          given.host = host;
        }
    }

   private:
    static void add(ByName &regions, std::string_view name, const Region &run, query::Budget &budget) {
      const auto known = regions.find(name);
      if (known != regions.end()) return add_to(known->second, run);
      budget.reserve(1);
      regions.emplace(name, run);
    }
    static void add_to(Region &all, const Region &run) {
      all.runs += run.runs;
      all.seconds += run.seconds;
      all.bytes += run.bytes;
      all.bytes_seconds += run.bytes_seconds;
      all.has_bytes = all.has_bytes || run.has_bytes;
    }

    const JobTimes *times_;
    std::vector<ByName> regions_;  // sums by name, parallel to the times
    size_t runs_ = 0;
  };

  // Adds the part of a run that is within the time; its share of the bytes is unknown.
  static std::optional<Region> part_of(const store::Span &span, const JobTime &time) {
    const std::optional<int64_t> end = end_of(span);
    if (!end || span.start_ns >= time.end_ns || *end <= time.begin_ns) return std::nullopt;
    const int64_t inside_ns = std::min(*end, time.end_ns) - std::max(span.start_ns, time.begin_ns);
    if (inside_ns == span.duration_ns) return run_of(span);
    return Region{.seconds = static_cast<double>(inside_ns) / 1e9};
  }

  const JobHosts &hosts_;
  std::map<std::string, Found, std::less<>> found_;  // by name of the host in the store
};

// Reads regions with at most half of the budget; if that is not enough, they are ignored with a note.
void add_regions_without_job(JobData &data, const JobHosts &hosts, const std::vector<store::TagFilter> &tags,
                             const store::Range &range, store::Store &store, query::Budget &budget) {
  store::Selection selection{{"region"}, tags, range};
  hosts.select(selection);
  RegionsWithoutJob regions(hosts);
  // The rest of the analysis does not need regions.
  query::Budget part = budget.half();
  try {
    store.spans(selection, [&](const store::Span &span) {
      part.work(1);
      regions.add(span, part);
    });
  } catch (const query::TooMuch &) {
    data.notes.emplace_back(
        "code regions without a job are ignored: reading those of the job's nodes and time exceeds half of the limits; "
        "raise --max-points and --timeout");
    return;
  }
  const size_t with_job = data.regions.size();
  regions.give(data);
  budget.reserve(data.regions.size() - with_job);
}

}  // namespace

void add_regions(JobData &data, const std::vector<std::string> &ids, const std::vector<store::TagFilter> &tags,
                 const store::Range &range, store::Store &store, query::Budget &budget) {
  const store::Selection selection{{}, tags, range};
  if (ids.empty()) return add_note_on_uncaptured_runs(data, ids, nullptr, selection, store, budget);
  const JobHosts hosts(data);
  const bool is_anywhere = !hosts.names().empty();
  if (is_anywhere) add_regions_without_job(data, hosts, tags, range, store, budget);
  add_note_on_uncaptured_runs(data, ids, is_anywhere ? &hosts : nullptr, selection, store, budget);
}

}  // namespace atalaya::jobs
