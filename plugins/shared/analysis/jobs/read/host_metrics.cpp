// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/read/host_metrics.h"

#include <algorithm>
#include <limits>

#include "plugins/shared/analysis/jobs/model/tasks.h"
#include "plugins/shared/analysis/jobs/reasons/hosts.h"
#include "plugins/shared/store/query/layered_devices.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::jobs {
namespace {

constexpr int64_t kMinStep = 50'000'000;
constexpr double kMaxBins = 2048;  // maximum bins of equal length, in addition to the bins between borders of windows
constexpr size_t kMaxSeries = 500'000;
constexpr int64_t kMaxWindow = 300'000'000'000;  // maximum validity of an instant sample

std::string without_numbers(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit)
      out += c;
    else if (out.empty() || out.back() != '#')
      out += '#';
  }
  return out;
}

constexpr size_t kMaxBorders = 2048;  // maximum borders and intervals

// Removes borders close to the previous one until their number is at most the maximum.
void thin_out(std::vector<int64_t> &borders) {
  for (int64_t nearer = 1'000'000; borders.size() > kMaxBorders; nearer *= 2) {
    int64_t last = borders.front() - nearer;
    std::erase_if(borders, [&](int64_t border) {
      const bool is_near = border - last < nearer;
      if (!is_near) last = border;
      return is_near;
    });
  }
}

std::string_view disk_of(const store::Series &series) {
  return series.metric.starts_with("sys.disk.") ? std::string_view(tag_of(series.tags, "disk")) : "";
}

std::string_view interface_of(const store::Series &series) {
  return series.metric.starts_with("sys.net.") ? std::string_view(tag_of(series.tags, "interface")) : "";
}

void remove_layered_devices(std::vector<store::Series> &series) {
  query::LayeredDevices disks(query::DeviceKind::disk), interfaces(query::DeviceKind::interface);
  for (const store::Series &one : series) {
    disks.add(tag_of(one.tags, "host"), disk_of(one));
    interfaces.add(tag_of(one.tags, "host"), interface_of(one));
  }
  std::erase_if(series, [&](const store::Series &one) {
    const std::string_view host = tag_of(one.tags, "host");
    return disks.contains(host, disk_of(one)) || interfaces.contains(host, interface_of(one));
  });
}

}  // namespace

template <class Visit>
void Metrics::for_each_bin(const Bins &bins, int64_t begin_ns, int64_t end_ns, Visit &&visit) {
  auto bin = std::partition_point(bins.begin(), bins.end(), [&](const Bin &one) { return one.end_ns <= begin_ns; });
  for (; bin != bins.end() && bin->begin_ns < end_ns; ++bin)
    visit(static_cast<size_t>(bin - bins.begin()),
          static_cast<double>(std::min(bin->end_ns, end_ns) - std::max(bin->begin_ns, begin_ns)));
}

// Merges windows that overlap or almost touch. The input is sorted by start.
void Metrics::join(Bins &time_intervals, int64_t gap) {
  size_t kept = 0;
  for (const Bin &next : time_intervals) {
    if (kept == 0 || next.begin_ns - time_intervals[kept - 1].end_ns > gap)
      time_intervals[kept++] = next;
    else
      time_intervals[kept - 1].end_ns = std::max(time_intervals[kept - 1].end_ns, next.end_ns);
  }
  time_intervals.resize(kept);
}

