// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/report/bill.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "plugins/shared/store/lookup.h"
#include "plugins/shared/store/query/layered_devices.h"
#include "plugins/shared/store/query/usage.h"

namespace atalaya::report_command {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// The metrics of a resource: the sum of their sums, times `scale`, is the amount.
struct Source {
  std::vector<std::string> processes, machine, idle;
  std::string_view sum_unit;
  double scale = 1;
  std::string device;  // tag of the machine's metrics with the name of a disk or an interface
};

std::array<Source, kResources.size()> sources() {
  constexpr double kMib = 0.125;  // MiB per Mibit
  return {{{{"proc.cpu.user", "proc.cpu.kernel"},
            {"sys.cpu.user", "sys.cpu.kernel", "sys.cpu.irq", "sys.cpu.softirq", "sys.cpu.steal", "sys.cpu.idle", "sys.cpu.wait"},
            {"sys.cpu.idle", "sys.cpu.wait"},
            "core-seconds",
            1,
            ""},
           {{"proc.mem.resident"}, {"sys.mem.total"}, {"sys.mem.free"}, "MiB-hours", 1.0 / 1024, ""},
           {{"proc.cpu.energy"}, {"sys.energy.packages"}, {"sys.energy.idle"}, "J", 1, ""},
           {{"proc.disk.reads.mb"}, {"sys.disk.read.mb"}, {}, "MiB", 1, "disk"},
           {{"proc.disk.writes.mb"}, {"sys.disk.write.mb"}, {}, "MiB", 1, "disk"},
           {{"proc.net.tcp.in.mb", "proc.net.udp.in.mb"}, {"sys.net.in.mb"}, {}, "Mibit", kMib, "interface"},
           {{"proc.net.tcp.out.mb", "proc.net.udp.out.mb"}, {"sys.net.out.mb"}, {}, "Mibit", kMib, "interface"}}};
}

using store::tag_of;

class BillReader {
 public:
  BillReader(std::string key, const std::vector<store::TagFilter> &tags, const query::Range &range, store::Store &store,
             query::Budget &budget)
      : key_(std::move(key)), processes_(tags), range_(range), store_(store), budget_(budget) {
    for (const store::TagFilter &filter : tags)
      if (filter.key == "host") machines_.push_back(filter);
    // Names in the tag process for CPU time that belongs to no process.
    processes_.push_back({"process", {"!irq", "!unattributed"}});
  }

  void read() {
    const auto all = sources();
    for (size_t i = 0; i < all.size(); ++i) {
      source_ = &all[i];
      for (const std::string &metric : source_->processes)
        for (const query::Usage &usage : usages(metric, processes_, {key_}))
          add(groups_.try_emplace(tag_of(usage.tags, key_), unknown()).first->second, i, usage.sum * source_->scale);
      for (const std::string &metric : source_->machine) add(total_, i, of_machines(metric, source_->device));
      for (const std::string &metric : source_->idle) add(idle_, i, of_machines(metric, ""));
    }
  }

  Bill result(size_t top) {
    Bill bill{key_, {}, std::move(undeclared_)};
    const Amounts none = groups_.try_emplace("", unknown()).first->second;
    groups_.erase("");
    if (groups_.empty()) throw query::Wrong("--by " + key_ + ": no process has the tag " + key_ + " in this time" + advice());
    for (const auto &[name, amounts] : groups_) bill.rows.push_back({RowKind::group, name, amounts});
    std::stable_sort(bill.rows.begin(), bill.rows.end(),
                     [](const BillRow &a, const BillRow &b) { return larger(a.amounts, b.amounts); });
    select_top(bill.rows, top);
    Amounts rest = unknown();
    for (size_t i = 0; i < rest.size(); ++i) {
      if (std::isnan(total_[i])) continue;
      rest[i] = total_[i] - known(idle_[i]) - known(none[i]);
      for (const BillRow &row : bill.rows) rest[i] -= known(row.amounts[i]);
    }
    bill.rows.push_back({RowKind::none, "no " + key_, none});
    bill.rows.push_back({RowKind::unattributed, "unattributed", rest});
    bill.rows.push_back({RowKind::idle, "idle", idle_});
    bill.rows.push_back({RowKind::total, "total", total_});
    return bill;
  }

 private:
  static constexpr Amounts unknown() {
    Amounts amounts{};
    amounts.fill(kUnknown);
    return amounts;
  }
  static double known(double amount) { return std::isnan(amount) ? 0 : amount; }
  static void add(Amounts &amounts, size_t resource, double amount) {
    if (!std::isnan(amount)) amounts[resource] = known(amounts[resource]) + amount;
  }
  // Sorts by the first resource that differs.
  static bool larger(const Amounts &a, const Amounts &b) {
    for (size_t i = 0; i < a.size(); ++i)
      if (known(a[i]) != known(b[i])) return known(a[i]) > known(b[i]);
    return false;
  }
  static void select_top(std::vector<BillRow> &rows, size_t top) {
    if (rows.size() <= top) return;
    BillRow other{RowKind::other, "other (" + std::to_string(rows.size() - top) + ")", unknown()};
    for (size_t row = top; row < rows.size(); ++row)
      for (size_t i = 0; i < kResources.size(); ++i) add(other.amounts, i, rows[row].amounts[i]);
    rows.resize(top);
    rows.push_back(std::move(other));
  }
  std::string advice() const {
    if (key_ == "user") return "; a.source.proc { tags = { \"user\" } } sets it";
    return "; a.translate.names { tags = { \"" + key_ + "\" } } sets it (see docs/how-to/names.md)";
  }

  std::vector<query::Usage> usages(const std::string &metric, const std::vector<store::TagFilter> &tags,
                                   const std::vector<std::string> &by) {
    try {
      auto found = query::usage_of({metric}, tags, by, range_, store_, budget_);
      if (std::erase_if(found, [this](const query::Usage &usage) { return usage.sum_unit != source_->sum_unit; }) > 0)
        undeclared_.insert(metric);
      return found;
    } catch (const query::UnknownMetric &) {
      return {};
    }
  }
  // NaN if the store has no data.
  double of_machines(const std::string &metric, const std::string &device) {
    if (device.empty()) {
      const auto found = usages(metric, machines_, {});
      return found.empty() ? kUnknown : found.front().sum * source_->scale;
    }
    const auto found = usages(metric, machines_, {"host", device});
    query::LayeredDevices layered(device == "disk" ? query::DeviceKind::disk : query::DeviceKind::interface);
    for (const query::Usage &usage : found) layered.add(tag_of(usage.tags, "host"), tag_of(usage.tags, device));
    double sum = found.empty() ? kUnknown : 0;
    for (const query::Usage &usage : found)
      if (!layered.contains(tag_of(usage.tags, "host"), tag_of(usage.tags, device))) sum += usage.sum;
    return sum * source_->scale;
  }

  const std::string key_;
  std::vector<store::TagFilter> processes_, machines_;
  const query::Range range_;
  store::Store &store_;
  query::Budget &budget_;
  const Source *source_ = nullptr;         // the one that is being read
  std::map<std::string, Amounts> groups_;  // "": processes without the tag
  Amounts total_ = unknown(), idle_ = unknown();
  std::set<std::string> undeclared_;
};

}  // namespace

Bill bill_of(const std::string &key, const std::vector<store::TagFilter> &tags, const query::Range &range, store::Store &store,
             query::Budget &budget, size_t top) {
  BillReader reader(key, tags, range, store, budget);
  reader.read();
  return reader.result(top);
}

}  // namespace atalaya::report_command
