// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/uprobe/tally.h"

#include <cstring>
#include <utility>

namespace atalaya::uprobe {
namespace {

int64_t grown(uint64_t now, uint64_t before) {
  return static_cast<int64_t>(now - before);
}

}  // namespace

std::string_view text_of(const char (&comm)[UPROBE_COMM]) {
  return {comm, ::strnlen(comm, UPROBE_COMM)};
}

void Tally::begin_window() {
  costs_.assign(costs_.size(), {});
  previous_starts_ = std::move(starts_);
  starts_.clear();
}

// An entry without a name counts runs of processes for which the map had no room. It is unknown whether the filter selects them, so
// they count as missed.
bool Tally::add(const uprobe_key &key, const uprobe_counts &counts) {
  if (key.region >= costs_.size()) return true;
  const std::string_view process = text_of(key.comm);
  const bool is_unnamed = by_name() && process.empty();
  if (!is_unnamed && !wants(process)) return false;
  uprobe_counts &before = previous_[{key.region, std::string(process)}];
  Cost &cost = costs_[key.region];
  if (is_unnamed) {
    cost.missed += grown(counts.runs + counts.orphans + counts.missed, before.runs + before.orphans + before.missed);
  } else {
    cost.runs += grown(counts.runs, before.runs);
    cost.time_ns += grown(counts.time_ns, before.time_ns);
    cost.brief += grown(counts.brief, before.brief);
    cost.dropped += grown(counts.dropped, before.dropped);
    cost.nested += grown(counts.nested, before.nested);
    cost.orphans += grown(counts.orphans, before.orphans);
    cost.missed += grown(counts.missed, before.missed);
  }
  before = counts;
  return true;
}

void Tally::add_lost(size_t region, uint64_t runs) {
  if (region < costs_.size()) costs_[region].dropped += static_cast<int64_t>(runs);
}

uint64_t Tally::start_of(const uprobe_run &run) {
  RunStart start{run.begin_ns, run.region, run.pid};
  while (previous_starts_.count(start) > 0 || !starts_.insert(start).second) ++start.ns;
  return start.ns;
}

}  // namespace atalaya::uprobe
