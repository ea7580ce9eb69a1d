// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/kernel/collector.h"

#include <unistd.h>

#include <algorithm>
#include <variant>

#include "core/base/now.h"
#include "plugins/shared/host/cgroup/place.h"

namespace atalaya::kernel {
namespace {

constexpr size_t kMaxCrashes = 1000;  // spans per window; all are counted

}  // namespace

Collector::Names::Names(Host host)
    : event(host.intern("event")),
      process(host.intern("process")),
      pid(host.intern("pid")),
      cgroup(host.intern("cgroup")),
      container(host.intern("container")),
      kind(host.intern("kind")),
      file(host.intern("file")),
      disk(host.intern("disk")),
      mount(host.intern("mount")),
      cause(host.intern("cause")),
      memory(host.intern("kernel.oom.memory")),
      throttled(host.intern("kernel.throttled.time")),
      periods(host.intern("kernel.throttled.periods")) {}

Collector::Collector(Host host, Options options) : host_(host), options_(std::move(options)), names_(host), emitter_(host) {}

void Collector::start() {
  stop();
  victims_.emplace(static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
  open_log();
  auto marks = open_marks();
  if (marks) marks_ = std::move(*marks);
  std::vector<procfs::Mount> mounts;
  const auto text = read_mountinfo(options_.root);
  if (text) procfs::parse_mountinfo(*text, mounts);
  has_cgroups_ = cgroups_.open(options_.root, mounts);
  if (!marks && !log_.is_open())
    host_.log(Level::warning,
              "OOM kills have no names of victims, because neither the kernel's log nor BPF is available: " + marks.error());
  read_only_.clear();
  episodes_.clear();
  last_ns_ = host_.monotonic();
}

void Collector::open_log() {
  const core::Status opened = log_.open(options_.root + (options_.root.ends_with('/') ? "dev/kmsg" : "/dev/kmsg"));
  if (opened) return;
  host_.log(Level::warning, opened.error() + "; crashes are absent: run as root or add CAP_SYSLOG (drop-in kernel-log)");
}

void Collector::stop() {
  log_.close();
  marks_.reset();
}

void Collector::collect(const Window &window, Batch &batch) {
  unix_offset_ns_ = core::realtime() - core::monotonic();
  crashes_.clear();
  failed_devices_.clear();
  read_log(window);
  std::vector<oom_mark> marks;
  if (marks_) marks = marks_->take();
  const bool needs_cgroups = options_.throttled || !marks.empty() || !knows_victims();
  if (has_cgroups_ && needs_cgroups) cgroups_.update(!knows_victims());
  for (const oom_mark &mark : marks) victims_->add(mark, cgroups_.path_of(mark.cgroup));
  const bool is_baseline = (window.flags & ATALAYA_WINDOW_BASELINE) != 0;
  if (!is_baseline) {
    emit_victims(window, batch);
    emit_crashes(batch);
    if (options_.throttled) emit_throttled(window, batch);
    emit_log_metrics(batch);
  }
  emit_read_only(window, batch);
  last_ns_ = window.monotonic_ns;
}

// The log's clock may differ from CLOCK_MONOTONIC, so times are limited to this window.
void Collector::read_log(const Window &window) {
  lost_messages_ = log_.read([&](const LogRecord &record) {
    const int64_t time_ns = std::clamp(record.time_ns, last_ns_, std::max(last_ns_, window.monotonic_ns));
    const Message message = parse_message(record.text);
    if (const auto *kill = std::get_if<Kill>(&message)) victims_->add(*kill, time_ns);
    if (const auto *place = std::get_if<KillCgroup>(&message)) victims_->add(*place);
    if (const auto *error = std::get_if<FileSystemError>(&message)) failed_devices_.emplace_back(error->device);
    if (const auto *crash = std::get_if<Crash>(&message))
      crashes_.push_back({time_ns, crash->thread, std::string(crash->process), std::string(crash->kind), std::string(crash->file)});
  });
}

int64_t Collector::unix_time(int64_t monotonic_ns) const {
  return monotonic_ns + unix_offset_ns_;
}

Sample &Collector::emit(Batch &batch, const Event &event, uint32_t fields) const {
  Sample &sample = batch.add(ATALAYA_SPAN, static_cast<uint32_t>(event.tags.size() + 1), fields);
  sample.time_ns = event.time_ns;
  sample.duration_ns = event.duration_ns;
  sample.text = batch.copy("event");
  batch.tag(sample, names_.event, event.name);
  for (const auto &[key, value] : event.tags)
    if (!value.empty()) batch.tag(sample, key, value);
  return sample;
}

void Collector::emit_victims(const Window &window, Batch &batch) {
  std::vector<Victim> victims = victims_->take(log_.is_open() && lost_messages_ == 0);
  if (!knows_victims())
    for (const CgroupKills &one : cgroups_.kills())
      victims.insert(victims.end(), std::min<uint64_t>(one.kills, kMaxVictims),
                     {window.monotonic_ns, 0, {}, std::string(one.cgroup), {}});
  struct Sum {
    uint64_t kills = 0;
    std::optional<double> memory_mib;
  };
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const Victim &victim : victims) {
    const std::string pid = victim.pid > 0 ? std::to_string(victim.pid) : std::string();
    Event event{"oom kill", unix_time(victim.time_ns), 0, {}};
    event.tags = {{names_.process, victim.process},
                  {names_.pid, pid},
                  {names_.cgroup, victim.cgroup},
                  {names_.container, cgroup::container_of(victim.cgroup)}};
    Sample &sample = emit(batch, event, 1);
    if (victim.resident_mib) batch.field(sample, names_.memory, round_to(*victim.resident_mib, 2));
    Sum &sum = sums[{victim.process, victim.cgroup}];
    ++sum.kills;
    if (victim.resident_mib) sum.memory_mib = std::max(sum.memory_mib.value_or(0), *victim.resident_mib);
  }
  for (const auto &[victim, sum] : sums) {
    Values values;
    values.set_count("kernel.oom.kills", sum.kills);
    values.set("kernel.oom.memory", sum.memory_mib);
    std::vector<io::MetricEmitter<kMetrics>::Tag> tags;
    if (!victim.first.empty()) tags.emplace_back(names_.process, victim.first);
    if (!victim.second.empty()) tags.emplace_back(names_.cgroup, victim.second);
    emitter_.emit(batch, values, tags);
  }
}

void Collector::emit_crashes(Batch &batch) {
  std::map<std::string_view, uint64_t> counts;
  for (const LoggedCrash &crash : crashes_) ++counts[crash.process];
  for (size_t i = 0; i < std::min(crashes_.size(), kMaxCrashes); ++i) {
    const LoggedCrash &crash = crashes_[i];
    const std::string thread = std::to_string(crash.thread);
    Event event{"crash", unix_time(crash.time_ns), 0, {}};
    event.tags = {{names_.process, crash.process}, {names_.pid, thread}, {names_.kind, crash.kind}, {names_.file, crash.file}};
    emit(batch, event, 0);
  }
  for (const auto &[process, count] : counts) {
    Values values;
    values.set_count("kernel.crashes", count);
    emitter_.emit(batch, values, {{names_.process, process}});
  }
}

// An episode is one span, from the first window with throttling to the last. Each window emits it again, and the store replaces it.
void Collector::emit_throttled(const Window &window, Batch &batch) {
  for (auto &[cgroup, episode] : episodes_) episode.continues = false;
  for (const Throttled &one : cgroups_.throttled()) {
    Values values;
    values.set_count("kernel.throttled.time", one.time_ns);
    values.set_count("kernel.throttled.periods", one.periods);
    emitter_.emit(batch, values, {{names_.cgroup, one.cgroup}});
    auto at = episodes_.find(one.cgroup);
    if (at == episodes_.end()) at = episodes_.emplace(one.cgroup, Episode{window.time_ns - window.duration_ns, 0, 0, true}).first;
    Episode &episode = at->second;
    episode.continues = true;
    episode.time_ns += one.time_ns;
    episode.periods += one.periods;
    Event event{"throttled", episode.start_ns, window.time_ns - episode.start_ns, {}};
    event.tags = {{names_.cgroup, one.cgroup}, {names_.container, cgroup::container_of(one.cgroup)}};
    Sample &sample = emit(batch, event, 2);
    batch.field(sample, names_.throttled, static_cast<int64_t>(episode.time_ns));
    batch.field(sample, names_.periods, static_cast<int64_t>(episode.periods));
  }
  std::erase_if(episodes_, [](const auto &entry) { return !entry.second.continues; });
}

void Collector::emit_read_only(const Window &window, Batch &batch) {
  const auto text = read_mountinfo(options_.root);
  if (!text) return;
  std::vector<procfs::Mount> mounts;
  procfs::parse_mountinfo(*text, mounts);
  for (const ReadOnly &one : read_only_.update(mounts)) {
    Values values;
    values.set_count("kernel.fs.readonly", 1);
    emitter_.emit(batch, values, {{names_.disk, one.disk}, {names_.mount, one.mount}});
    if (!one.is_new) continue;
    const bool has_failed = std::any_of(failed_devices_.begin(), failed_devices_.end(),
                                        [&](const std::string &device) { return one.disk.ends_with("/" + device); });
    Event event{"read-only", window.time_ns, 0, {}};
    event.tags = {{names_.disk, one.disk}, {names_.mount, one.mount}, {names_.cause, has_failed ? "error" : ""}};
    emit(batch, event, 0);
  }
}

void Collector::emit_log_metrics(Batch &batch) const {
  if (!log_.is_open()) return;
  Values values;
  values.set_count("kernel.log.lost", lost_messages_);
  emitter_.emit(batch, values, {});
}

}  // namespace atalaya::kernel
