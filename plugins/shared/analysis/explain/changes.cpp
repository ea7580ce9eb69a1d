// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/explain/changes.h"

#include <algorithm>
#include <cmath>

#include "plugins/shared/analysis/evidence/chance.h"
#include "plugins/shared/analysis/evidence/statistics.h"

namespace atalaya::explain {
namespace {

using Values = std::vector<double>;

Values value_or_zero(const Parts &parts, const Tags &tags, const Steps &steps) {
  const auto found = parts.find(tags);
  return found == parts.end() ? Values(steps.complete(), 0) : steps.complete_values(found->second.values);
}

void add(Values &sum, const Values &values) {
  for (size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
}

bool matters(const Difference &difference, const Change &change) {
  return std::max(std::abs(difference.before), std::abs(difference.after)) >= change.min_difference();
}

Difference difference_of(const Values &before, const Values &after) {
  Difference difference;
  difference.before = evidence::mean_of(before);
  difference.after = evidence::mean_of(after);
  difference.spread = evidence::inner_range(before);
  return difference;
}

// Whether the change is large enough for a finding; a separate test excludes chance.
bool is_large(const Difference &difference, const Change &change) {
  const double size = std::abs(difference.change());
  return size >= change.min_difference() && size > kSpreads * difference.spread && size >= kMinPart * std::abs(difference.before);
}

// A part that no peer has: the usage of each peer is 0.
double chance_among(const PeerMeans &peers, const Tags &part, double value) {
  const auto known = peers.parts.find(part);
  return known == peers.parts.end() ? 0 : evidence::one_more_chance(known->second, value);
}

void judge(Difference &difference, const Change &change, size_t tests) {
  difference.is_significant = is_large(difference, change) && evidence::is_beyond_chance(difference.chance, tests);
}

}  // namespace

Difference Change::other() const {
  Difference other;
  for (size_t i = named; i < parts.size(); ++i) {
    other.before += parts[i].difference.before;
    other.after += parts[i].difference.after;
  }
  return other;
}

double Change::severity() const {
  double maximum = total.is_significant ? std::abs(total.change()) : 0;
  for (size_t i = 0; i < named; ++i) maximum = std::max(maximum, std::abs(parts[i].difference.change()));
  return std::min(1.0, capacity > 0 ? maximum / capacity : 0);
}

Parts peers_mean(const Parts &by_host, const std::vector<std::string> &hosts, const Steps &steps, PeerMeans &means) {
  const auto number_of = [&](const Tags &tags) {
    const auto host = tags.find("host");
    return host == tags.end() ? hosts.end() : std::find(hosts.begin(), hosts.end(), host->second);
  };
  Parts mean;
  means = {{}, Values(hosts.size(), 0)};
  for (const auto &[tags, part] : by_host) {
    const auto host = number_of(tags);
    if (host == hosts.end()) continue;
    Tags name = tags;
    name.erase("host");
    Part &sum = mean[name];
    sum.tags = name;
    sum.values.resize(part.values.size(), 0);
    for (size_t i = 0; i < part.values.size(); ++i) sum.values[i] += part.values[i] / static_cast<double>(hosts.size());
    const auto number = static_cast<size_t>(host - hosts.begin());
    const double own = evidence::mean_of(steps.complete_values(part.values));
    Values &known = means.parts[name];
    known.resize(hosts.size(), 0);
    known[number] += own;
    means.total[number] += own;
  }
  return mean;
}

Change change_of(const Resource &resource, const Parts &before, const Parts &after, const Steps &baseline, const Steps &window,
                 double capacity, const PeerMeans *peers) {
  Change change;
  change.resource = resource;
  change.capacity = capacity;
  Values total_before(baseline.complete(), 0), total_after(window.complete(), 0);
  std::map<Tags, const Part *> all;
  for (const Parts *side : {&before, &after})
    for (const auto &[tags, part] : *side) all[tags] = &part;  // the tags of the window, if it is in both
  for (const auto &[tags, part] : all) {
    const Values own_before = value_or_zero(before, tags, baseline), own_after = value_or_zero(after, tags, window);
    add(total_before, own_before);
    add(total_after, own_after);
    Difference difference = difference_of(own_before, own_after);
    if (is_large(difference, change)) {
      difference.chance = evidence::chance_of(own_before, own_after);
      if (peers != nullptr) difference.chance = std::max(difference.chance, chance_among(*peers, tags, difference.after));
    }
    change.parts.push_back({tags, part->common, difference});
  }
  change.total = difference_of(total_before, total_after);
  change.total.chance = evidence::chance_of(total_before, total_after);
  if (peers != nullptr)
    change.total.chance = std::max(change.total.chance, evidence::one_more_chance(peers->total, change.total.after));
  std::stable_sort(change.parts.begin(), change.parts.end(), [](const PartChange &a, const PartChange &b) {
    return std::abs(a.difference.change()) > std::abs(b.difference.change());
  });
  return change;
}

size_t tests_of(const Change &change) {
  const auto parts = std::count_if(change.parts.begin(), change.parts.end(),
                                   [&](const PartChange &part) { return matters(part.difference, change); });
  return static_cast<size_t>(parts) + (matters(change.total, change) ? 1 : 0);
}

void judge(Change &change, size_t tests, size_t maximum) {
  judge(change.total, change, tests);
  for (PartChange &part : change.parts) judge(part.difference, change, tests);
  // Parts that change in the same direction as the total come first; both groups are sorted by size.
  const bool grows = change.total.change() >= 0;
  std::stable_sort(change.parts.begin(), change.parts.end(), [&](const PartChange &a, const PartChange &b) {
    const auto order = [&](const PartChange &part) {
      if (!part.difference.is_significant) return 2;
      return !change.total.is_significant || (part.difference.change() >= 0) == grows ? 0 : 1;
    };
    return order(a) < order(b);
  });
  const auto beyond = std::count_if(change.parts.begin(), change.parts.end(),
                                    [](const PartChange &part) { return part.difference.is_significant; });
  change.named = std::min(static_cast<size_t>(beyond), maximum);
}

}  // namespace atalaya::explain
