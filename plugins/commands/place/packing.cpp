// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/place/packing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "core/base/text/safe_text.h"

namespace atalaya::place {
namespace {

constexpr size_t kMaxMoreHosts = 4096;

graph::Resources sum(const graph::Resources &a, const graph::Resources &b) {
  return {a.cpu + b.cpu, a.memory + b.memory, true};
}

bool fits(const Problem &problem, const graph::Resources &used, size_t host) {
  const HostCapacity &capacity = problem.hosts[host];
  const auto within = [&](double use, double size) { return use <= 0 || part_of(use, size * problem.fill) <= 1; };
  return capacity.known && within(used.cpu, capacity.cpu) && within(used.memory, capacity.memory);
}

class Joined {
 public:
  explicit Joined(size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
  size_t root(size_t item) {
    while (parent_[item] != item) item = parent_[item] = parent_[parent_[item]];
    return item;
  }
  void join(size_t a, size_t b) { parent_[root(b)] = root(a); }

 private:
  std::vector<size_t> parent_;
};

Groups groups_of(Joined &joined, size_t items) {
  std::vector<size_t> number(items, items);
  Groups groups;
  for (size_t item = 0; item < items; ++item) {
    size_t &group = number[joined.root(item)];
    if (group == items) {
      group = groups.size();
      groups.emplace_back();
    }
    groups[group].push_back(item);
  }
  return groups;
}

Groups connected(const Problem &problem) {
  Joined joined(problem.items.size());
  for (const Traffic &one : problem.between)
    if (one.bytes > 0) joined.join(one.a, one.b);
  return groups_of(joined, problem.items.size());
}

Groups by_name(const Problem &problem) {
  std::vector<size_t> items(problem.items.size());
  std::iota(items.begin(), items.end(), size_t{0});
  std::stable_sort(items.begin(), items.end(), [&](size_t a, size_t b) { return problem.items[a].name < problem.items[b].name; });
  return {items};
}

graph::Resources needs_of(const Problem &problem, const std::vector<size_t> &group) {
  graph::Resources needs;
  for (const size_t item : group) needs = sum(needs, problem.items[item].used);
  return needs;
}

// The size of an item for sorting: the larger of its shares of CPU and memory of the first host.
double size_of(const Problem &problem, const std::vector<size_t> &group) {
  const graph::Resources needs = needs_of(problem, group);
  return std::max(part_of(needs.cpu, problem.hosts[0].cpu), part_of(needs.memory, problem.hosts[0].memory));
}

class Packer {
 public:
  Packer(const Problem &problem, const std::vector<size_t> &order)
      : problem_(problem),
        order_(order),
        used_(problem.fixed),
        placed_on_(problem.hosts.size(), false),
        placement_(problem.items.size(), 0) {}

  // `whole`: each group is placed on one host if a host has room for it.
  Placement pack(const Groups &groups, bool whole) {
    for (const std::vector<size_t> &group : groups) {
      const std::optional<size_t> host = whole ? first_with_room(needs_of(problem_, group)) : std::nullopt;
      for (const size_t item : group) put(item, host ? *host : host_for(item));
    }
    return std::move(placement_);
  }

 private:
  bool may_open(size_t host) const { return placed_on_[host] || opened_ < problem_.max_hosts; }

  std::optional<size_t> first_with_room(const graph::Resources &needs) const {
    for (const size_t host : order_)
      if (may_open(host) && fits(problem_, sum(used_[host], needs), host)) return host;
    return std::nullopt;
  }

  // The first host with room, or the host with the smallest overload.
  size_t host_for(size_t item) const {
    const graph::Resources &needs = problem_.items[item].used;
    if (const auto host = first_with_room(needs)) return *host;
    size_t where = order_[0];
    double least = std::numeric_limits<double>::infinity();
    for (const size_t host : order_) {
      const graph::Resources used = sum(used_[host], needs);
      const double part = std::max(part_of(used.cpu, problem_.hosts[host].cpu), part_of(used.memory, problem_.hosts[host].memory));
      if (!may_open(host) || part >= least) continue;
      least = part;
      where = host;
    }
    return where;
  }

  void put(size_t item, size_t host) {
    placement_[item] = host;
    used_[host] = sum(used_[host], problem_.items[item].used);
    if (!placed_on_[host]) ++opened_;
    placed_on_[host] = true;
  }