Metrics::Bins Metrics::bins_of(Windows windows) {
  std::erase_if(windows, [](const Window &window) { return window.begin_ns >= window.end_ns; });
  std::sort(windows.begin(), windows.end(), [](const Window &a, const Window &b) { return a.begin_ns < b.begin_ns; });
  Bins covered;
  std::vector<int64_t> borders;
  for (const Window &window : windows) {
    borders.push_back(window.begin_ns);
    borders.push_back(window.end_ns);
    covered.push_back({window.begin_ns, window.end_ns});
  }
  join(covered, 0);
  for (int64_t gap = 1'000'000; covered.size() > kMaxBorders; gap *= 2) join(covered, gap);
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  thin_out(borders);
  double all = 0;
  for (const Bin &time_interval : covered) all += static_cast<double>(time_interval.end_ns - time_interval.begin_ns);
  const int64_t step = std::max(static_cast<int64_t>(all / kMaxBins) + 1, kMinStep);
  Bins bins;
  auto border = borders.begin();
  for (const Bin &time_interval : covered) {
    for (int64_t at = time_interval.begin_ns; at < time_interval.end_ns;) {
      border = std::upper_bound(border, borders.end(), at);
      const int64_t until = border == borders.end() ? time_interval.end_ns : std::min(*border, time_interval.end_ns);
      bins.push_back({at, until - at > step ? at + step : until});
      at = bins.back().end_ns;
    }
  }
  return bins;
}

class MetricsReader : public store::PointVisitor {
 public:
  MetricsReader(const std::vector<Windows> &sets, const std::set<std::string> &hosts, store::Store &store, query::Budget &budget)
      : sets_(sets), reported_hosts_(hosts), store_(store), budget_(budget) {
    all_.held_ = Metrics::Reservation(&budget);
    all_.programs_.resize(sets.size());
  }

  Metrics read() {
    set_bins();
    if (all_.bins_.empty()) return std::move(all_);
    select();
    store_.scan(series_, wider(), *this);
    for (const auto &[key, uses] : programs_)
      for (const Use &use : uses) all_.programs_[use.set].push_back({key.first, key.second, use.cpu, use.disk});
    all_.ipc_sample_ns_ = usual_ipc_length();
    return std::move(all_);
  }

  void points(size_t series, const store::Points &points) override {
    Target &target = targets_[series];
    for (size_t i = 0; i < points.times_ns.size(); ++i) {
      const int64_t time = points.times_ns[i];
      int64_t length = points.durations_ns[i];
      if (length > 0 && series_[series].metric == kIpc) ++ipc_lengths_[length];
      if (length <= 0) length = target.last_ns == 0 ? 0 : std::min(time - target.last_ns, kMaxWindow);
      target.last_ns = time;
      if (length > 0) add(target, time - length, time, points.values[i]);
    }
    budget_.check_time();
  }

 private:
  // The windows of a set that are on a host.
  struct Active {
    size_t set = 0;
    std::vector<double> part;  // share of each bin that is in these windows
    double all_ns = 0;
  };
  struct Use {
    size_t set = 0;
    double cpu = 0, disk = 0;
  };
  struct Target {
    const Metrics::Bins *bins = nullptr;
    Metrics::Sums *sums = nullptr;
    std::vector<Use> *uses = nullptr;  // for metrics of programs: usage in the order of `active`
    const std::vector<Active> *active = nullptr;
    bool of_cpu = false;
    bool amount = false;  // true: values are amounts per window; false: per second
    int64_t last_ns = 0;
  };

  // The interval is the median length of windows: a first window may be short, and those of other senders may have any length.
  int64_t usual_ipc_length() const {
    size_t all = 0, reached = 0;
    for (const auto &[length, count] : ipc_lengths_) all += count;
    for (const auto &[length, count] : ipc_lengths_)
      if ((reached += count) * 2 >= all) return length;
    return 0;
  }

  // Reads a longer range: windows that start in the range may end after it, and the validity of an instant depends on the previous
  // one.
  store::Range wider() const {
    constexpr int64_t kLatest = std::numeric_limits<int64_t>::max() - kMaxWindow;  // limit for invalid times of other senders
    return {begin_ns_ - std::min(begin_ns_, kMaxWindow), std::min(end_ns_, kLatest) + kMaxWindow};
  }

