// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/exits/exit_collector.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "plugins/shared/host/procfs/files.h"
#include "plugins/shared/host/procfs/process_parse.h"

namespace atalaya::proc {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;
// Interpreters: the translator `names` finds the name of their script by the pid, so their ended processes have separate series.
// Short-lived ones are summed by name, because a host may start hundreds of scripts per second.
constexpr std::array<std::string_view, 14> kInterpreters = {"java", "jsvc", "python", "node", "ruby",   "perl",   "php",
                                                            "sh",   "bash", "dash",   "R",    "dotnet", "erlang", "beam.smp"};
constexpr std::array<std::string_view, 3> kShells = {"sh", "bash", "dash"};
constexpr size_t kMaxSingles = 256;  // per window

// The name without a version: python3.11 is python.
template <size_t Size>
bool lists(const std::array<std::string_view, Size> &programs, std::string_view name) {
  const size_t end = name.find_last_not_of("0123456789.-");
  const std::string_view program = name.substr(0, end == std::string_view::npos ? 0 : end + 1);
  return std::find(programs.begin(), programs.end(), program) != programs.end();
}

// Processes that fork workers: the translator `names` finds the tags of the workers by the pid of the parent. Shells have children
// of all kinds, and are many.
bool forks_workers(std::string_view name) {
  return lists(kInterpreters, name) && !lists(kShells, name);
}

uint64_t ticks_per_second() {
  const long ticks = ::sysconf(_SC_CLK_TCK);
  return ticks > 0 ? static_cast<uint64_t>(ticks) : 100;
}

// Maximum difference between ticks and nanoseconds at any time: a tick of the files (longer than one of the kernel) per core.
uint64_t noise_ns() {
  const long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  return static_cast<uint64_t>(kNanosecondsPerSecond) / ticks_per_second() * static_cast<uint64_t>(cores > 0 ? cores : 1);
}

uint64_t known(const Counters &counters, procfs::Counter counter) {
  return counters.has(counter) ? counters.get(counter) : 0;
}

}  // namespace

ExitCollector::ExitCollector(Host host, ExitOptions options)
    : host_(host),
      options_(std::move(options)),
      process_id_(host.intern("process")),
      parent_id_(host.intern("parent")),
      parent_pid_id_(host.intern("parent.pid")),
      cgroup_id_(host.intern("cgroup")),
      exits_id_(host.intern(view(kExitsMetric.name))),
      lost_id_(host.intern(view(kLostExitsMetric.name))),
      exits_(options_.max_groups),
      unattributed_(noise_ns()) {
  for (size_t i = 0; i < procfs::kCounters; ++i) rate_ids_[i] = host.intern(view(kRateRows[i].metric.name));
}

void ExitCollector::start(ProcessBackend &backend, ProcessModel &model) {
  folder_ = procfs::open_root(options_.root, "proc");
  cgroups_.open(options_.root);
  unattributed_ = Unattributed(noise_ns());
  previous_ns_ = 0;
  lost_before_ = 0;
  reset();
  if (options_.exited || options_.unattributed)
    backend.follow_exits(model, [this, &model](const ExitReading &exit) { add(exit, model); });
}

// The usage of processes for which it is unknown is part of the remainder.
void ExitCollector::reset() {
  exits_.begin();
  cgroups_.begin();
  exited_ = {};
  older_.clear();
  singles_.clear();
  unseen_singles_ = 0;
  interpreters_.clear();
  parents_.clear();
  remainder_.reset();
  lost_.reset();
  elapsed_ns_ = 0;
  new_since_ns_ = UINT64_MAX;
}

void ExitCollector::end_pass(std::optional<uint64_t> uptime) {
  reset();
  if (uptime) new_since_ns_ = *uptime;
}