  const Problem &problem_;
  const std::vector<size_t> &order_;
  std::vector<graph::Resources> used_;
  std::vector<bool> placed_on_;
  Placement placement_;
  size_t opened_ = 0;
};

bool fits_all(const Problem &problem) {
  const std::vector<Placement> all = greedy_placements(problem);
  return std::any_of(all.begin(), all.end(), [&](const Placement &one) { return score_of(problem, one).fitness > 0; });
}

Problem with_more(const Problem &problem, size_t more) {
  Problem larger = problem;
  for (size_t i = 0; i < more; ++i) larger.hosts.push_back(problem.hosts.back());
  larger.fixed.resize(larger.hosts.size());
  larger.kept.resize(larger.hosts.size(), false);
  if (larger.max_hosts < kMaxMoreHosts * 2) larger.max_hosts += more;
  return larger;
}

// The number of copies of the last host with which all items fit; nothing if no number is enough.
std::optional<size_t> hosts_missing(const Problem &problem) {
  size_t enough = 1;
  while (!fits_all(with_more(problem, enough)))
    if ((enough *= 2) > std::min(kMaxMoreHosts, 2 * problem.items.size())) return std::nullopt;
  size_t few = enough / 2;
  while (few + 1 < enough) {
    const size_t middle = (few + enough) / 2;
    (fits_all(with_more(problem, middle)) ? enough : few) = middle;
  }
  return enough;
}

std::string percent(double part) {
  return std::to_string(std::lround(100 * part)) + " %";
}

}  // namespace

Groups clusters_of(const Problem &problem) {
  std::vector<Traffic> pairs = problem.between;
  std::stable_sort(pairs.begin(), pairs.end(), [](const Traffic &a, const Traffic &b) { return a.bytes > b.bytes; });
  Joined joined(problem.items.size());
  std::vector<graph::Resources> needs;
  for (const Item &item : problem.items) needs.push_back(item.used);
  for (const Traffic &pair : pairs) {
    const size_t a = joined.root(pair.a), b = joined.root(pair.b);
    if (a == b) continue;
    const graph::Resources both = sum(needs[a], needs[b]);
    bool room = false;
    for (size_t host = 0; host < problem.hosts.size() && !room; ++host) room = fits(problem, sum(problem.fixed[host], both), host);
    if (!room) continue;
    joined.join(a, b);
    needs[joined.root(a)] = both;
  }
  Groups groups = groups_of(joined, problem.items.size());
  std::vector<double> sizes;
  for (const auto &group : groups) sizes.push_back(size_of(problem, group));
  std::vector<size_t> order(groups.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  Groups sorted;
  for (const size_t group : order) sorted.push_back(std::move(groups[group]));
  return sorted;
}

std::vector<Placement> greedy_placements(const Problem &problem) {
  std::vector<size_t> given(problem.hosts.size());
  std::iota(given.begin(), given.end(), size_t{0});
  std::vector<size_t> largest = given;
  std::stable_sort(largest.begin(), largest.end(), [&](size_t a, size_t b) {
    return std::min(problem.hosts[a].cpu, problem.hosts[a].memory / 1024) >
           std::min(problem.hosts[b].cpu, problem.hosts[b].memory / 1024);
  });
  const Groups clusters = clusters_of(problem), components = connected(problem), names = by_name(problem);
  std::vector<Placement> all;
  for (const std::vector<size_t> *order : {&given, &largest}) {
    all.push_back(Packer(problem, *order).pack(clusters, true));
    all.push_back(Packer(problem, *order).pack(components, true));
    all.push_back(Packer(problem, *order).pack(components, false));
    all.push_back(Packer(problem, *order).pack(names, false));
  }
  return all;
}

std::string misfit_text(const Problem &problem, const Placement &placement) {
  const Score score = score_of(problem, placement);
  std::string text;
  for (size_t host = 0; host < problem.hosts.size(); ++host) {
    const HostCapacity &capacity = problem.hosts[host];
    const double cpu = part_of(score.used[host].cpu, capacity.cpu), memory = part_of(score.used[host].memory, capacity.memory);
    if (cpu <= problem.fill && memory <= problem.fill) continue;
    if (!text.empty()) text += ", ";
    text += core::visible(capacity.host) + " would need " +
            (cpu >= memory ? percent(cpu) + " of its cores" : percent(memory) + " of its memory");
  }
  text += "; the limit is " + percent(problem.fill) + " (--fill)";
  for (size_t item = 0; item < problem.items.size(); ++item) {
    bool room = false;
    for (size_t host = 0; host < problem.hosts.size() && !room; ++host) room = fits(problem, problem.items[item].used, host);
    if (!room) return text + "; no host is large enough for " + core::visible(problem.items[item].name);
  }
  const auto missing = hosts_missing(problem);
  if (!missing) return text;
  return text + "; everything fits with " + std::to_string(*missing) + (*missing == 1 ? " more host" : " more hosts") + " like " +
         core::visible(problem.hosts.back().host);
}

}  // namespace atalaya::place
