// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/process_collector.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace atalaya::proc {
namespace {

bool listed(const std::vector<std::string> &names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// In a container or sandbox root is not all-powerful.
std::string denied_io_text(int32_t first_pid) {
  if (::geteuid() != 0)
    return "/proc/PID/io of other users may not be read: proc.disk.* and proc.io.* are absent for their processes; run as root or "
           "with CAP_SYS_PTRACE";
  return "the kernel refuses /proc/PID/io of some processes to root too, the first is process " + std::to_string(first_pid) +
         ": proc.disk.* and proc.io.* are absent for them; if they are many, add CAP_SYS_PTRACE";
}

}  // namespace

ProcessCollector::ProcessCollector(Host host, ProcessOptions options)
    : host_(host),
      options_(std::move(options)),
      pid_id_(host.intern("pid")),
      process_id_(host.intern("process")),
      start_id_(host.intern(view(kStartTimeMetric.name))),
      open_files_id_(host.intern(view(kOpenFilesMetric.name))),
      users_(options_.root),
      texts_({listed(options_.tags, "cgroup") || listed(options_.tags, "unit") || listed(options_.tags, "container"),
              listed(options_.tags, "command")}),
      turns_(options_.expensive_budget) {
  for (size_t i = 0; i < kExtraTags; ++i)
    if (listed(options_.tags, kTagNames[i])) extra_ids_[i] = host.intern(kTagNames[i]);
  for (size_t i = 0; i < kCounters; ++i) rate_ids_[i] = host.intern(view(kRateRows[i].metric.name));
  for (size_t i = 0; i < kGauges; ++i) gauge_ids_[i] = host.intern(view(kGaugeRows[i].metric.name));
}

void ProcessCollector::start() {
  const long ticks = ::sysconf(_SC_CLK_TCK);
  reader_ = std::make_unique<ProcessReader>(ReaderOptions{.root = options_.root,
                                                          .ticks_per_second = ticks > 0 ? static_cast<uint64_t>(ticks) : 100,
                                                          .max_kept_files = default_kept_files(),
                                                          .kernel_threads = options_.kernel_threads,
                                                          .clock = [host = host_] { return host.monotonic(); }});
  model_ = {};
  if (const int error = reader_->open(); error != 0)
    throw Failure(Code::unsupported, "cannot open the folder proc below " + options_.root + ": " + core::error_text(error) +
                                         "; mount procfs there or change the parameter root");
  int64_t seconds = 0;
  if (reader_->boot_time(seconds)) boot_time_ns_ = seconds * 1'000'000'000;
}

void ProcessCollector::collect(const Window &window, Batch &batch) {
  Pass pass{.monotonic_ns = host_.monotonic(), .baseline = (window.flags & ATALAYA_WINDOW_BASELINE) != 0};
  if (uint64_t uptime = 0; reader_->uptime(uptime)) pass.uptime_ns = uptime;
  model_.begin(pass);
  reader_->read([this](const ProcessReading &reading) { model_.update(reading); });
  model_.end();
  if (wants(kUser)) users_.refresh();
  take_turns();
  batch.reserve(model_.live().size());
  for (const Process *process : model_.live()) emit(*process, batch);
  report_trouble();
}

void ProcessCollector::take_turns() {
  open_files_.clear();
  for (const Process *process : turns_.choose(model_.live())) {
    const int32_t pid = process->now.pid;
    if (const auto count = count_open_files(reader_->folder(), pid)) open_files_.emplace_back(pid, *count);
    texts_.refresh(reader_->folder(), *process);
  }
  std::sort(open_files_.begin(), open_files_.end());
  texts_.forget_ended(model_);
}

void ProcessCollector::emit(const Process &process, Batch &batch) {
  Sample &sample = batch.add(ATALAYA_METRICS, 2 + kExtraTags, kProcessMetrics.size());
  char digits[11];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), process.now.pid);
  batch.tag(sample, pid_id_, {digits, static_cast<size_t>(end - digits)});
  batch.tag(sample, process_id_, process.now.name.text());
  add_extras(process, sample, batch);
  add_fields(process, sample, batch);
}

void ProcessCollector::add_extras(const Process &process, Sample &sample, Batch &batch) {
  const auto add = [&](Tag tag, std::string_view value) {
    if (wants(tag) && !value.empty()) batch.tag(sample, extra_ids_[tag], value);
  };
  if (wants(kUser) && process.now.user >= 0) add(kUser, users_.name(process.now.user));
  if (wants(kParent))
    if (const Process *parent = model_.find(static_cast<int32_t>(process.now.gauges.get(Gauge::parent))))
      add(kParent, parent->now.name.text());
  if (!wants(kCgroup) && !wants(kUnit) && !wants(kContainer) && !wants(kCommand)) return;
  const ProcessTexts &texts = texts_.get(reader_->folder(), process);
  add(kCgroup, texts.cgroup);
  add(kUnit, unit_of(texts.cgroup));
  add(kContainer, container_of(texts.cgroup));
  add(kCommand, texts.command);
}

void ProcessCollector::add_fields(const Process &process, Sample &sample, Batch &batch) {
  for (size_t i = 0; i < kCounters; ++i) {
    const RateRow &row = kRateRows[i];
    if (process.rates.has(row.counter))
      batch.field(sample, rate_ids_[i], round_to(process.rates.get(row.counter) * row.scale, row.metric.decimals));
  }
  for (size_t i = 0; i < kGauges; ++i) {
    const GaugeRow &row = kGaugeRows[i];
    if (!process.now.gauges.has(row.gauge)) continue;
    const uint64_t value = process.now.gauges.get(row.gauge);
    if (row.metric.decimals < 0)
      batch.field(sample, gauge_ids_[i], static_cast<int64_t>(value));
    else
      batch.field(sample, gauge_ids_[i], round_to(static_cast<double>(value) * row.scale, row.metric.decimals));
  }
  if (boot_time_ns_) batch.field(sample, start_id_, *boot_time_ns_ + static_cast<int64_t>(process.now.start_ns));
  const auto files = std::lower_bound(open_files_.begin(), open_files_.end(), std::pair(process.now.pid, uint64_t{0}));
  if (files != open_files_.end() && files->first == process.now.pid)
    batch.field(sample, open_files_id_, static_cast<int64_t>(files->second));
}

void ProcessCollector::report_trouble() {
  const auto tell = [this](bool &told, uint64_t count, std::string_view text) {
    if (count == 0 || told) return;
    told = true;
    host_.log(Level::warning, text);
  };
  const ProcessReader::Trouble &trouble = reader_->trouble();
  if (trouble.denied_io > 0 && !told_denied_io_) tell(told_denied_io_, trouble.denied_io, denied_io_text(trouble.denied_io_pid));
  tell(told_denied_, trouble.denied, "/proc/PID/stat of some processes may not be read: they are absent; run as root");
  tell(told_malformed_, trouble.malformed,
       "/proc/PID/stat of some processes is not of the form that proc(5) describes: they are absent; is the root a recorded tree?");
}

}  // namespace atalaya::proc