  void set_bins() {
    std::map<std::string, Windows> all;
    for (const Windows &set : sets_)
      for (const Window &window : set) all[window.host].push_back(window);
    for (auto &[host, windows] : all) {
      const Metrics::Bins bins = Metrics::bins_of(std::move(windows));
      reported_hosts_.insert(host);
      if (bins.empty()) continue;
      begin_ns_ = all_.bins_.empty() ? bins.front().begin_ns : std::min(begin_ns_, bins.front().begin_ns);
      end_ns_ = std::max(end_ns_, bins.back().end_ns);
      all_.bins_.emplace(host, bins);
    }
    for (size_t set = 0; set < sets_.size(); ++set) set_active(set);
  }

  void set_active(size_t set) {
    for (const Window &window : sets_[set]) {
      const auto bins = all_.bins_.find(window.host);
      if (bins == all_.bins_.end()) continue;
      std::vector<Active> &of_host = active_[window.host];
      if (of_host.empty() || of_host.back().set != set) of_host.push_back({set, std::vector<double>(bins->second.size()), 0});
      Active &active = of_host.back();
      Metrics::for_each_bin(bins->second, window.begin_ns, window.end_ns, [&](size_t number, double overlap) {
        const Metrics::Bin &bin = bins->second[number];
        active.part[number] = std::max(active.part[number], overlap / static_cast<double>(bin.end_ns - bin.begin_ns));
      });
    }
    for (auto &[host, of_host] : active_) {
      if (of_host.back().set != set) continue;
      const Metrics::Bins &bins = all_.bins_.at(host);
      for (size_t i = 0; i < bins.size(); ++i)
        of_host.back().all_ns += of_host.back().part[i] * static_cast<double>(bins[i].end_ns - bins[i].begin_ns);
    }
  }

  std::vector<store::Series> series_of(std::vector<std::string> hosts) {
    std::vector<store::Series> found = store_.series({{}, {{"host", std::move(hosts)}}, wider()}, kMaxSeries + 1);
    if (found.size() > kMaxSeries)
      throw query::TooMuch("more than " + std::to_string(kMaxSeries) + " series belong to the nodes" + query::kAskForLess);
    std::erase_if(found, [](const store::Series &series) {
      return combine_of(series.metric, series.info.get()) == Combine::omit || tag_of(series.tags, "interface") == "lo";
    });
    remove_layered_devices(found);
    return found;
  }

  // Identifies a program by its name, or else by its first label.
  void select() {
    std::vector<std::string> names, labels;
    for (const auto &[host, bins] : all_.bins_) names.push_back(query::exact_pattern(host));
    std::vector<store::Series> found = series_of(std::move(names));
    std::set<std::string> stored;
    for (const store::Series &series : found) stored.emplace(tag_of(series.tags, "host"));
    for (const auto &[host, bins] : all_.bins_) {
      const std::string_view label = first_label(host);
      if (label.empty() || stored.contains(host)) continue;
      labels.push_back(query::exact_pattern(label));
      labels.push_back(query::exact_pattern(label) + ".*");
    }
    if (!labels.empty()) {
      for (store::Series &series : series_of(std::move(labels)))
        if (stored.emplace(tag_of(series.tags, "host")); !all_.bins_.contains(tag_of(series.tags, "host")))
          found.push_back(std::move(series));
    }
    const SameHosts same(reported_hosts_, stored);
    all_.notes_ = same.notes("metrics");
    for (store::Series &series : found) {
      const std::string *host = same.span_host_of(tag_of(series.tags, "host"));
      if (host == nullptr || !all_.bins_.contains(*host)) continue;
      targets_.push_back(target_of(series, *host));
      series_.push_back(std::move(series));
    }
  }

