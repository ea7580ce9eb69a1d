// SPDX-License-Identifier: Apache-2.0
#include "plugins/bottleneck/metrics.h"

#include <algorithm>

#include "plugins/bottleneck/hosts.h"
#include "plugins/query/pieces.h"
#include "plugins/store/metric_info.h"

namespace atalaya::bottleneck {
namespace {

constexpr int64_t kMostBins = 2048, kShortestStep = 50'000'000;
constexpr size_t kMostSeries = 500'000;
constexpr int64_t kLongestWindow = 300'000'000'000;  // a sample of an instant stands for as long at most

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

std::string_view tag_of(const store::Tags &tags, std::string_view key) {
  const auto found = tags.find(key);
  return found == tags.end() ? std::string_view() : std::string_view(found->second);
}

enum class Use { none, cpu, disk };
Use use_of(std::string_view metric) {
  if (metric == "proc.cpu.user" || metric == "proc.cpu.kernel") return Use::cpu;
  if (metric == "proc.disk.reads.mb" || metric == "proc.disk.writes.mb") return Use::disk;
  return Use::none;
}

}  // namespace

class MetricsReader : public store::PointVisitor {
 public:
  MetricsReader(const std::vector<Window> &windows, const std::set<std::string> &hosts, store::Store &store, query::Budget &budget)
      : windows_(windows), told_hosts_(hosts), store_(store), budget_(budget) {
    for (const Window &window : windows) told_hosts_.insert(window.host);
    all_.held_ = Metrics::Held(&budget);
  }

  Metrics read() {
    if (windows_.empty()) return std::move(all_);
    set_bins();
    select();
    store_.scan(series_, wider(), *this);
    for (auto &[key, program] : programs_) all_.programs_.push_back(program);
    all_.ipc_sample_ns_ = usual_ipc_length();
    return std::move(all_);
  }

  void points(size_t series, const store::Points &points) override {
    for (size_t i = 0; i < points.times_ns.size(); ++i) {
      const int64_t time = points.times_ns[i];
      int64_t length = points.durations_ns[i];
      if (length > 0 && series_[series].metric == kIpc) ++ipc_lengths_[length];
      if (length <= 0) length = targets_[series].last_ns == 0 ? 0 : std::min(time - targets_[series].last_ns, kLongestWindow);
      targets_[series].last_ns = time;
      if (length > 0) add(targets_[series], time - length, time, points.values[i]);
    }
    budget_.check_time();
  }

 private:
  // The median: a first window may be short, and what others sent may have any length.
  int64_t usual_ipc_length() const {
    size_t all = 0, reached = 0;
    for (const auto &[length, count] : ipc_lengths_) all += count;
    for (const auto &[length, count] : ipc_lengths_)
      if ((reached += count) * 2 >= all) return length;
    return 0;
  }

  struct Target {
    Metrics::Bins *bins = nullptr;
    Program *program = nullptr;
    Use use = Use::none;
    bool amount = false;  // in the window, not a second
    const std::vector<double> *active = nullptr;
    double active_ns = 0;
    int64_t last_ns = 0;
  };

  // Windows that began in the time may end after it, and an instant needs the one before to know for how long it stands.
  store::Range wider() const { return {all_.begin_ns_ - std::min(all_.begin_ns_, kLongestWindow), end_ns() + kLongestWindow}; }
  int64_t end_ns() const { return all_.begin_ns_ + all_.step_ns_ * static_cast<int64_t>(all_.count_); }

  void set_bins() {
    int64_t begin = windows_.front().begin_ns, end = begin;
    for (const Window &window : windows_) {
      begin = std::min(begin, window.begin_ns);
      end = std::max(end, window.end_ns);
    }
    all_.begin_ns_ = begin;
    all_.step_ns_ = std::max((end - begin) / kMostBins + 1, kShortestStep);
    all_.count_ = static_cast<size_t>((end - begin) / all_.step_ns_ + 1);
    for (const Window &window : windows_) {
      std::vector<double> &active = active_[window.host];
      active.resize(all_.count_);
      each_bin(window.begin_ns, window.end_ns, [&](size_t bin, double overlap) {
        active[bin] = std::max(active[bin], overlap / static_cast<double>(all_.step_ns_));
      });
    }
  }

  template <class Visit>
  void each_bin(int64_t begin, int64_t end, Visit &&visit) const {
    begin = std::max(begin, all_.begin_ns_);
    end = std::min(end, end_ns());
    for (int64_t at = begin; at < end;) {
      const auto bin = static_cast<size_t>((at - all_.begin_ns_) / all_.step_ns_);
      const int64_t next = std::min(all_.begin_ns_ + static_cast<int64_t>(bin + 1) * all_.step_ns_, end);
      visit(bin, static_cast<double>(next - at));
      at = next;
    }
  }

  std::vector<store::Series> series_of(std::vector<std::string> hosts) {
    std::vector<store::Series> found = store_.series({{}, {{"host", std::move(hosts)}}, wider()}, kMostSeries + 1);
    if (found.size() > kMostSeries)
      throw query::TooMuch("more than " + std::to_string(kMostSeries) + " series are of the nodes in question" +
                           query::kAskForLess);
    std::erase_if(found, [](const store::Series &series) {
      return combine_of(series.metric) == Combine::leave_out || tag_of(series.tags, "interface") == "lo";
    });
    return found;
  }

