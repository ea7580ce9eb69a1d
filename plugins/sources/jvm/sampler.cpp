// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/sampler.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/now.h"
#include "plugins/shared/procfs/process_stat.h"

namespace atalaya::jvm {
namespace {

constexpr int64_t kFirstBackOff = 10'000'000'000, kLongestBackOff = 600'000'000'000;
// How often JVMs are looked for, unless that would take more than this part of the budget.
constexpr int64_t kLookEvery = 1'000'000'000;
constexpr double kLookShare = 0.1;
// JVMs of one user that take longer to answer than that, or do not answer, have a fifth of this thread's time together: others wait
// meanwhile.
constexpr int64_t kSlow = 200'000'000, kSlowPauses = 4;
// Of all JVMs together.
constexpr size_t kMostNodes = size_t{1} << 20, kMostBytes = size_t{64} << 20;
// Stacks of thousands of threads; what is longer costs more than it tells.
constexpr Call kThreadDump{.operation = "threaddump",
                           .argument = {},
                           .oldest_version = 6,
                           .purpose = "can be asked for their threads",
                           .max_answer = size_t{8} << 20};

// It answers when it is continued.
bool is_stopped(int32_t pid) {
  auto stat = core::read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
  const auto fields = stat ? proc::ProcessStat::parse(*stat, 3) : std::nullopt;
  return fields && (fields->state() == 'T' || fields->state() == 't');
}

uint64_t processors() {
  static const long count = ::sysconf(_SC_NPROCESSORS_ONLN);
  return static_cast<uint64_t>(std::max(count, 1L));
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
  static constexpr Shown kCollected{
      "collections"_str, How::seconds, {young_ticks, full_ticks, concurrent_ticks, old_used}, 3, ""_str, ""_str};
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
  look_ns_ = 0;
}

int64_t Sampler::cpu_ns() const {
  clockid_t clock{};
  return ::pthread_getcpuclockid(const_cast<std::thread &>(thread_).native_handle(), &clock) == 0 ? core::clock_ns(clock) : 0;
}

StackTree::Limits Sampler::limits() const {
  const size_t count = std::max<size_t>(asked_.size(), 1);
  StackTree::Limits limits;
  limits.nodes = std::min(limits.nodes, kMostNodes / count);
  limits.bytes = std::min(limits.bytes, kMostBytes / count);
  return limits;
}

std::map<JvmId, Profiled> Sampler::take_window(double spent) {
  std::map<JvmId, Profiled> windows;
  const std::lock_guard lock(mutex_);
  const StackTree::Limits limits = this->limits();
  for (const auto &[id, asked] : asked_) {
    // Its end may not have been met yet: the next window would have it once more.
    if (!asked->has_ended && has_ended(asked->jvm.target)) end(*asked);
    Profiled &window = windows[id];
    const auto last = asked->window.last;
    window = std::exchange(asked->window, {});
    asked->window.last = last;
    window.jvm = asked->jvm;
    window.identity = asked->identity;
    window.profile = asked->profile.take_window(limits);
    window.is_whole = std::exchange(asked->is_old, true);
  }
  std::erase_if(asked_, [](const auto &entry) { return entry.second->has_ended; });
  spent_ = spent;
  return windows;
}

void Sampler::skip_window() {
  const std::lock_guard lock(mutex_);
  for (const auto &[id, asked] : asked_) {
    asked->window.cost_ns = asked->window.pause_ns = 0;
    asked->profile.take_window(limits());
    asked->is_old = true;
  }
}

// One that may keep others waiting is asked when its user's have not done so for a while.
int64_t Sampler::due(const Asked &asked) const {
  if (asked.has_ended) return INT64_MAX;
  const auto until = slow_until_ns_.find(asked.jvm.target.status.user);
  return asked.is_slow && until != slow_until_ns_.end() ? std::max(asked.next_ns, until->second) : asked.next_ns;
}

// Of those that wait for each other one that has failed least.
std::shared_ptr<Sampler::Asked> Sampler::first() const {
  const auto rank = [this](const auto &entry) {
    return std::tuple(due(*entry.second), entry.second->back_off_ns, entry.second->next_ns);
  };
  const auto found =
      std::min_element(asked_.begin(), asked_.end(), [&](const auto &a, const auto &b) { return rank(a) < rank(b); });
  return found == asked_.end() ? nullptr : found->second;
}

void Sampler::run() {
  pthread_setname_np(pthread_self(), "jvm");
  std::unique_lock lock(mutex_);
  while (!is_stopped_) {
    const int64_t now = core::monotonic();
    const std::shared_ptr<Asked> next = first();
    const int64_t due = next ? this->due(*next) : INT64_MAX;
    if (std::min(due, look_ns_) > now) {
      changed_.wait_until(lock, core::at(std::min(due, look_ns_)));
      continue;
    }
    lock.unlock();
    if (look_ns_ <= now)
      look();
    else
      ask(*next);
    lock.lock();
  }
}

bool Sampler::is_asked(const JvmId &id) {
  const std::lock_guard lock(mutex_);
  return asked_.contains(id);
}

void Sampler::look() {
  const int64_t cpu = core::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  std::set<JvmId> found;
  try {
    for (const FoundJvm &jvm : discovery_.look()) {
      found.insert(id_of(jvm));
      if (!is_asked(id_of(jvm))) add(jvm);
    }
  } catch (const std::exception &error) {  // out of memory: that is no reason to end the agent
    tell_(std::string("JVMs were not looked for: ") + error.what());
  }
  const std::lock_guard lock(mutex_);
  const int64_t now = core::monotonic();
  for (const auto &[id, asked] : asked_)
    if (!found.contains(id) && has_ended(asked->jvm.target)) end(*asked);
  std::erase_if(slow_until_ns_, [&](const auto &entry) { return entry.second <= now; });
  const int64_t cost = core::clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
  const int64_t pause = look_pace_.pause(cost, options_.budget * kLookShare, kLookEvery);
  looking_ = static_cast<double>(cost) / static_cast<double>(cost + pause);
  look_ns_ = now + pause;
}

// One that has not come up yet takes no calls.
void Sampler::add(const FoundJvm &jvm) {
  const SharedFile file(jvm);
  const std::string_view bytes = shared_.read(file);
  const auto now = parse_shared(bytes);
  const bool is_wanted = (jvm.shared_path.empty() || (now && is_up(*now))) && wanted_(jvm, bytes);
  Identity identity = parse_identity(bytes);
  shared_.wipe();
  if (!is_wanted) return;
  const std::lock_guard lock(mutex_);
  if (asked_.size() >= kMostAsked) {
    if (!std::exchange(is_full_told_, true))
      tell_("only " + std::to_string(kMostAsked) + " JVMs are asked for thread dumps; choose them by `processes` or `main`");
    return;
  }
  const auto asked = std::make_shared<Asked>(jvm, std::move(identity), options_.all_threads, limits());
  asked_[id_of(jvm)] = asked;
  asked->next_ns = core::monotonic();
  if (now) asked->window.last = {*now, asked->next_ns};
}

void Sampler::end(Asked &asked) {
  asked.has_ended = true;
  asked.profile.interrupt();
}

// The pause is that of the JVM's threads together with the work of its own thread that makes the dump: both do nothing else then.
core::Result<std::string_view> Sampler::dump(Asked &asked, Called &called) {
  const SharedFile file(asked.jvm);
  const auto before = parse_shared(shared_.read(file));
  auto text = asked.attachment.ask(asked.jvm.target, kThreadDump, options_.timeout_ns, bytes_);
  auto after = parse_shared(shared_.read(file));
  shared_.wipe();
  if (before && after) called.pause_ns = stood_ns(*after, *before);
  if (after) called.last = {std::move(*after), core::monotonic()};
  if (text && !is_whole(*text)) return core::Error{"the JVM " + std::to_string(asked.jvm.target.pid) + " broke off its answer"};
  return text;
}

void Sampler::ask(Asked &asked) {
  if (is_stopped(asked.jvm.target.pid)) return skip(asked);
  const int64_t cpu = core::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  Called called{.begin_ns = core::monotonic(), .last = {}};
  try {
    auto text = dump(asked, called);
    const std::lock_guard lock(mutex_);
    if (text) asked.profile.take(*text, called.begin_ns);
    called.own_ns = core::clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    take(asked, text, called);
  } catch (const std::exception &error) {  // out of memory: that is no reason to end the agent
    const std::lock_guard lock(mutex_);
    fail(asked, error.what());
  }
}

// Of the budget each JVM has the same part. A tenth is always for dumps.
double Sampler::share() const {
  return std::max(options_.budget - spent_ - looking_, options_.budget / 10) /
         static_cast<double>(std::max<size_t>(asked_.size(), 1));
}

// A pause costs what each thread that runs would have done in it.
void Sampler::take(Asked &asked, core::Result<std::string_view> &text, const Called &called) {
  const int64_t end = core::monotonic(), passed = end - called.begin_ns;
  const auto cores = static_cast<int64_t>(std::clamp<uint64_t>(asked.profile.running(), 1, processors()));
  const int64_t all = called.own_ns + called.pause_ns * cores + (text ? asked.profile.answering_ns() : 0);
  asked.window.cost_ns += all;
  asked.window.pause_ns += called.pause_ns;
  if (called.last) asked.window.last = called.last;
  asked.is_slow = !text || passed > kSlow;
  if (asked.is_slow) slow_until_ns_[asked.jvm.target.status.user] = end + kSlowPauses * passed;
  if (!text) return fail(asked, text.error());
  asked.back_off_ns = 0;
  asked.told.clear();
  asked.next_ns = end + asked.pace.pause(all, share(), options_.least_interval_ns);
}

void Sampler::fail(Asked &asked, const std::string &error) {
  if (has_ended(asked.jvm.target)) return end(asked);
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
