// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/collector.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <exception>
#include <functional>
#include <utility>

#include "core/base/now.h"
#include "plugins/shared/host/cgroup/place.h"
#include "plugins/sources/perf/perf_metrics.h"
#include "plugins/sources/perf/wait_owner.h"
#include "plugins/sources/perf/wait_reason.h"

namespace atalaya::perf {
namespace {

// Kernel modules are loaded and unloaded.
constexpr int64_t kKernelSymbolsEvery = 600'000'000'000;
// Maximum wait for the names of tasks that started just before the end of the window.
constexpr int64_t kNamesWithin = 200'000'000;

double percent(int64_t part_ns, int64_t whole_ns) {
  return round_to(static_cast<double>(part_ns) * 100 / static_cast<double>(whole_ns), kPercentDecimals);
}

int64_t as_count(uint64_t number) {
  return static_cast<int64_t>(number);
}

}  // namespace

Collector::Names::Names(Host host)
    : profile(host.intern("profile")),
      process(host.intern("process")),
      pid(host.intern("pid")),
      container(host.intern("container")),
      runtime(host.intern("runtime")),
      reason(host.intern("reason")),
      owner(host.intern("owner")),
      job(host.intern("job")),
      stage(host.intern("stage")),
      task(host.intern("task")),
      attempt(host.intern("attempt")),
      samples(host.intern("profile.samples")),
      ns(host.intern("profile.ns")),
      all(host.intern("perf.samples")),
      lost(host.intern("perf.lost")),
      lost_stacks(host.intern("perf.stacks.lost")),
      incomplete(host.intern("perf.stacks.incomplete")),
      filtered(host.intern("perf.filtered")),
      not_copied(host.intern("perf.stacks.uncopied")),
      frames(host.intern("perf.frames")),
      unnamed(host.intern("perf.frames.unnamed")),
      cpu_kernel(host.intern("perf.cpu.kernel")),
      cpu_user(host.intern("perf.cpu.user")),
      memory(host.intern("perf.symbols.memory")),
      jvm_failures(host.intern("perf.jvm.failures")),
      unnamed_tasks(host.intern("perf.tasks.unnamed")),
      lost_tasks(host.intern("perf.tasks.lost")),
      burst_time(host.intern("perf.burst.time")),
      burst_waits(host.intern("perf.burst.waits")),
      burst_lost(host.intern("perf.burst.lost")),
      burst_filtered(host.intern("perf.burst.filtered")),
      burst_unfollowed(host.intern("perf.burst.unfollowed")) {}

// A quarter of the memory is for process maps and perf maps.
Collector::Collector(Host host, Options options)
    : host_(host),
      options_(std::move(options)),
      names_(host),
      jvm_({.every_ns = options_.jvm_refresh_ns}, [host](std::string_view text) { host.log(Level::warning, text); }),
      files_(options_.symbol_memory / 4 * 3),
      processes_(options_.symbol_memory / 4, options_.jvm ? &jvm_ : nullptr, options_.tasks != nullptr),
      folder_(files_, options_.kernel, options_.modules),
      regions_(host, options_.task_regions) {}

void Collector::start() {
  stop();
  open_sampler();
  stop_ = core::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_) throw Failure(Code::retry, "cannot create an eventfd: " + core::error_text(errno));
  if (options_.tasks && !sampler_->knows_threads())
    host_.log(Level::warning, "tasks of threads are unknown without BPF; stacks have the tasks of whole processes only");
  if (sampler_->knows_threads()) {
    namer_ = std::make_unique<TaskNamer>(options_.tasks, [host = host_](std::string_view text) { host.log(Level::warning, text); });
    namer_->start();
  }
  regions_.start(*sampler_);
  thread_ = std::thread([this] { pump(); });
}

void Collector::stop() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    (void)!::write(stop_.get(), &one, sizeof(one));
    thread_.join();
  }
  regions_.stop();
  namer_.reset();
  sampler_.reset();
}

void Collector::open_sampler() {
  std::string reason;
  if (options_.backend != "ring") {
    auto bpf = open_bpf_sampler(options_.sampler);
    if (bpf) {
      sampler_ = std::move(*bpf);
      return;
    }
    reason = bpf.error();
    if (options_.backend == "bpf" || options_.sampler.off_cpu) throw Failure(Code::unsupported, "backend bpf: " + reason);
    host_.log(Level::info, "BPF is unavailable; stacks are read sample by sample: " + reason);
  }
  if (options_.sampler.dwarf && !options_.sampler.dwarf_if_needed)
    host_.log(Level::warning, "unwind = \"dwarf\" requires BPF; using frame pointers");
  options_.sampler.dwarf = false;
  if (std::exchange(options_.sampler.burst_ns, 0) > 0) host_.log(Level::warning, "wakers requires BPF; no bursts are recorded");
  auto ring = open_ring_sampler(options_.sampler);
  if (!ring) throw Failure(Code::unsupported, ring.error() + (reason.empty() ? "" : "; without BPF: " + reason));
  sampler_ = std::move(*ring);
}