  Target target_of(const store::Series &series, const std::string &host) {
    Metrics::Column &column = all_.columns_[series.metric];
    column.combine = combine_of(series.metric, series.info.get());
    if (series.metric == "sys.cpu.usage") all_.cores_[host].emplace(tag_of(series.tags, "core"));
    Target target;
    target.bins = &all_.bins_.at(host);
    target.sums = &column.hosts[host];
    if (target.sums->sum.empty()) {
      all_.held_.more(target.bins->size());
      target.sums->sum.resize(target.bins->size());
      target.sums->weight.resize(target.bins->size());
    }
    target.amount = series.kind() == store::Kind::delta;
    target.of_cpu = series.metric == "proc.cpu.user" || series.metric == "proc.cpu.kernel";
    if (!target.of_cpu && series.metric != "proc.disk.reads.mb" && series.metric != "proc.disk.writes.mb") return target;
    target.active = &active_.at(host);
    target.uses = &programs_[{without_numbers(tag_of(series.tags, "process")), host}];
    if (target.uses->empty())
      for (const Active &active : *target.active) target.uses->push_back({active.set});
    return target;
  }

  static void add(Target &target, int64_t begin, int64_t end, double value) {
    if (target.amount) value = value / static_cast<double>(end - begin) * 1e9;
    Metrics::for_each_bin(*target.bins, begin, end, [&](size_t bin, double overlap) {
      target.sums->sum[bin] += value * overlap;
      target.sums->weight[bin] += overlap;
      if (target.uses == nullptr) return;
      for (size_t i = 0; i < target.uses->size(); ++i) {
        const Active &active = (*target.active)[i];
        if (active.all_ns <= 0) continue;  // windows without length
        Use &use = (*target.uses)[i];
        (target.of_cpu ? use.cpu : use.disk) += value * overlap * active.part[bin] / active.all_ns;
      }
    });
  }

  const std::vector<Windows> &sets_;
  std::set<std::string> reported_hosts_;
  store::Store &store_;
  query::Budget &budget_;
  Metrics all_;
  int64_t begin_ns_ = 0, end_ns_ = 0;
  std::vector<store::Series> series_;
  std::vector<Target> targets_;
  std::map<std::string, std::vector<Active>, std::less<>> active_;  // by host
  std::map<std::pair<std::string, std::string>, std::vector<Use>> programs_;
  std::map<int64_t, size_t> ipc_lengths_;
};

Metrics Metrics::read(const std::vector<Windows> &sets, const std::set<std::string> &hosts, store::Store &store,
                      query::Budget &budget) {
  return MetricsReader(sets, hosts, store, budget).read();
}

std::vector<std::string> Metrics::names() const {
  std::vector<std::string> names;
  for (const auto &[name, column] : columns_) names.push_back(name);
  return names;
}

std::optional<double> Metrics::mean(std::string_view metric, const Window &window) const {
  const auto column = columns_.find(metric);
  if (column == columns_.end()) return std::nullopt;
  const auto sums = column->second.hosts.find(window.host);
  if (sums == column->second.hosts.end()) return std::nullopt;
  const Bins &all = bins_.find(window.host)->second;
  double sum = 0, weight = 0;
  for_each_bin(all, window.begin_ns, window.end_ns, [&](size_t bin, double overlap) {
    const double known = sums->second.weight[bin];
    if (known <= 0) return;
    const auto length = static_cast<double>(all[bin].end_ns - all[bin].begin_ns);
    sum += sums->second.sum[bin] / (column->second.combine == Combine::mean ? known : std::min(known, length)) * overlap;
    weight += overlap;
  });
  return weight > 0 ? std::optional(sum / weight) : std::nullopt;
}

std::optional<double> Metrics::mean(std::string_view metric, const Windows &windows) const {
  double sum = 0, length = 0;
  for (const Window &window : windows) {
    const auto value = mean(metric, window);
    if (!value) continue;
    sum += *value * static_cast<double>(window.end_ns - window.begin_ns);
    length += static_cast<double>(window.end_ns - window.begin_ns);
  }
  return length > 0 ? std::optional(sum / length) : std::nullopt;
}

}  // namespace atalaya::jobs
