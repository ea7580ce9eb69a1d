// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/sampler.h"

#include <pthread.h>

#include <algorithm>
#include <ctime>
#include <exception>

#include "core/util/now.h"
#include "plugins/sources/jvm/numbers.h"

namespace atalaya::jvm {
namespace {

constexpr int64_t kFirstBackOff = 10'000'000'000, kLongestBackOff = 600'000'000'000;
// Stacks of thousands of threads; what is longer costs more than it tells.
constexpr Call kThreadDump{.operation = "threaddump",
                           .argument = {},
                           .oldest_version = 6,
                           .purpose = "can be asked for their threads",
                           .max_answer = size_t{32} << 20};

int64_t read_clock(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// It answers when it is continued.
bool is_stopped(int32_t pid) {
  auto stat = core::read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
  const size_t end = stat ? stat->rfind(") ") : std::string::npos;
  return end != std::string::npos && end + 2 < stat->size() && ((*stat)[end + 2] == 'T' || (*stat)[end + 2] == 't');
}

int64_t seconds_to_ns(const Shown &shown, const Shared &now, const Shared &before) {
  const auto passed = number_of(shown, {now, 1'000'000'000}, nullptr);
  const auto earlier = number_of(shown, {before, 1'000'000'000}, nullptr);
  if (!passed || !earlier) return 0;
  return static_cast<int64_t>((std::get<double>(*passed) - std::get<double>(*earlier)) * 1e9);
}

// How long threads stood, but for collections, between two readings.
int64_t stood_ns(const Shared &now, const Shared &before) {
  static constexpr Shown kStood = shown("safepoints"_str, How::seconds, safepoint_ticks, ""_str, ""_str);
  static constexpr Shown kCollected{"collections"_str, How::seconds, {young_ticks, full_ticks, concurrent_ticks, old_used}, 3, ""_str, ""_str};
  return std::max<int64_t>(seconds_to_ns(kStood, now, before) - std::max<int64_t>(seconds_to_ns(kCollected, now, before), 0), 0);
}

}  // namespace

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
  asked_.clear();
}

int64_t Sampler::cpu_ns() const {
  clockid_t clock{};
  return ::pthread_getcpuclockid(const_cast<std::thread &>(thread_).native_handle(), &clock) == 0 ? read_clock(clock) : 0;
}

void Sampler::use(const std::vector<FoundJvm> &jvms, double spent) {
  const int64_t now = core::monotonic();
  std::map<JvmId, std::shared_ptr<Asked>> wanted;
  const std::lock_guard lock(mutex_);
  for (const FoundJvm &jvm : jvms) {
    const auto known = asked_.find(id_of(jvm));
    auto &place = wanted[id_of(jvm)];
    place = known != asked_.end() ? known->second : std::make_shared<Asked>(jvm, options_.all_threads);
    if (known == asked_.end()) place->next_ns = now;
  }
  asked_.swap(wanted);
  spent_ = spent;
  changed_.notify_all();
}

std::map<JvmId, Profiled> Sampler::take_window() {
  std::map<JvmId, Profiled> windows;
  const std::lock_guard lock(mutex_);
  for (const auto &[id, asked] : asked_) {
    Profiled &window = windows[id];
    window = std::exchange(asked->window, {});
    window.profile = asked->profile.take_window();
  }
  return windows;
}

void Sampler::skip_window() {
  const std::lock_guard lock(mutex_);
  for (const auto &[id, asked] : asked_) {
    asked->window.cost_ns = asked->window.pause_ns = 0;
    asked->profile.take_window();
  }
}

std::shared_ptr<Sampler::Asked> Sampler::first() const {
  const auto earlier = [](const auto &a, const auto &b) { return a.second->next_ns < b.second->next_ns; };
  const auto found = std::min_element(asked_.begin(), asked_.end(), earlier);
  return found == asked_.end() ? nullptr : found->second;
}

void Sampler::run() {
  pthread_setname_np(pthread_self(), "jvm");
  std::unique_lock lock(mutex_);
  while (!is_stopped_) {
    const std::shared_ptr<Asked> next = first();
    if (!next) {
      changed_.wait(lock);
    } else if (const int64_t due = next->next_ns; due > core::monotonic()) {
      changed_.wait_until(lock, core::at(due));
    } else {
      lock.unlock();
      ask(*next);
      lock.lock();
    }
  }
}

// The pause is that of the JVM's threads together with the work of its own thread that makes the dump: both do nothing else then.
core::Result<std::string_view> Sampler::dump(Asked &asked, int64_t &pause_ns) {
  const SharedFile file(asked.jvm);
  const auto before = parse_shared(shared_.read(file));
  auto text = asked.attachment.ask(asked.jvm.target, kThreadDump, options_.timeout_ns, bytes_);
  const auto after = parse_shared(shared_.read(file));
  shared_.wipe();
  if (before && after) pause_ns = stood_ns(*after, *before);
  if (text && !is_whole(*text)) return core::Error{"the JVM " + std::to_string(asked.jvm.target.pid) + " broke off its answer"};
  return text;
}

void Sampler::ask(Asked &asked) {
  if (is_stopped(asked.jvm.target.pid)) return skip(asked);
  const int64_t begin = core::monotonic(), cpu = read_clock(CLOCK_THREAD_CPUTIME_ID);
  Cost cost;
  try {
    auto text = dump(asked, cost.pause_ns);
    const std::lock_guard lock(mutex_);
    if (text) asked.profile.take(*text, begin);
    cost.own_ns = read_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
    take(asked, text, begin, cost);
  } catch (const std::exception &error) {  // out of memory: that is no reason to end the agent
    const std::lock_guard lock(mutex_);
    fail(asked, error.what());
  }
}

// Of the budget each JVM has the same part. A tenth is always for dumps.
double Sampler::share() const {
  return std::max(options_.budget - spent_, options_.budget / 10) / static_cast<double>(std::max<size_t>(asked_.size(), 1));
}

void Sampler::take(Asked &asked, core::Result<std::string_view> &text, int64_t begin_ns, const Cost &cost) {
  const int64_t all = cost.own_ns + cost.pause_ns + (text ? asked.profile.answering_ns() : 0);
  asked.window.cost_ns += all;
  asked.window.pause_ns += cost.pause_ns;
  if (!text) return fail(asked, text.error());
  asked.back_off_ns = 0;
  asked.told.clear();
  asked.next_ns = begin_ns + all + asked.pace.pause(all, share(), options_.least_interval_ns);
}

void Sampler::fail(Asked &asked, const std::string &error) {
  ++asked.window.failures;
  asked.profile.interrupt();
  asked.back_off_ns = std::clamp(asked.back_off_ns * 2, kFirstBackOff, kLongestBackOff);
  asked.next_ns = core::monotonic() + asked.back_off_ns;
  if (std::exchange(asked.told, error) != error) tell_("no thread dumps of a JVM: " + error);
}

void Sampler::skip(Asked &asked) {
  static constexpr int64_t kLookAgain = 1'000'000'000;
  const std::lock_guard lock(mutex_);
  ++asked.window.skipped;
  asked.profile.interrupt();
  asked.next_ns = core::monotonic() + kLookAgain;
}

}  // namespace atalaya::jvm