  // By their names, and where there is nothing of a name by its first label.
  void select() {
    std::vector<std::string> names, labels;
    for (const auto &[host, active] : active_) names.push_back(query::exactly(host));
    std::vector<store::Series> found = series_of(std::move(names));
    std::set<std::string> stored;
    for (const store::Series &series : found) stored.emplace(tag_of(series.tags, "host"));
    for (const auto &[host, active] : active_) {
      const std::string_view label = first_label(host);
      if (label.empty() || stored.contains(host)) continue;
      labels.push_back(query::exactly(label));
      labels.push_back(query::exactly(label) + ".*");
    }
    if (!labels.empty()) {
      for (store::Series &series : series_of(std::move(labels)))
        if (stored.emplace(tag_of(series.tags, "host")); !active_.contains(tag_of(series.tags, "host")))
          found.push_back(std::move(series));
    }
    const SameHosts same(told_hosts_, stored);
    all_.notes_ = same.notes("metrics");
    for (store::Series &series : found) {
      const std::string *host = same.told_of(std::string(tag_of(series.tags, "host")));
      if (host == nullptr || !active_.contains(*host)) continue;
      targets_.push_back(target_of(series, *host));
      series_.push_back(std::move(series));
    }
  }

  Target target_of(const store::Series &series, const std::string &host) {
    Metrics::Column &column = all_.columns_[series.metric];
    column.combine = combine_of(series.metric);
    if (series.metric == "sys.cpu.usage") all_.cores_[host].emplace(tag_of(series.tags, "core"));
    Target target;
    target.bins = &column.hosts[host];
    if (target.bins->sum.empty()) {
      all_.held_.more(all_.count_);
      target.bins->sum.resize(all_.count_);
      target.bins->weight.resize(all_.count_);
    }
    target.amount = store::metric_info(series.metric).kind == store::Kind::delta;
    target.use = use_of(series.metric);
    if (target.use == Use::none) return target;
    const std::string name = without_numbers(tag_of(series.tags, "process"));
    Program &program = programs_[{name, host}];
    program.name = name;
    program.host = host;
    target.program = &program;
    target.active = &active_.at(host);
    for (const double part : *target.active) target.active_ns += part * static_cast<double>(all_.step_ns_);
    return target;
  }

  void add(Target &target, int64_t begin, int64_t end, double value) {
    if (target.amount) value = value / static_cast<double>(end - begin) * 1e9;
    each_bin(begin, end, [&](size_t bin, double overlap) {
      target.bins->sum[bin] += value * overlap;
      target.bins->weight[bin] += overlap;
      if (target.program == nullptr || target.active_ns <= 0) return;
      (target.use == Use::cpu ? target.program->cpu : target.program->disk) +=
          value * overlap * (*target.active)[bin] / target.active_ns;
    });
  }

  const std::vector<Window> &windows_;
  std::set<std::string> told_hosts_;
  store::Store &store_;
  query::Budget &budget_;
  Metrics all_;
  std::vector<store::Series> series_;
  std::vector<Target> targets_;
  std::map<std::string, std::vector<double>, std::less<>> active_;  // of hosts: the part of each bin in which it has windows
  std::map<std::pair<std::string, std::string>, Program> programs_;
  std::map<int64_t, size_t> ipc_lengths_;
};

Metrics Metrics::read(const std::vector<Window> &windows, const std::set<std::string> &hosts, store::Store &store,
                      query::Budget &budget) {
  return MetricsReader(windows, hosts, store, budget).read();
}

std::vector<std::string> Metrics::names() const {
  std::vector<std::string> names;
  for (const auto &[name, column] : columns_) names.push_back(name);
  return names;
}

std::optional<double> Metrics::mean(std::string_view metric, const Window &window) const {
  const auto column = columns_.find(metric);
  if (column == columns_.end()) return std::nullopt;
  const auto bins = column->second.hosts.find(window.host);
  if (bins == column->second.hosts.end()) return std::nullopt;
  double sum = 0, weight = 0;
  for (int64_t at = std::max(window.begin_ns, begin_ns_); at < window.end_ns;) {
    const auto bin = static_cast<size_t>((at - begin_ns_) / step_ns_);
    if (bin >= count_) break;
    const int64_t next = std::min(begin_ns_ + static_cast<int64_t>(bin + 1) * step_ns_, window.end_ns);
    const double known = bins->second.weight[bin], overlap = static_cast<double>(next - at);
    at = next;
    if (known <= 0) continue;
    const double over = column->second.combine == Combine::mean ? known : std::min(known, static_cast<double>(step_ns_));
    sum += bins->second.sum[bin] / over * overlap;
    weight += overlap;
  }
  return weight > 0 ? std::optional(sum / weight) : std::nullopt;
}

std::optional<double> Metrics::mean(std::string_view metric, const std::vector<Window> &windows) const {
  double sum = 0, length = 0;
  for (const Window &window : windows) {
    const auto value = mean(metric, window);
    if (!value) continue;
    sum += *value * static_cast<double>(window.end_ns - window.begin_ns);
    length += static_cast<double>(window.end_ns - window.begin_ns);
  }
  return length > 0 ? std::optional(sum / length) : std::nullopt;
}

}  // namespace atalaya::bottleneck