void ExitCollector::add(const ExitReading &exit, ProcessModel &model) {
  if (exit.last.start_ns < new_since_ns_) return older_.push_back(exit);
  const Counters used = model.usage_since_start(exit.last);
  if (!is_single(exit, used) || interpreters_.size() >= kMaxSingles) return add_group(exit, used);
  interpreters_.push_back({exit, used});
  interpreters_.back().exit.cgroup = cgroups_.same(exit.cgroup);  // while it exists
}

bool ExitCollector::is_single(const ExitReading &exit, const Counters &used) const {
  const uint64_t cpu_ns = known(used, procfs::Counter::user_ns) + known(used, procfs::Counter::kernel_ns);
  return options_.exited && cpu_ns >= kMinSeparateNs && lists(kInterpreters, exit.last.name.text());
}

// Two samples with one pid would be one series, and the last one would win.
void ExitCollector::add_unseen(const ExitReading &exit, const Counters &used, const ProcessModel &model) {
  const auto has_pid = [&exit](const Single &single) { return single.process.now.pid == exit.last.pid; };
  if (!is_single(exit, used) || unseen_singles_ >= kMaxSingles || model.last_reading(exit.last.pid) != nullptr ||
      std::any_of(singles_.begin(), singles_.end(), has_pid))
    return add_group(exit, used);
  add_used(used);
  ++unseen_singles_;
  singles_.push_back({.process = {.now = exit.last}, .name = exit.last.name, .used = used, .cgroup = exit.cgroup});
  parents_.push_back({exit.last.pid, exit.last.start_ns, exit.parent});
}

void ExitCollector::end_window(ProcessBackend &backend, ProcessModel &model, const Pass &pass) {
  const bool first = previous_ns_ == 0;
  elapsed_ns_ = first || pass.baseline ? 0 : pass.monotonic_ns - previous_ns_;
  previous_ns_ = pass.monotonic_ns;
  backend.report_exits();
  lost_ = backend.lost_exits();
  if (lost_) lost_ = *lost_ - std::exchange(lost_before_, *lost_);
  if (elapsed_ns_ > 0)
    for (const ExitReading &exit : older_) add_last(exit, model);
  for (const Unseen &unseen : interpreters_)
    elapsed_ns_ > 0 ? add_unseen(unseen.exit, unseen.used, model) : add_group(unseen.exit, unseen.used);
  procfs::HostBusy busy;
  if (!options_.unattributed || !read_busy(busy)) return;
  const CpuTime &live = model.used();
  remainder_ =
      unattributed_.add(busy, {live.user_ns + exited_.user_ns, live.kernel_ns + exited_.kernel_ns}, first || pass.baseline);
}

void ExitCollector::add_last(const ExitReading &exit, ProcessModel &model) {
  const Counters used = model.usage_since_last_reading(exit.last).value_or(Counters());
  const procfs::ProcessReading *seen = model.last_reading(exit.last.pid, exit.last.start_ns);
  if (seen == nullptr) return add_unseen(exit, used, model);
  // Two samples with one pid would be one series, and the last one would win.
  if (seen != model.last_reading(exit.last.pid)) return add_group(exit, used);
  add_used(used);
  if (!options_.exited) return;
  parents_.push_back({exit.last.pid, exit.last.start_ns, exit.parent});
  // If this pass has read the process, its sample includes the end, and a second sample of this time would replace it.
  if (!model.pass_includes(exit.last.pid, exit.last.start_ns))
    singles_.push_back({.process = {.now = *seen}, .name = exit.last.name, .used = used});
}

// A sample has the path as tag: groups with equal paths but different numbers would be one series, and the last one would win.
void ExitCollector::add_group(const ExitReading &exit, const Counters &used) {
  add_used(used);
  if (!options_.exited) return;
  ExitReading shown = exit;
  shown.cgroup = cgroups_.same(exit.cgroup);
  if (!forks_workers(exit.parent.text())) shown.parent_pid = 0;
  exits_.add(shown, used);
}