void Collector::pump() {
  pthread_setname_np(pthread_self(), "perf");
  uint64_t stopped = 0;
  while (::read(stop_.get(), &stopped, sizeof(stopped)) < 0) pump_once();
}

// Running out of memory for one process does not end the agent.
void Collector::pump_once() {
  try {
    sampler_->pump(stop_.get(), [this](const ProcessId &id, bool again) { processes_.read_sampled(id, again); });
    if (namer_) namer_->add(sampler_->collect_renames());
  } catch (const std::exception &error) {
    if (!std::exchange(pump_failed_, true))
      host_.log(Level::warning,
                std::string("cannot read new processes at once; they are read at the end of the window: ") + error.what());
  }
}

int64_t Collector::pump_cpu_ns() const {
  clockid_t clock{};
  return ::pthread_getcpuclockid(const_cast<std::thread &>(thread_).native_handle(), &clock) == 0 ? core::clock_ns(clock) : 0;
}

void Collector::collect(const Window &window, Batch &batch) {
  const int64_t begin = core::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  const bool baseline = (window.flags & ATALAYA_WINDOW_BASELINE) != 0;
  account_ = {};
  forget_groups();
  processes_.next_window();
  files_.next_window();
  jvm_.next_window();
  if (options_.kernel && !baseline) refresh_kernel_symbols(window.monotonic_ns);
  if (namer_) {
    namer_->wait_for_names(kNamesWithin);
    // The waits of a burst are read when it has ended.
    namer_->next_window(window.monotonic_ns - window.duration_ns - options_.sampler.burst_ns);
  }
  const Totals totals = sampler_->take([&](const StackCount &stack) {
    if (!baseline) take(stack);
  });
  const BurstTotals bursts = sampler_->collect_bursts([&](const StackCount &stack, const Waker &waker) {
    if (!baseline) take_wait(stack, waker);
  });
  if (!baseline) emit_stacks(batch);
  if (!baseline) emit_runs(batch);
  regions_.update();
  const int64_t pump = pump_cpu_ns();
  const int64_t cpu = core::clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin + pump - pump_before_ns_;
  pump_before_ns_ = pump;
  if (!baseline) emit_account(window, totals, bursts, cpu, batch);
  forget_groups();
}

void Collector::forget_groups() {
  groups_.clear();
  group_bytes_ = 0;
}

void Collector::read_kernel_symbols() {
  auto text = core::read_file("/proc/kallsyms", symbols::kMaxKallsyms);
  const std::string_view symbols = text ? std::string_view(*text) : std::string_view();
  const size_t hash = std::hash<std::string_view>()(symbols);
  if (kernel_ && hash == kernel_hash_) return;
  kernel_hash_ = hash;
  kernel_.reset();  // first, so that only one table is in memory; each takes several MiB
  kernel_.emplace(symbols);
}

void Collector::refresh_kernel_symbols(int64_t now_ns) {
  if (kernel_ && now_ns - kernel_read_ns_ < kKernelSymbolsEvery) return;
  kernel_read_ns_ = now_ns;
  read_kernel_symbols();
  ::malloc_trim(0);  // the text took several MiB
  folder_.set_kernel_symbols(&*kernel_);
  if (kernel_->empty())
    host_.log(Level::info, "no names of kernel functions: the kernel hides their addresses; run as root or grant CAP_SYSLOG");
}

bool Collector::is_wanted(const StackCount &stack, const Process *process) const {
  if (!options_.processes.empty() && !options_.processes.matches(stack.comm)) return false;
  if (options_.cgroups.empty()) return true;
  return process != nullptr && !process->cgroup.empty() ? options_.cgroups.matches(process->cgroup)
                                                        : options_.cgroups.matches_absent();
}

// Returns nothing if an option excludes the process. Reads maps, and requests perf maps, only for selected processes.
std::optional<Process *> Collector::admit(const StackCount &stack, uint64_t &filtered) {
  const bool named = options_.processes.empty() || options_.processes.matches(stack.comm);
  Process *process = named ? processes_.find(stack.process) : nullptr;
  if (!is_wanted(stack, process)) {
    filtered += stack.count;
    return std::nullopt;
  }
  if (process != nullptr) processes_.refresh(stack.process, *process);
  return process;
}

