// SPDX-License-Identifier: Apache-2.0
// Resources in steps of time, from the query engine.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plugins/shared/analysis/explain/resources.h"
#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::explain {

using query::Range;
using query::Tags;

// One of the two ranges that are compared.
struct Side {
  Range range;
  std::vector<store::TagFilter> tags;
};

struct Reader {
  store::Store &store;
  query::Budget &budget;
};

// Steps of a range, and those in which all compared hosts were measured.
class Steps {
 public:
  Steps() = default;
  // At most `maximum` steps, none shorter than `window_ns`.
  Steps(const Range &range, int64_t window_ns, size_t maximum);

  size_t count() const { return complete_.size(); }
  size_t complete() const;
  int64_t length_ns() const { return length_ns_; }
  // The range, cut to whole steps.
  const Range &range() const { return range_; }
  query::Downsample downsample() const;
  // The step with this end; count() if there is none.
  size_t index_of(int64_t end_ns) const;
  void set_complete(size_t step, bool complete) { complete_[step] = complete; }
  bool is_complete(size_t step) const { return complete_[step]; }
  // Returns only the values of complete steps.
  std::vector<double> complete_values(const std::vector<double> &values) const;

 private:
  Range range_;
  int64_t length_ns_ = 0;
  std::vector<bool> complete_;
};

// One part of a resource: its value in each step.
struct Part {
  Tags tags;    // tags that identify the part
  Tags common;  // further tags that all its series have
  std::vector<double> values;
};
using Parts = std::map<Tags, Part>;

// The answers of a query; empty for a metric that is not in the store.
std::vector<query::Answer> answers_of(const query::Query &query, Reader &reader);
// The sum of a resource's metrics by part. Parts name their hosts only if `by_host`.
Parts parts_of(const Resource &resource, const Side &side, const Steps &steps, bool by_host, Reader &reader);
// The hosts with samples in each step, and the steps that are complete on all `hosts`. If `hosts` is empty, all hosts with
// samples are used.
struct Presence {
  std::map<std::string, std::vector<double>> covered;  // by host: the measured share of each step
  int64_t window_ns = 0;                               // length of the longest window
};
Presence presence_of(const Side &side, const Steps &steps, Reader &reader);
// The hosts that have values of the metric in each complete step; ignores the other tags of the side. "" is the host of series
// without a host.
std::set<std::string> hosts_with(std::string_view metric, const Side &side, const Steps &steps, Reader &reader);

}  // namespace atalaya::explain
