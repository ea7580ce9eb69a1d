// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/profile/sampler.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/now.h"
#include "plugins/shared/host/procfs/process_stat.h"

namespace atalaya::jvm {
namespace {

constexpr int64_t kFirstBackOff = 10'000'000'000, kMaxBackOff = 600'000'000'000;
// Interval of searches for JVMs, and the maximum part of the budget for them, which may lengthen the interval. The profile of a JVM
// lacks the time until it is found.
constexpr int64_t kFindInterval = 200'000'000;
constexpr double kFindShare = 0.1;
// JVMs of one user that take longer than this to answer, or do not answer, share a fifth of this thread's time, because others wait
// for them.
constexpr int64_t kSlow = 200'000'000, kSlowPauses = 4;
// Limits for all JVMs together.
constexpr size_t kMaxNodes = size_t{1} << 20, kMaxBytes = size_t{64} << 20;

// A stopped JVM answers only when it is continued.
bool is_stopped(int32_t pid) {
  auto stat = core::read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
  const auto fields = stat ? procfs::ProcessStat::parse(*stat, 3) : std::nullopt;
  return fields && (fields->state() == 'T' || fields->state() == 't');
}

// CPU time of a process since its start, ended threads included, by the clock that JVMs read for their threads. Nothing: it has
// ended.
std::optional<int64_t> process_cpu_ns(int32_t pid) {
  clockid_t clock{};
  if (::clock_getcpuclockid(pid, &clock) != 0) return std::nullopt;
  return core::clock_ns(clock);
}

uint64_t processors() {
  static const long count = ::sysconf(_SC_NPROCESSORS_ONLN);
  return static_cast<uint64_t>(std::max(count, 1L));
}

int64_t seconds_to_ns(const CounterMetric &metric, const JvmCounters &now, const JvmCounters &before) {
  const auto passed = number_of(metric, {now, 1'000'000'000}, nullptr);
  const auto earlier = number_of(metric, {before, 1'000'000'000}, nullptr);
  if (!passed || !earlier) return 0;
  return static_cast<int64_t>((std::get<double>(*passed) - std::get<double>(*earlier)) * 1e9);
}

// Time of safepoints other than collections between two readings.
int64_t safepoint_ns(const JvmCounters &now, const JvmCounters &before) {
  static constexpr CounterMetric kSafepoints = of_counter("safepoints", Conversion::seconds, safepoint_ticks, "", "");
  static constexpr CounterMetric kCollections{
      "collections", Conversion::seconds, {young_ticks, full_ticks, concurrent_ticks, old_used}, 3, "", ""};
  return std::max<int64_t>(seconds_to_ns(kSafepoints, now, before) - std::max<int64_t>(seconds_to_ns(kCollections, now, before), 0),
                           0);
}

}  // namespace

std::vector<Candidate> Sampler::candidates(const std::vector<std::shared_ptr<SampledJvm>> &jvms) {
  std::vector<Candidate> candidates;
  for (const auto &one : jvms) candidates.push_back({one->jvm.target.status.user, one->active_ns});
  return candidates;
}

JvmId id_of(const FoundJvm &jvm) {
  return {jvm.target.pid, jvm.target.mark.start_ticks ^ jvm.target.mark.image};
}

void Sampler::start() {
  stop();
  is_stopped_ = false;
  thread_ = std::thread([this] { run(); });
}

void Sampler::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
  sampled_.clear();
  find_ns_ = 0;
}

int64_t Sampler::cpu_ns() const {
  clockid_t clock{};
  return ::pthread_getcpuclockid(const_cast<std::thread &>(thread_).native_handle(), &clock) == 0 ? core::clock_ns(clock) : 0;
}

size_t Sampler::sampled_count() const {
  const auto count = std::count_if(sampled_.begin(), sampled_.end(),
                                   [](const auto &entry) { return !entry.second->has_ended && !entry.second->is_waiting; });
  return static_cast<size_t>(std::max<ptrdiff_t>(count, 1));
}

StackTree::Limits Sampler::limits() const {
  const size_t count = sampled_count();
  StackTree::Limits limits;
  limits.nodes = std::min(limits.nodes, kMaxNodes / count);
  limits.bytes = std::min(limits.bytes, kMaxBytes / count);
  return limits;
}

std::map<JvmId, Profiled> Sampler::end_window(double spent) {
  std::map<JvmId, Profiled> windows;
  const std::lock_guard lock(mutex_);
  const StackTree::Limits limits = this->limits();
  for (const auto &[id, sampled] : sampled_) {
    // Checks whether the JVM has ended, else the next window would report it again.
    if (!sampled->has_ended && has_ended(sampled->jvm.target)) end(*sampled);
    Profiled &window = windows[id];
    const auto last = sampled->window.last;
    window = std::exchange(sampled->window, {});
    sampled->window.last = last;
    window.jvm = sampled->jvm;
    window.identity = sampled->identity;
    window.task = sampled->task;
    window.profile = sampled->profile.end_window(limits);
    window.is_complete = std::exchange(sampled->is_old, !sampled->is_waiting);
  }
  std::erase_if(sampled_, [](const auto &entry) { return entry.second->has_ended; });
  spent_ = spent;
  return windows;
}

void Sampler::skip_window() {
  const std::lock_guard lock(mutex_);
  for (const auto &[id, sampled] : sampled_) {
    sampled->window.cost_ns = sampled->window.pause_ns = 0;
    sampled->profile.end_window(limits());
    sampled->is_old = true;
  }
}

// A slow JVM must wait until the slow JVMs of its user have used their share.
int64_t Sampler::due_ns(const SampledJvm &sampled) const {
  if (sampled.has_ended || sampled.is_waiting) return INT64_MAX;
  const auto until = slow_until_ns_.find(sampled.jvm.target.status.user);
  return sampled.is_slow && until != slow_until_ns_.end() ? std::max(sampled.next_ns, until->second) : sampled.next_ns;
}

// If several dumps are due, prefers the JVM with the shortest back-off.
std::shared_ptr<Sampler::SampledJvm> Sampler::next_due() const {
  const auto rank = [this](const auto &entry) {
    return std::tuple(due_ns(*entry.second), entry.second->back_off_ns, entry.second->next_ns);
  };
  const auto found =
      std::min_element(sampled_.begin(), sampled_.end(), [&](const auto &a, const auto &b) { return rank(a) < rank(b); });
  return found == sampled_.end() ? nullptr : found->second;
}

void Sampler::run() {
  pthread_setname_np(pthread_self(), "jvm");
  std::unique_lock lock(mutex_);
  while (!is_stopped_) {
    const int64_t now = core::monotonic();
    const std::shared_ptr<SampledJvm> next = next_due();
    const int64_t due = next ? this->due_ns(*next) : INT64_MAX;
    if (std::min(due, find_ns_) > now) {
      changed_.wait_until(lock, core::at(std::min(due, find_ns_)));
      continue;
    }
    lock.unlock();
    if (find_ns_ <= now)
      find_jvms();
    else
      sample(*next);
    lock.lock();
  }
}

bool Sampler::is_known(const JvmId &id) {
  const std::lock_guard lock(mutex_);
  return sampled_.contains(id);
}

std::vector<std::shared_ptr<Sampler::SampledJvm>> Sampler::jvms(bool waiting) const {
  std::vector<std::shared_ptr<SampledJvm>> found;
  for (const auto &[id, sampled] : sampled_)
    if (!sampled->has_ended && sampled->is_waiting == waiting) found.push_back(sampled);
  return found;
}

bool Sampler::free_slot(uint32_t user) {
  const auto sampled = jvms(false);
  if (sampled.size() < kMaxSampled) return true;
  if (!std::exchange(logged_full_, true))
    report_("more than " + std::to_string(kMaxSampled) +
            " JVMs: users share this number, and further JVMs have no thread dumps; select JVMs by `processes` or `main`");
  const auto found = to_replace(candidates(sampled), user);
  if (!found) return false;
  sampled[*found]->is_waiting = true;
  sampled[*found]->profile.interrupt();
  return true;
}

void Sampler::fill_slots() {
  for (;;) {
    const auto sampled = jvms(false), waiting = jvms(true);
    if (sampled.size() >= kMaxSampled || waiting.empty()) return;
    waiting[*to_admit(candidates(waiting), candidates(sampled))]->is_waiting = false;
  }
}

void Sampler::find_jvms() {
  const int64_t cpu = core::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  std::set<JvmId> found;
  try {
    for (const FoundJvm &jvm : discovery_.find()) {
      found.insert(id_of(jvm));
      if (!is_known(id_of(jvm))) add(jvm);
    }
  } catch (const std::exception &error) {  // out of memory must not end the agent
    report_(std::string("cannot search for JVMs: ") + error.what());
  }
  const std::lock_guard lock(mutex_);
  const int64_t now = core::monotonic();
  for (const auto &[id, sampled] : sampled_)
    if (!found.contains(id) && has_ended(sampled->jvm.target)) end(*sampled);
  fill_slots();
  std::erase_if(slow_until_ns_, [&](const auto &entry) { return entry.second <= now; });
  const int64_t cost = core::clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
  const int64_t pause = find_pace_.pause(cost, options_.budget * kFindShare, kFindInterval);
  search_share_ = static_cast<double>(cost) / static_cast<double>(cost + pause);
  find_ns_ = now + pause;
}

// A JVM that is still starting does not accept commands.
void Sampler::add(const FoundJvm &jvm) {
  const HsperfdataFile file(jvm);
  const std::string_view bytes = shared_.read(file);
  const auto now = parse_counters(bytes);
  const bool is_wanted = (jvm.shared_path.empty() || (now && is_up(*now))) && wanted_(jvm, bytes);
  Identity identity = parse_identity(bytes);
  shared_.wipe();
  if (!is_wanted) return;
  tasks::TaskTags task;
  if (options_.tasks) task = tasks::of_process(jvm.target.pid);
  const std::lock_guard lock(mutex_);
  if (!free_slot(jvm.target.status.user)) return;
  const auto sampled = std::make_shared<SampledJvm>(jvm, std::move(identity), options_, limits());
  sampled->task = std::move(task);
  sampled_[id_of(jvm)] = sampled;
  sampled->next_ns = core::monotonic();
  if (now) sampled->window.last = {*now, sampled->next_ns};
}

void Sampler::end(SampledJvm &sampled) {
  sampled.has_ended = true;
  sampled.profile.interrupt();
}

// The pause is the safepoint time of the dump, during which both the application's threads and the dumping thread do nothing else.
core::Result<std::string_view> Sampler::dump(SampledJvm &sampled, DumpCost &cost) {
  const HsperfdataFile file(sampled.jvm);
  const auto before = parse_counters(shared_.read(file));
  const auto cpu_before = process_cpu_ns(sampled.jvm.target.pid);
  auto text = sampled.attachment.request(sampled.jvm.target, kThreadDump, options_.timeout_ns, bytes_);
  const auto cpu_after = process_cpu_ns(sampled.jvm.target.pid);
  auto after = parse_counters(shared_.read(file));
  shared_.wipe();
  if (before && after) cost.pause_ns = safepoint_ns(*after, *before);
  if (after) cost.last = {std::move(*after), core::monotonic()};
  if (text && !is_complete(*text))
    return core::Error{"the JVM " + std::to_string(sampled.jvm.target.pid) + " sent an incomplete answer"};
  if (!cpu_before || !cpu_after) return core::Error{"the JVM " + std::to_string(sampled.jvm.target.pid) + " has ended"};
  cost.process = {*cpu_before, *cpu_after};
  return text;
}

void Sampler::sample(SampledJvm &sampled) {
  if (is_stopped(sampled.jvm.target.pid)) return skip(sampled);
  const int64_t cpu = core::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  DumpCost cost{.begin_ns = core::monotonic(), .last = {}};
  try {
    auto text = dump(sampled, cost);
    const std::lock_guard lock(mutex_);
    if (text) sampled.profile.add(*text, cost.begin_ns, cost.process);
    cost.own_ns = core::clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    add_dump(sampled, text, cost);
  } catch (const std::exception &error) {  // out of memory must not end the agent
    const std::lock_guard lock(mutex_);
    record_failure(sampled, error.what());
  }
}

// Each JVM has the same part of the budget. At least a tenth of the budget is for dumps.
double Sampler::share() const {
  return std::max(options_.budget - spent_ - search_share_, options_.budget / 10) / static_cast<double>(sampled_count());
}

// A pause costs the time of each running thread.
void Sampler::add_dump(SampledJvm &sampled, core::Result<std::string_view> &text, const DumpCost &cost) {
  const int64_t end = core::monotonic(), passed = end - cost.begin_ns;
  const auto cores = static_cast<int64_t>(std::clamp<uint64_t>(sampled.profile.running(), 1, processors()));
  const int64_t all = cost.own_ns + cost.pause_ns * cores + (text ? sampled.profile.dump_writer_ns() : 0);
  sampled.window.cost_ns += all;
  sampled.window.pause_ns += cost.pause_ns;
  if (cost.last) sampled.window.last = cost.last;
  sampled.is_slow = !text || passed > kSlow;
  if (sampled.is_slow) slow_until_ns_[sampled.jvm.target.status.user] = end + kSlowPauses * passed;
  if (!text) return record_failure(sampled, text.error());
  sampled.back_off_ns = 0;
  if (sampled.profile.running() > 0) sampled.active_ns = end;
  sampled.last_error.clear();
  sampled.next_ns = end + sampled.pace.pause(all, share(), options_.min_interval_ns);
}

void Sampler::record_failure(SampledJvm &sampled, const std::string &error) {
  if (has_ended(sampled.jvm.target)) return end(sampled);
  ++sampled.window.failures;
  sampled.profile.interrupt();
  sampled.back_off_ns = std::clamp(sampled.back_off_ns * 2, kFirstBackOff, kMaxBackOff);
  sampled.next_ns = core::monotonic() + sampled.back_off_ns;
  if (std::exchange(sampled.last_error, error) != error) report_("no thread dumps of a JVM: " + error);
}

void Sampler::skip(SampledJvm &sampled) {
  static constexpr int64_t kRetryInterval = 1'000'000'000;
  const std::lock_guard lock(mutex_);
  ++sampled.window.skipped;
  sampled.profile.interrupt();
  sampled.next_ns = core::monotonic() + kRetryInterval;
}

}  // namespace atalaya::jvm