void Collector::take(const StackCount &stack) {
  const auto process = admit(stack, account_.filtered);
  if (!process) return;
  if (stack.kernel_lost || stack.user_lost) account_.lost_stacks += stack.count;
  if (!fold(stack, *process)) account_.incomplete += stack.count;
  const std::string_view reason = options_.reason_tag && stack.off_cpu ? reason_of_text(stack) : std::string_view();
  add(stack, group_of(stack, *process, stack.off_cpu ? "offcpu" : "cpu", reason, {}));
}

void Collector::take_wait(const StackCount &stack, const Waker &waker) {
  const auto process = admit(stack, account_.filtered_waits);
  if (!process) return;
  fold(stack, *process);
  const std::string_view reason = reason_of_text(stack);
  std::string owner = fold_owner(stack, waker, reason);
  add(stack, group_of(stack, *process, "waker", reason, std::move(owner)));
}

std::string Collector::fold_owner(const StackCount &stack, const Waker &waker, std::string_view reason) {
  folder_.fold({.off_cpu = true, .kernel = waker.kernel}, nullptr, waker_text_);
  const WaitEnd ended{.queued = stack.queued, .has_ended = waker.has_ended, .reason = reason, .waker_stack = waker_text_};
  if (!waker.user.empty() && is_ended_by_thread(ended, waker)) append_waker(waker);
  return owner_of(ended, waker);
}

// Appends the waker's stack below the stack that waited, reversed: its innermost function is next to the end of the wait.
void Collector::append_waker(const Waker &waker) {
  const Process *process = processes_.find(waker.process);
  std::string code;
  folder_.fold({.has_user = true, .user = waker.user}, process == nullptr ? nullptr : &process->memory, code);
  text_.append(";[woken by]");
  for (std::string_view rest = code; !rest.empty();) {
    const size_t begin = rest.rfind(';') + 1;  // npos + 1 is 0
    text_.append(";").append(rest.substr(begin));
    rest = rest.substr(0, begin == 0 ? 0 : begin - 1);
  }
}

// The stack of a thread that was runnable all the time is unknown: it did not wait in its code. False: the stack is incomplete.
bool Collector::fold(const StackCount &stack, const Process *process) {
  static constexpr std::string_view kQueued = "[waiting for a CPU]";
  if (stack.queued && stack.kernel.empty() && stack.user.empty()) {
    text_ = kQueued;
    return true;
  }
  const bool is_complete = folder_.fold(stack, process == nullptr ? nullptr : &process->memory, text_);
  if (stack.queued) text_.append(";").append(kQueued);
  return is_complete;
}

std::string_view Collector::reason_of_text(const StackCount &stack) const {
  return stack.queued ? kRunQueue : reason_of(text_);
}

// A program may set an empty name.
Collector::Group &Collector::group_of(const StackCount &stack, const Process *process, std::string_view profile,
                                      std::string_view reason, std::string owner) {
  const std::string_view comm = stack.comm.empty() ? "unknown" : stack.comm;
  Group &group = groups_[{stack.process.pid, std::string(comm), profile, reason, std::move(owner), task_of(stack, process)}];
  if (process == nullptr) return group;
  if (options_.container_tag) group.container = cgroup::container_of(process->cgroup);
  if (options_.runtime_tag) group.runtime = process->runtime;
  return group;
}

// In a process that runs one task, such as a MapReduce attempt, all threads have the task of the process.
tasks::TaskTags Collector::task_of(const StackCount &stack, const Process *process) {
  tasks::TaskTags of_process;
  if (process != nullptr) of_process = process->task;
  if (of_process.empty() && stack.region != 0) {
    tasks::TaskTags in_region = regions_.tags_of(stack);
    in_region.job = of_process.job;
    return in_region;
  }
  if (!of_process.empty() || stack.thread == 0 || !namer_) return of_process.empty() ? tasks::TaskTags() : of_process;
  bool is_unnamed = false;
  auto task = namer_->find(stack, is_unnamed);
  if (is_unnamed) account_.unnamed_tasks += stack.count;
  if (!task) return {};
  if (task->job.empty()) task->job = of_process.job;
  return std::move(*task);
}

// Limits memory when programs generate long names without end: further stacks are reported without frames.
void Collector::add(const StackCount &stack, Group &group) {
  static constexpr size_t kMaxText = size_t{64} << 20;
  auto found = group.stacks.find(text_);
  if (found == group.stacks.end() && group_bytes_ + text_.size() > kMaxText) {
    text_ = "[stack lost]";
    account_.lost_stacks += stack.count;
    found = group.stacks.find(text_);
  }
  if (found == group.stacks.end()) {
    group_bytes_ += text_.size();
    found = group.stacks.try_emplace(text_).first;
  }
  found->second.count += stack.count;
  found->second.ns += stack.ns;
}