// Unknown usage is part of the remainder.
void ExitCollector::add_used(const Counters &used) {
  exited_.user_ns += known(used, procfs::Counter::user_ns);
  exited_.kernel_ns += known(used, procfs::Counter::kernel_ns);
}

std::string_view ExitCollector::parent_of(const procfs::ProcessReading &process) const {
  for (const Parent &parent : parents_)
    if (parent.pid == process.pid && parent.start_ns == process.start_ns) return parent.name.text();
  return {};
}

bool ExitCollector::read_busy(procfs::HostBusy &busy) {
  std::array<char, 256> buffer{};  // the first line is enough
  const procfs::FileText text = stat_.read(folder_.get(), buffer);
  if (text.ok() && parse_busy(text.text, ticks_per_second(), busy)) return true;
  if (!stat_logged_)
    host_.log(Level::warning,
              "cannot read the CPU time of the host from /proc/stat: the processes irq and unattributed are absent");
  stat_logged_ = true;
  return false;
}

void ExitCollector::emit(Batch &batch) {
  if (elapsed_ns_ <= 0) return;
  if (options_.exited)
    for (const ExitGroup &group : exits_.groups()) emit_group(group, batch);
  if (remainder_) emit_remainder(*remainder_, batch);
}

void ExitCollector::add_cgroup(const Single &ended, Sample &sample, Batch &batch) {
  if (const std::string_view path = cgroups_.path(ended.cgroup); !path.empty()) batch.tag(sample, cgroup_id_, path);
}

void ExitCollector::emit_group(const ExitGroup &group, Batch &batch) {
  Sample &sample = add_sample(group.other ? "other" : group.name.text(), batch);
  if (!group.parent.text().empty()) batch.tag(sample, parent_id_, group.parent.text());
  if (group.parent_pid != 0) batch.tag(sample, parent_pid_id_, std::to_string(group.parent_pid));
  if (const std::string_view path = cgroups_.path(group.cgroup); !path.empty()) batch.tag(sample, cgroup_id_, path);
  add_fields(group.used, group.exits, sample, batch);
}

void ExitCollector::add_fields(const Counters &used, uint64_t exits, Sample &sample, Batch &batch) {
  for (size_t i = 0; i < procfs::kCounters; ++i)
    if (const auto counter = static_cast<procfs::Counter>(i); used.has(counter))
      add_rate(sample, counter, used.get(counter), batch);
  add_count(exits, sample, batch);
}

void ExitCollector::add_count(uint64_t exits, Sample &sample, Batch &batch) {
  batch.field(sample, exits_id_, static_cast<int64_t>(exits));
}

void ExitCollector::emit_remainder(const Remainder &remainder, Batch &batch) {
  add_rate(add_sample("irq", batch), procfs::Counter::kernel_ns, remainder.irq_ns, batch);
  Sample &sample = add_sample("unattributed", batch);
  add_rate(sample, procfs::Counter::user_ns, remainder.user_ns, batch);
  add_rate(sample, procfs::Counter::kernel_ns, remainder.kernel_ns, batch);
  if (options_.exited && lost_) batch.field(sample, lost_id_, static_cast<int64_t>(*lost_));
}

Sample &ExitCollector::add_sample(std::string_view process, Batch &batch) {
  Sample &sample = batch.add(ATALAYA_METRICS, 4, procfs::kCounters + 1);
  batch.tag(sample, process_id_, process);
  return sample;
}

void ExitCollector::add_rate(Sample &sample, procfs::Counter counter, uint64_t amount, Batch &batch) {
  const RateRow &row = kRateRows[static_cast<size_t>(counter)];
  const double per_second = static_cast<double>(amount) * kNanosecondsPerSecond / static_cast<double>(elapsed_ns_);
  batch.field(sample, rate_ids_[static_cast<size_t>(counter)], round_to(per_second * row.scale, row.metric.decimals));
}

}  // namespace atalaya::proc
