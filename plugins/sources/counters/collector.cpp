// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/counters/collector.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "plugins/shared/host/procfs/cpus.h"

namespace atalaya::counters {
namespace {

constexpr int kAllCores = -1;
constexpr int64_t kCgroupDepth = 64;

Slots slots_of(const Groups &groups) {
  Slots slots;
  for (size_t slot = 0; slot < kSlots; ++slot) slots[slot] = groups[static_cast<size_t>(kEvents[slot].group)];
  return slots;
}

Slots only_software(Slots slots) {
  for (size_t slot = 0; slot < kSlots; ++slot)
    if (!is_software(slot)) slots.reset(slot);
  return slots;
}

std::string reason(int error) {
  std::string text = core::error_text(error);
  if (error == EACCES || error == EPERM) text += "; run as root or grant CAP_PERFMON";
  if (error == EMFILE || error == ENFILE) text += "; choose fewer groups, processes or cgroups, or raise LimitNOFILE";
  if (error == EINVAL) text += "; processes need Linux 5.13 or later, cgroups a kernel with CONFIG_CGROUP_PERF";
  return text;
}

template <size_t size>
void intern(const Host &host, const std::array<Metric, size> &metrics, std::array<uint32_t, size> &ids) {
  for (size_t i = 0; i < size; ++i) ids[i] = host.intern(view(metrics[i].name));
}

}  // namespace

Collector::Collector(Host host, Options options, PerfCalls &calls)
    : host_(host),
      options_(std::move(options)),
      core_(host.intern("core")),
      cgroup_(host.intern("cgroup")),
      pid_(host.intern("pid")),
      process_(host.intern("process")),
      opener_(calls, options_.max_events, options_.kernel) {
  intern(host, kHostMetrics, host_ids_);
  intern(host, kCgroupMetrics, cgroup_ids_);
  intern(host, kProcessMetrics, process_ids_);
}

void Collector::start() {
  warnings_.clear();
  pmus_ = find_pmus(options_.root);
  find_events();
  if (!options_.processes.empty()) process_list_.emplace(options_.root, options_.processes);
  if (!options_.cgroups.empty()) cgroup_list_.emplace(options_.root, options_.cgroups, kCgroupDepth);
  if (cgroup_list_ && !cgroup_list_->any()) warn_skipped("cgroups: no cgroup file system is mounted", 0);
  refresh();
}

void Collector::stop() {
  hosts_.clear();
  processes_.clear();
  cgroups_.clear();
  process_list_.reset();
  cgroup_list_.reset();
}

// An event missing in one of the units is skipped everywhere: its sum would cover only a part of the host.
void Collector::find_events() {
  const Slots wanted = slots_of(options_.groups);
  const bool on_cpus = options_.host || !options_.cgroups.empty();
  const std::vector<int> online = procfs::online_cpus(options_.root);
  slots_ = wanted;
  int error = 0;
  for (const Pmu &pmu : pmus_) {
    const int cpu = pmu.cpus.empty() ? (online.empty() ? 0 : online.front()) : pmu.cpus.front();
    const Scope scope = on_cpus ? Scope{.cpu = cpu} : Scope{.pid = ::getpid()};
    const Probe found = probe(opener_, scope, on_cpus ? pmu.type : 0, slots_);
    slots_ = found.counted;
    if (found.error != 0) error = found.error;
  }
  if (slots_.none())
    throw Failure(Code::unsupported,
                  error != 0 ? "cannot open perf events: " + reason(error)
                             : "this CPU or virtual machine counts none of the selected groups; add the group \"software\"");
  log_missing(wanted, slots_);
}

void Collector::log_missing(const Slots &wanted, const Slots &counted) {
  if (only_software(counted) == counted && only_software(wanted) != wanted)
    return host_.log(Level::info, "this host, perhaps a virtual machine, has no hardware counters: only kernel events are counted");
  std::set<std::string_view> missing;
  for (size_t slot = 0; slot < kSlots; ++slot)
    if (wanted[slot] && !counted[slot]) missing.insert(kEvents[slot].name);
  if (missing.empty()) return;
  std::string names;
  for (const std::string_view name : missing) names.append(names.empty() ? "" : ", ").append(name);
  host_.log(Level::info, "this CPU has no counter for " + names + "; metrics derived from them are absent");
}

uint32_t Collector::pmu_of(int cpu) const {
  for (const Pmu &pmu : pmus_)
    if (std::find(pmu.cpus.begin(), pmu.cpus.end(), cpu) != pmu.cpus.end()) return pmu.type;
  return pmus_.front().cpus.empty() ? pmus_.front().type : 0;
}

void Collector::collect(const Window &window, Batch &batch) {
  reading_ns_ = window.monotonic_ns;
  emit_all(batch, (window.flags & ATALAYA_WINDOW_BASELINE) != 0);
  refresh();
}

void Collector::emit_all(Batch &batch, bool baseline) {
  const auto number = [](int value, std::array<char, 12> &text) {
    return std::string_view(text.data(),
                            static_cast<size_t>(std::to_chars(text.data(), text.data() + text.size(), value).ptr - text.data()));
  };
  std::array<char, 12> digits{};
  for (auto &[core, target] : hosts_) {
    const Values values = read(target);
    if (baseline) continue;
    if (core == kAllCores)
      emit(batch, kHostMetrics, host_ids_, values, {});
    else
      emit(batch, kHostMetrics, host_ids_, values, {{core_, number(core, digits)}});
  }
  for (auto &[path, cgroup] : cgroups_) {
    const Values values = read(cgroup.target);
    if (!baseline) emit(batch, kCgroupMetrics, cgroup_ids_, values, {{cgroup_, path}});
  }
  for (auto &[pid, one] : processes_) {
    const Values values = read(one.target);
    if (!baseline) emit(batch, kProcessMetrics, process_ids_, values, {{pid_, number(pid, digits)}, {process_, one.process.name}});
  }
}

Values Collector::read(Target &target) {
  Tally tally;
  const int64_t now = host_.monotonic();
  for (EventSet &set : target.sets) set.read(opener_, now - target.read_ns, tally);
  target.read_ns = now;
  const int64_t elapsed_ns = reading_ns_ - std::exchange(target.reading_ns, reading_ns_);
  return values_of(tally, static_cast<double>(elapsed_ns) / 1e9);
}

void Collector::emit(Batch &batch, std::span<const Metric> metrics, std::span<const uint32_t> ids, const Values &values,
                     std::initializer_list<Tag> tags) const {
  const auto known = std::count_if(values.begin(), values.begin() + static_cast<ptrdiff_t>(metrics.size()),
                                   [](const auto &value) { return value.has_value(); });
  if (known == 0) return;
  Sample &sample = batch.add(ATALAYA_METRICS, static_cast<uint32_t>(tags.size()), static_cast<uint32_t>(known));
  for (const auto &[key, value] : tags) batch.tag(sample, key, value);
  for (size_t i = 0; i < metrics.size(); ++i)
    if (values[i]) batch.field(sample, ids[i], round_to(*values[i], metrics[i].decimals));
}

void Collector::refresh() {
  const std::vector<int> cpus = procfs::online_cpus(options_.root);
  if (options_.host) refresh_host(cpus);
  if (process_list_) refresh_processes();
  if (cgroup_list_) refresh_cgroups(cpus);
}

// Closes events of CPUs that went offline and opens those of new ones. Returns 0, or the error number of the first failure.
int Collector::open_on_cpus(Target &target, const std::vector<int> &cpus, const Scope &scope, const Slots &slots) {
  if (target.sets.empty()) {
    target.read_ns = host_.monotonic();
    target.reading_ns = reading_ns_;
  }
  std::vector<int> counted;
  for (const EventSet &set : target.sets) counted.push_back(set.scope().cpu);
  const procfs::CpuChange change = procfs::change_of(counted, cpus);
  std::erase_if(target.sets, [&change](const EventSet &set) {
    return std::binary_search(change.removed.begin(), change.removed.end(), set.scope().cpu);
  });
  for (const int cpu : change.added) {
    EventSet set;
    const int error = set.open(opener_, {.pid = scope.pid, .cpu = cpu, .cgroup = scope.cgroup}, pmu_of(cpu), slots);
    if (error == ENODEV) continue;  // it went offline again
    if (error != 0) return error;
    target.sets.push_back(std::move(set));
  }
  std::sort(target.sets.begin(), target.sets.end(),
            [](const EventSet &a, const EventSet &b) { return a.scope().cpu < b.scope().cpu; });
  return 0;
}

void Collector::refresh_host(const std::vector<int> &cpus) {
  Slots slots = slots_;
  slots.reset(kClock);
  const auto open = [&](int core, const std::vector<int> &of) {
    if (const int error = open_on_cpus(hosts_[core], of, {}, slots); error != 0) {
      hosts_.erase(core);
      warn_skipped("the host", error);
    }
  };
  if (!options_.cores) return open(kAllCores, cpus);
  std::erase_if(hosts_,
                [&cpus](const auto &item) { return !cpus.empty() && !std::binary_search(cpus.begin(), cpus.end(), item.first); });
  for (const int cpu : cpus) open(cpu, {cpu});
}

void Collector::refresh_processes() {
  for (auto &[pid, one] : processes_) one.target.seen = false;
  for (const Process &process : process_list_->read()) {
    const auto known = processes_.find(process.pid);
    if (known != processes_.end() && known->second.process == process) {
      known->second.target.seen = true;
      continue;
    }
    if (known != processes_.end()) processes_.erase(known);
    if (processes_.size() >= options_.max_processes)
      warn_skipped("some processes: more than max_processes = " + std::to_string(options_.max_processes) + " match", 0);
    else if (const int error = open_process(process); error != 0)
      warn_skipped("some processes", error);
  }
  std::erase_if(processes_, [](const auto &item) { return !item.second.target.seen; });
}

// On a CPU with two kinds of cores, a thread's counters pause on cores of the other kind, as if they were multiplexed.
int Collector::open_process(const Process &process) {
  const bool two_kinds = pmus_.size() > 1;
  ProcessTarget one{process, {}};
  one.target.seen = true;
  one.target.read_ns = host_.monotonic();
  one.target.reading_ns = reading_ns_;
  for (const int32_t thread : process_list_->threads(process.pid)) {
    EventSet set;
    const int error = set.open(opener_, {.pid = thread}, 0, two_kinds ? only_software(slots_) : slots_);
    if (error == ESRCH) continue;  // it has ended
    if (error != 0) return error;
    one.target.sets.push_back(std::move(set));
  }
  if (!one.target.sets.empty()) processes_.emplace(process.pid, std::move(one));
  return 0;
}

void Collector::refresh_cgroups(const std::vector<int> &cpus) {
  for (auto &[path, one] : cgroups_) one.target.seen = false;
  cgroup_list_->read([&](std::string_view path, uint64_t inode, int folder) { refresh_cgroup(cpus, path, inode, folder); });
  std::erase_if(cgroups_, [](const auto &item) { return !item.second.target.seen; });
}

void Collector::refresh_cgroup(const std::vector<int> &cpus, std::string_view path, uint64_t inode, int folder) {
  auto known = cgroups_.find(path);
  if (known != cgroups_.end() && known->second.inode != inode) {  // created again
    cgroups_.erase(known);
    known = cgroups_.end();
  }
  if (known == cgroups_.end() && cgroups_.size() >= options_.max_cgroups)
    return warn_skipped("some cgroups: more than max_cgroups = " + std::to_string(options_.max_cgroups) + " match", 0);
  if (known == cgroups_.end()) known = cgroups_.emplace(std::string(path), CgroupTarget{inode, {}}).first;
  known->second.target.seen = true;
  const int error = open_on_cpus(known->second.target, cpus, {.pid = folder, .cgroup = true}, slots_);
  if (error == 0) return;
  cgroups_.erase(known);
  warn_skipped("some cgroups", error);
}

// Logs each text once.
void Collector::warn_skipped(std::string_view entity, int error) {
  std::string text = "not counted: " + std::string(entity);
  if (error != 0) text += ": " + reason(error);
  if (warnings_.insert(text).second) host_.log(Level::warning, text);
}

}  // namespace atalaya::counters
