// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/process/process_collector.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <limits>

#include "plugins/shared/host/procfs/files.h"
#include "plugins/shared/host/procfs/process_parse.h"
#include "plugins/sources/proc/process/procfs_backend.h"

namespace atalaya::proc {
namespace {

// The unit of start times in procfs, so that both can be compared.
constexpr uint64_t kTickNs = 10'000'000;

bool listed(const std::vector<std::string> &names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

ProcessCollector::ProcessCollector(Host host, ProcessOptions options, std::unique_ptr<ProcessBackend> backend)
    : host_(host),
      options_(std::move(options)),
      pid_id_(host.intern("pid")),
      process_id_(host.intern("process")),
      start_id_(host.intern(view(kStartTimeMetric.name))),
      exits_(host, {options_.root, options_.exited, options_.unattributed, options_.exited_groups}),
      users_(options_.root),
      texts_({listed(options_.tags, "cgroup") || listed(options_.tags, "unit") || listed(options_.tags, "container"),
              options_.commands}),
      turns_(options_.expensive_budget),
      backend_(std::move(backend)) {
  if (options_.backend == "bpf" && options_.root != "/")
    throw Failure(Code::bad_config,
                  "backend \"bpf\" reads the running kernel, not the tree below " + options_.root + "; omit root or the backend");
  for (size_t i = 0; i < kExtraTags; ++i) {
    if (i == kCommand ? options_.commands.allow.empty() : !listed(options_.tags, kTagNames[i])) continue;
    extra_ids_[i] = host.intern(kTagNames[i]);
    ++extra_count_;
  }
  for (size_t i = 0; i < procfs::kCounters; ++i) rate_ids_[i] = host.intern(view(kRateRows[i].metric.name));
  for (size_t i = 0; i < procfs::kGauges; ++i) gauge_ids_[i] = host.intern(view(kGaugeRows[i].metric.name));
}

void ProcessCollector::start() {
  model_ = {};
  if (!backend_) backend_ = open_backend();
  folder_ = procfs::open_root(options_.root, "proc");
  read_boot_time();
  exits_.start(*backend_, model_);
}

// Detaches all hooks.
void ProcessCollector::stop() {
  backend_.reset();
}

std::unique_ptr<ProcessBackend> ProcessCollector::open_backend() {
  counts_files_ = false;
  if (options_.backend != "procfs" && options_.root == "/") {
    auto bpf = open_bpf_backend({.exits = options_.exited || options_.unattributed});
    counts_files_ = bpf.ok();
    if (bpf && !(*bpf)->limitation().empty()) host_.log(Level::info, (*bpf)->limitation());
    if (bpf && !(*bpf)->at_once())
      host_.log(Level::debug, "processes are read by the kernel's iterator; since 6.7 one call costs less");
    if (bpf) return std::move(*bpf);
    if (options_.backend == "bpf") throw Failure(Code::unsupported, "backend \"bpf\" does not work here: " + bpf.error());
    host_.log(Level::info, "processes are read from procfs, at a higher cost: " + bpf.error());
  }
  return std::make_unique<ProcfsBackend>(host_, options_.root, options_.exited);
}

void ProcessCollector::read_boot_time() {
  // The line btime follows the line of interrupts, which has thousands of numbers on a large host.
  std::vector<char> large(1 << 20);
  const procfs::FileText text = procfs::read_path(folder_.get(), "stat", large);
  int64_t seconds = 0;
  boot_time_ns_.reset();
  if (text.ok() && procfs::parse_boot_time(text.text, seconds)) boot_time_ns_ = seconds * 1'000'000'000;
}

void ProcessCollector::collect(const Window &window, Batch &batch) {
  const auto lock = backend_->lock_exits();
  exits_.start_pass();
  Pass pass{.monotonic_ns = window.monotonic_ns, .baseline = (window.flags & ATALAYA_WINDOW_BASELINE) != 0};
  pass.uptime_ns = backend_->uptime();
  model_.begin(pass);
  backend_->read(model_);
  if (options_.exited || options_.unattributed) exits_.end_window(*backend_, model_, pass);
  model_.end();
  const std::optional<uint64_t> read_until = backend_->uptime();
  if (has_tag(kUser)) users_.refresh();
  batch.reserve(model_.live().size() + exits_.max_samples());
  for (const Process &process : model_.formerly_idle()) emit_idle_sample(process, batch);
  for (const ExitCollector::Single &ended : exits_.singles()) emit_last(ended, batch);
  read_selected();
  for (Process *process : model_.live())
    if (is_selected(*process) && !mark_idle(*process, window, batch)) emit(*process, window, batch);
  exits_.emit(batch);
  exits_.end_pass(read_until);
}

// The memory of a process that is already idle is unchanged: it was not read since.
bool ProcessCollector::may_idle(const Process &process) const {
  const auto &gauges = process.now.gauges;
  return process.idle_until_ns != 0 || !gauges.has(procfs::Gauge::resident_kib) ||
         gauges.get(procfs::Gauge::resident_kib) < options_.idle_below_kib;
}

// Returns true if this window is part of a merged sample: one for all windows since the process last ran, with the same values as
// separate samples. A merged sample ends at a multiple of the parameter `rest`.
bool ProcessCollector::mark_idle(Process &process, const Window &window, Batch &batch) {
  if (options_.idle_interval_ns == 0) return false;
  const int64_t from_ns = window.time_ns - window.duration_ns;
  const bool is_idle_now = process.is_idle && !reports_end(process) && window.duration_ns > 0 && may_idle(process);
  const auto report = [&] {
    emit_idle_sample(process, batch);
    process.idle_from_ns = process.idle_until_ns = 0;
  };
  if (process.idle_until_ns != 0 && (!is_idle_now || process.idle_until_ns != from_ns)) report();
  if (!is_idle_now) return false;
  if (process.idle_until_ns == 0) process.idle_from_ns = from_ns;
  process.idle_until_ns = window.time_ns;
  if (process.idle_from_ns / options_.idle_interval_ns != window.time_ns / options_.idle_interval_ns) report();
  return true;
}

void ProcessCollector::emit_idle_samples(Batch &batch) {
  for (Process *process : model_.live()) {
    if (process->idle_until_ns == 0) continue;
    emit_idle_sample(*process, batch);
    process->idle_from_ns = process->idle_until_ns = 0;
  }
}

void ProcessCollector::emit_idle_sample(Process process, Batch &batch) {
  process.is_idle = true;
  process.ended_now = false;
  Sample &sample = add_sample(process, process.now.name, batch);
  sample.time_ns = process.idle_until_ns;
  sample.duration_ns = process.idle_until_ns - process.idle_from_ns;
  add_rates(process, sample, batch);
  add_gauges(process, sample, batch);
}

bool ProcessCollector::is_selected(const Process &process) const {
  if (options_.active_only && !process.ran() && !reports_end(process)) return false;
  return options_.kernel_threads || !process.now.kernel_thread;
}

void ProcessCollector::read_selected() {
  open_files_.clear();
  if (counts_files_ && !texts_.reads()) return;
  for (const Process *process : turns_.choose(model_.live())) {
    const int32_t pid = process->now.pid;
    if (!counts_files_)
      if (const auto count = count_open_files(folder_.get(), pid)) open_files_.emplace_back(pid, *count);
    texts_.refresh(folder_.get(), *process);
  }
  std::sort(open_files_.begin(), open_files_.end());
  texts_.forget_ended(model_);
}

// Rates since a reading before the last window are a sample of that time; the gauges of the windows before have their own samples.
void ProcessCollector::emit(const Process &process, const Window &window, Batch &batch) {
  Sample &sample = add_sample(process, process.now.name, batch);
  add_rates(process, sample, batch);
  if (process.elapsed_ns <= window.duration_ns) return add_gauges(process, sample, batch);
  sample.time_ns = window.time_ns;
  sample.duration_ns = process.elapsed_ns;
  add_gauges(process, add_sample(process, process.now.name, batch), batch);
}

void ProcessCollector::emit_last(const ExitCollector::Single &ended, Batch &batch) {
  if (!options_.kernel_threads && ended.process.now.kernel_thread) return;
  Sample &sample = add_sample(ended.process, ended.name, batch);
  exits_.add_cgroup(ended, sample, batch);
  exits_.add_fields(ended.used, 1, sample, batch);
  add_start(ended.process, sample, batch);
}

Sample &ProcessCollector::add_sample(const Process &process, const procfs::Name &name, Batch &batch) {
  Sample &sample = batch.add(ATALAYA_METRICS, static_cast<uint32_t>(2 + extra_count_), kProcessMetrics.size());
  char digits[11];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), process.now.pid);
  batch.tag(sample, pid_id_, {digits, static_cast<size_t>(end - digits)});
  batch.tag(sample, process_id_, name.text());
  if (extra_count_ > 0) add_extras(process, sample, batch);
  return sample;
}

void ProcessCollector::add_start(const Process &process, Sample &sample, Batch &batch) {
  if (boot_time_ns_)
    batch.field(sample, start_id_, *boot_time_ns_ + static_cast<int64_t>(process.now.start_ns / kTickNs * kTickNs));
}

// A parent may end in the same window as its child.
std::string_view ProcessCollector::parent_of(const Process &process) const {
  if (const std::string_view name = exits_.parent_of(process.now); !name.empty()) return name;
  const Process *parent = model_.find(static_cast<int32_t>(process.now.gauges.get(procfs::Gauge::parent)));
  return parent == nullptr ? std::string_view{} : parent->now.name.text();
}

void ProcessCollector::add_extras(const Process &process, Sample &sample, Batch &batch) {
  const auto add = [&](Tag tag, std::string_view value) {
    if (has_tag(tag) && !value.empty()) batch.tag(sample, extra_ids_[tag], value);
  };
  if (has_tag(kUser) && process.now.user >= 0) add(kUser, users_.name(process.now.user));
  if (has_tag(kParent)) add(kParent, parent_of(process));
  if (!texts_.reads()) return;
  const ProcessTexts &texts = texts_.get(folder_.get(), process);
  add(kCgroup, texts.cgroup);
  add(kUnit, unit_of(texts.cgroup));
  add(kContainer, container_of(texts.cgroup));
  add(kCommand, texts.command);
}

void ProcessCollector::add_rates(const Process &process, Sample &sample, Batch &batch) {
  for (size_t i = 0; i < procfs::kCounters; ++i) {
    const RateRow &row = kRateRows[i];
    if (process.is_idle) {
      if (process.now.counters.has(row.counter)) batch.field(sample, rate_ids_[i], 0.0);
    } else if (process.rates.has(row.counter)) {
      batch.field(sample, rate_ids_[i], round_to(process.rates.get(row.counter) * row.scale, row.metric.decimals));
    }
  }
}

void ProcessCollector::add_gauges(const Process &process, Sample &sample, Batch &batch) {
  for (size_t i = 0; i < procfs::kGauges; ++i) {
    const GaugeRow &row = kGaugeRows[i];
    if (!process.now.gauges.has(row.gauge)) continue;
    const uint64_t value = process.now.gauges.get(row.gauge);
    if (row.metric.decimals < 0)
      batch.field(sample, gauge_ids_[i], static_cast<int64_t>(value));
    else
      batch.field(sample, gauge_ids_[i], round_to(static_cast<double>(value) * row.scale, row.metric.decimals));
  }
  if (reports_end(process)) exits_.add_count(1, sample, batch);
  add_start(process, sample, batch);
  if (open_files_.empty()) return;
  const auto files = std::lower_bound(open_files_.begin(), open_files_.end(), std::pair(process.now.pid, uint64_t{0}));
  if (files != open_files_.end() && files->first == process.now.pid)
    batch.field(sample, gauge_ids_[static_cast<size_t>(procfs::Gauge::open_files)], static_cast<int64_t>(files->second));
}

}  // namespace atalaya::proc