void Collector::emit_stacks(Batch &batch) {
  for (const auto &[id, group] : groups_) emit_group(id, group, batch);
}

void Collector::emit_runs(Batch &batch) {
  const auto job_of = [this](const StackCount &of) -> std::optional<std::string> {
    if (!options_.processes.empty() && !options_.processes.matches(of.comm)) return std::nullopt;
    const Process *process = processes_.find(of.process);
    if (!is_wanted(of, process)) return std::nullopt;
    return process == nullptr ? "" : process->task.job;
  };
  account_.lost_tasks = regions_.emit(*sampler_, job_of, batch);
}

void Collector::emit_group(const GroupId &id, const Group &group, Batch &batch) {
  std::array<char, 12> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), id.pid).ptr;
  const bool has_time = id.profile != "cpu";
  const atalaya_str profile = batch.copy(id.profile), process = batch.copy(id.comm);
  const atalaya_str pid = batch.copy({digits.data(), static_cast<size_t>(end - digits.data())});
  const atalaya_str container = batch.copy(group.container), runtime = batch.copy(group.runtime);
  const std::array<std::pair<uint32_t, atalaya_str>, 6> more{{{names_.reason, batch.copy(id.reason)},
                                                              {names_.owner, batch.copy(id.owner)},
                                                              {names_.job, batch.copy(id.task.job)},
                                                              {names_.stage, batch.copy(id.task.stage)},
                                                              {names_.task, batch.copy(id.task.task)},
                                                              {names_.attempt, batch.copy(id.task.attempt)}}};
  for (const auto &[text, sum] : group.stacks) {
    Sample &sample = batch.add(ATALAYA_STACK, 11, 2);
    batch.tag_shared(sample, names_.profile, profile);
    batch.tag_shared(sample, names_.process, process);
    batch.tag_shared(sample, names_.pid, pid);
    if (container.size > 0) batch.tag_shared(sample, names_.container, container);
    if (runtime.size > 0) batch.tag_shared(sample, names_.runtime, runtime);
    for (const auto &[key, value] : more)
      if (value.size > 0) batch.tag_shared(sample, key, value);
    batch.field(sample, names_.samples, as_count(sum.count));
    if (has_time) batch.field(sample, names_.ns, as_count(sum.ns));
    sample.text = batch.copy(text);
  }
}

void Collector::add_bursts(const BurstTotals &bursts, Batch &batch, Sample &sample) const {
  batch.field(sample, names_.burst_time, bursts.length_ns);
  batch.field(sample, names_.burst_waits, as_count(bursts.waits));
  batch.field(sample, names_.burst_lost, as_count(bursts.lost));
  batch.field(sample, names_.burst_filtered, as_count(account_.filtered_waits));
  batch.field(sample, names_.burst_unfollowed, as_count(bursts.unknown));
}

void Collector::emit_account(const Window &window, const Totals &totals, const BurstTotals &bursts, int64_t cpu_ns, Batch &batch) {
  const Folder::Frames frames = folder_.take_frames();
  Sample &sample = batch.add(ATALAYA_METRICS, 0, 21);
  batch.field(sample, names_.all, as_count(totals.samples));
  batch.field(sample, names_.lost, as_count(totals.lost));
  batch.field(sample, names_.lost_stacks, as_count(account_.lost_stacks));
  batch.field(sample, names_.incomplete, as_count(account_.incomplete));
  if (options_.sampler.dwarf) batch.field(sample, names_.not_copied, as_count(totals.not_copied));
  if (namer_) batch.field(sample, names_.unnamed_tasks, as_count(account_.unnamed_tasks));
  if (!options_.task_regions.empty()) batch.field(sample, names_.lost_tasks, as_count(account_.lost_tasks));
  batch.field(sample, names_.filtered, as_count(account_.filtered));
  batch.field(sample, names_.frames, as_count(frames.all));
  batch.field(sample, names_.unnamed, as_count(frames.unnamed));
  if (window.duration_ns > 0) {
    const uint64_t in_kernel = totals.cost_ns + bursts.cost_ns;
    if (in_kernel > 0) batch.field(sample, names_.cpu_kernel, percent(as_count(in_kernel), window.duration_ns));
    batch.field(sample, names_.cpu_user, percent(cpu_ns, window.duration_ns));
  }
  batch.field(sample, names_.memory,
              round_to(static_cast<double>(files_.bytes() + processes_.bytes()) / (1 << 20), kMemoryDecimals));
  batch.field(sample, names_.jvm_failures, as_count(jvm_.take_failures()));
  if (options_.sampler.burst_ns > 0) add_bursts(bursts, batch, sample);
}

}  // namespace atalaya::perf
