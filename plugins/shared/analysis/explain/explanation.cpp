// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/explain/explanation.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/base/text/safe_text.h"
#include "plugins/shared/io/time/time_text.h"
#include "plugins/shared/store/lookup.h"
#include "plugins/shared/store/query/engine.h"

namespace atalaya::explain {
namespace {

constexpr size_t kMostSteps = 30, kMinSteps = 8;
constexpr size_t kMinOthers = 3;   // with two hosts almost no difference is statistically significant
constexpr double kComplete = 0.9;  // minimum measured share of a complete step

struct Capacities {
  double cores = 1, memory = 1024, disk = 200, network = 1000;

  double of(const Resource &resource) const {
    constexpr double kForksPerCore = 100, kSwitchesPerCore = 50'000;
    switch (resource.capacity) {
      case Capacity::cores:
        return cores;
      case Capacity::memory:
        return memory;
      case Capacity::disk:
        return disk;
      case Capacity::network:
        return network;
      case Capacity::forks:
        return kForksPerCore * cores;
      case Capacity::switches:
        return kSwitchesPerCore * cores;
      case Capacity::one:
        break;
    }
    return resource.size;
  }
};

// The mean of each part by its name.
std::map<Tags, double> means_of(const Resource &resource, const Side &side, Reader &reader) {
  std::map<Tags, double> means;
  for (const auto &[tags, part] : parts_of(resource, side, Steps(side.range, 0, 1), true, reader))
    means[tags] = part.values.front();
  return means;
}

Resource plain(std::vector<std::string> metrics, std::vector<std::string> keys, double scale = 1) {
  Resource resource;
  resource.metrics = std::move(metrics);
  resource.keys = std::move(keys);
  resource.scale = scale;
  return resource;
}

double sum_of(const std::map<Tags, double> &means) {
  double sum = 0;
  for (const auto &[tags, mean] : means) sum += mean;
  return sum;
}

// Estimates the capacity of a disk: its throughput divided by the share of the time in which it is busy.
double disk_capacity(const Request &request, Reader &reader) {
  constexpr double kUsual = 200, kMinBusy = 5, kLeast = 1;
  double capacity = kUsual, busiest = kMinBusy;
  for (const Side *side : {&request.baseline, &request.window}) {
    double busy = 0;
    for (const auto &[tags, mean] : means_of(plain({"sys.disk.usage"}, {"disk"}), *side, reader)) busy = std::max(busy, mean);
    if (busy <= busiest) continue;
    busiest = busy;
    const double throughput = sum_of(means_of(plain({"proc.disk.reads.mb", "proc.disk.writes.mb"}, {}), *side, reader));
    capacity = std::max(kLeast, throughput * 100 / busy);
  }
  return capacity;
}

Capacities capacities_of(const Request &request, Reader &reader) {
  Capacities capacities;
  const auto cores = means_of(plain({"sys.cpu.usage"}, {"core"}), request.window, reader);
  capacities.cores = std::max<double>(1, static_cast<double>(cores.size()));
  if (const double memory = sum_of(means_of(plain({"sys.mem.total"}, {}), request.window, reader)); memory > 0)
    capacities.memory = memory;
  capacities.disk = disk_capacity(request, reader);
  return capacities;
}

// Quotes a text as one word for a shell.
std::string quoted(const std::string &text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

class Explainer {
 public:
  Explainer(const Request &request, Reader &reader) : request_(request), reader_(reader) {
    result_.window = request.window;
    result_.baseline = request.baseline;
  }

  Explanation run() {
    set_steps();
    measure();
    grade_all();
    sort();
    result_.facts = changed_facts(result_.baseline, result_.window, reader_);
    for (Finding &finding : result_.findings) {
      summarise(finding, result_.names_hosts);
      add_context(finding);
    }
    return std::move(result_);
  }

 private:
  void set_steps() {
    Steps window(request_.window.range, 0, kMostSteps), baseline(request_.baseline.range, 0, kMostSteps);
    Presence in_window = presence_of(request_.window, window, reader_),
             in_baseline = presence_of(request_.baseline, baseline, reader_);
    const int64_t step_ns = std::max(in_window.window_ns, in_baseline.window_ns);
    const auto is_too_short = [&](const Steps &steps) { return steps.length_ns() < step_ns; };
    if (is_too_short(window) || is_too_short(baseline)) {
      window = Steps(request_.window.range, step_ns, kMostSteps);
      baseline = Steps(request_.baseline.range, step_ns, kMostSteps);
      in_window = presence_of(request_.window, window, reader_);
      in_baseline = presence_of(request_.baseline, baseline, reader_);
    }
    // A store without metrics of hosts has no information about gaps.
    const bool shows_gaps = !in_window.covered.empty() || !in_baseline.covered.empty();
    choose_hosts(in_window, in_baseline, baseline);
    result_.names_hosts = request_.by_host && result_.hosts.size() != 1;
    if (shows_gaps) {
      mark_complete(window, in_window);
      mark_complete(baseline, in_baseline);
    }
    check(window, "the range", request_.window.range);
    check(baseline, "the baseline", request_.baseline.range);
    result_.window_steps = window;
    result_.baseline_steps = baseline;
  }

  static bool is_measured(const std::vector<double> &covered) {
    return std::count_if(covered.begin(), covered.end(), [](double share) { return share >= kComplete; }) >=
           static_cast<std::ptrdiff_t>(kMinSteps);
  }

  // Excludes hosts that were measured in only one of the ranges: their usage would appear as a change.
  void choose_hosts(Presence &window, Presence &baseline, const Steps &baseline_steps) {
    if (request_.others) return choose_others(window, baseline, baseline_steps);
    if (!request_.by_host) {
      for (const auto &[host, covered] : window.covered) result_.hosts.push_back(host);
      return;
    }
    std::vector<std::string> omitted;
    for (Presence *side : {&window, &baseline}) {
      const Presence &other = side == &window ? baseline : window;
      for (const auto &[host, covered] : side->covered) {
        const auto found = other.covered.find(host);
        const bool both = is_measured(covered) && found != other.covered.end() && is_measured(found->second);
        if (both && side == &window) result_.hosts.push_back(host);
        if (!both) omitted.push_back(host);
      }
    }
    std::sort(omitted.begin(), omitted.end());
    omitted.erase(std::unique(omitted.begin(), omitted.end()), omitted.end());
    if (omitted.empty() || result_.hosts.empty()) return;
    for (const std::string &host : omitted) {
      result_.notes.push_back("host " + core::visible(host) + " is left out: it was not measured in both ranges");
      window.covered.erase(host);
      baseline.covered.erase(host);
    }
    for (Side *side : {&result_.window, &result_.baseline}) {
      std::erase_if(side->tags, [](const store::TagFilter &filter) { return filter.key == "host"; });
      side->tags.push_back({"host", result_.hosts});
    }
  }

  void choose_others(const Presence &window, Presence &baseline, Steps steps) {
    for (const auto &[host, covered] : window.covered) result_.hosts.push_back(host);
    if (result_.hosts.size() != 1)
      throw query::Wrong("--against hosts compares one host with all others: " + std::to_string(result_.hosts.size()) +
                         " hosts with this name were measured");
    const size_t all = baseline.covered.size();
    std::erase_if(baseline.covered, [](const auto &host) { return !is_measured(host.second); });
    // In a large fleet some host has a gap in each step; the steps of the other hosts are enough.
    mark_complete(steps, baseline);
    const auto has_gap = [](const auto &host) {
      return std::any_of(host.second.begin(), host.second.end(), [](double share) { return share < kComplete; });
    };
    const auto gaps = static_cast<size_t>(std::count_if(baseline.covered.begin(), baseline.covered.end(), has_gap));
    if (steps.complete() < kMinSteps && baseline.covered.size() - gaps >= kMinOthers) std::erase_if(baseline.covered, has_gap);
    if (const size_t omitted = all - baseline.covered.size(); omitted > 0)
      result_.notes.push_back(std::to_string(omitted) + " other host" + (omitted > 1 ? "s are" : " is") +
                              " left out: not measured in the whole range");
    for (const auto &[host, covered] : baseline.covered) result_.others.push_back(host);
    if (result_.others.size() < kMinOthers)
      throw query::Wrong("--against hosts needs at least " + std::to_string(kMinOthers) + " other hosts, and " +
                         std::to_string(result_.others.size()) + " were measured: compare two hosts with --against host=NAME");
    std::erase_if(result_.baseline.tags, [](const store::TagFilter &filter) { return filter.key == "host"; });
    result_.baseline.tags.push_back({"host", result_.others});
  }

  static void mark_complete(Steps &steps, const Presence &presence) {
    for (size_t step = 0; step < steps.count(); ++step)
      steps.set_complete(
          step, !presence.covered.empty() && std::all_of(presence.covered.begin(), presence.covered.end(),
                                                         [&](const auto &host) { return host.second[step] >= kComplete; }));
  }

  void check(const Steps &steps, const std::string &name, const Range &range) {
    if (steps.complete() < kMinSteps)
      throw query::Wrong(name + " from " + io::time_text(range.from_ns) + " to " + io::time_text(range.to_ns) + " has " +
                         std::to_string(steps.complete()) + " measured steps; at least " + std::to_string(kMinSteps) +
                         " are needed to tell a change from chance: choose a longer range, or another --against");
    if (steps.complete() < steps.count())
      result_.notes.push_back(std::to_string(steps.count() - steps.complete()) + " of " + std::to_string(steps.count()) +
                              " steps of " + name + " are left out: they have no samples, or some are missing");
  }

  // Whether the resource was collected although it has no samples: its source ran, so the usage is 0.
  bool was_collected(const Resource &resource, const std::vector<std::string> &hosts, const Side &side, const Steps &steps) {
    return !resource.witness.empty() &&
           hosts_with(resource.witness, side, steps, reader_).size() >= std::max<size_t>(hosts.size(), 1);
  }

  // The other hosts that collect the resource. A host that does not collect it must not count as usage 0.
  std::vector<std::string> peers_with(const Resource &resource, const Parts &by_host) {
    std::set<std::string> known;
    if (!resource.witness.empty()) known = hosts_with(resource.witness, result_.baseline, result_.baseline_steps, reader_);
    for (const auto &[tags, part] : by_host) known.insert(store::tag_of(tags, "host"));
    std::vector<std::string> peers;
    for (const std::string &host : result_.others)
      if (known.contains(host)) peers.push_back(host);
    return peers;
  }

  // The capacity of one host's disk must not be compared with that of all other hosts together.
  Capacities capacities() {
    const Side &baseline = request_.others ? result_.window : result_.baseline;
    return capacities_of({result_.window, baseline, request_.by, request_.by_host, request_.top}, reader_);
  }

  // The reason why the resource is not compared; "" if it is.
  std::string missing_side(const Resource &resource, const Parts &before, const Parts &after,
                           const std::vector<std::string> &peers) {
    const bool is_after = !after.empty() || was_collected(resource, result_.hosts, result_.window, result_.window_steps);
    if (request_.others && peers.size() < kMinOthers)
      return "fewer than " + std::to_string(kMinOthers) + " other hosts have samples of it";
    const bool is_before =
        request_.others || !before.empty() || was_collected(resource, result_.hosts, result_.baseline, result_.baseline_steps);
    return is_before && is_after ? "" : "one of the ranges has no samples of it";
  }

  void measure() {
    const Capacities all = capacities();
    for (const Resource &resource : resources(request_.by)) {
      const Parts after = parts_of(resource, result_.window, result_.window_steps, request_.by_host, reader_);
      Parts before = parts_of(resource, result_.baseline, result_.baseline_steps, request_.by_host || request_.others, reader_);
      if (before.empty() && after.empty()) continue;
      const std::vector<std::string> peers = request_.others ? peers_with(resource, before) : std::vector<std::string>();
      if (const std::string problem = missing_side(resource, before, after, peers); !problem.empty()) {
        result_.notes.push_back(std::string(resource.name) + " is not compared: " + problem);
        continue;
      }
      PeerMeans means;
      if (request_.others) before = peers_mean(before, peers, result_.baseline_steps, means);
      changes_.push_back(change_of(resource, before, after, result_.baseline_steps, result_.window_steps, all.of(resource),
                                   request_.others ? &means : nullptr));
    }
    if (changes_.empty())
      throw query::Wrong("the store has no metrics of processes or hosts from " + io::time_text(request_.window.range.from_ns) +
                         " to " + io::time_text(request_.window.range.to_ns) + "; source proc collects them (pipelines/host.lua)");
  }

  void grade_all() {
    for (const Change &change : changes_) result_.tests += tests_of(change);
    for (Change &change : changes_) {
      judge(change, std::max<size_t>(result_.tests, 1), request_.top);
      if (!change.is_finding()) {
        result_.unchanged.push_back(std::move(change));
        continue;
      }
      Finding finding;
      finding.is_cause = change.resource.role == Role::cause;
      finding.change = std::move(change);
      result_.findings.push_back(std::move(finding));
    }
    if (Finding *slow = slow_disk()) slow->is_cause = true;
  }

  Finding *find(std::string_view id) {
    const auto found = std::find_if(result_.findings.begin(), result_.findings.end(),
                                    [&](const Finding &finding) { return finding.change.resource.id == id; });
    return found == result_.findings.end() ? nullptr : &*found;
  }

  // Requests take longer although their number has not increased: the disk itself is the cause.
  Finding *slow_disk() {
    Finding *const time = find("waiting.disk");
    if (time == nullptr || time->change.total.change() <= 0) return nullptr;
    if (const Finding *ios = find("disk.ios"); ios != nullptr && ios->change.total.change() > 0) return nullptr;
    for (const char *id : {"disk.read", "disk.write"})
      if (const Finding *use = find(id); use != nullptr && use->change.total.change() > 0) return nullptr;
    return time;
  }

  void sort() {
    for (Finding &finding : result_.findings) {
      finding.tier = finding.is_cause ? 0 : 1;
      // Among causes with equal shares of their capacities the more specific one comes first.
      finding.weight = finding.change.severity() * (1 + 0.1 * finding.change.resource.rank);
    }
    evidence::rank(result_.findings);
  }

  void add_context(Finding &finding) {
    add_commands(finding);
    if (!finding.is_cause || finding.change.named == 0) return;
    const PartChange &first = finding.change.parts.front();
    Tags process = first.common;
    process.insert(first.tags.begin(), first.tags.end());
    if (!request_.by_host)
      for (const char *key : {"host", "pid"}) process.erase(key);  // the same program on each host
    if (!process.contains("process") || first.difference.change() <= 0) return;
    const std::string_view id = finding.change.resource.id;
    if (id == "cpu") finding.functions = grown_functions(process, result_.baseline, result_.window, 3, reader_);
    if (id == "network") finding.peers = changed_peers(process, result_.baseline, result_.window, 3, reader_);
    finding.phases = new_phases(process, result_.baseline, result_.window, reader_);
  }

  void add_commands(Finding &finding) const {
    const Resource &resource = finding.change.resource;
    std::string metrics;
    for (const std::string &metric : resource.metrics) metrics += " --metric " + metric;
    std::string group;
    for (const std::string &key : resource.keys) group += (group.empty() ? " --group-by " : ",") + key;
    if (request_.by_host || request_.others) group += group.empty() ? " --group-by host" : ",host";
    for (const Side *side : {&result_.window, &result_.baseline}) {
      std::string command = "atalaya query" + metrics + group + " --top 10 --every 0all";
      for (const store::TagFilter &filter : side->tags)
        for (const std::string &pattern : filter.patterns) command += " --tag " + quoted(filter.key + "=" + pattern);
      command += " --from " + io::time_text(side->range.from_ns) + " --to " + io::time_text(side->range.to_ns);
      finding.commands.push_back(std::move(command));
    }
  }

  const Request &request_;
  Reader &reader_;
  Explanation result_;
  std::vector<Change> changes_;
};

}  // namespace

Explanation explain(const Request &request, Reader &reader) {
  return Explainer(request, reader).run();
}

}  // namespace atalaya::explain
