// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/tasks/task_namer.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <unordered_map>
#include <utility>

#include "core/base/files.h"
#include "core/base/now.h"
#include "core/base/text/text.h"
#include "plugins/shared/code/jvm/thread_dump.h"
#include "plugins/sources/perf/process_id.h"

namespace atalaya::perf {
namespace {

// Limits dumps to 2 % of a core: after a dump, the pause is 49 times its CPU time, here and in the JVM.
constexpr int64_t kPauses = 49, kMinPause = 50'000'000;
// A JVM on a busy host may be late once: the next request follows soon.
constexpr int64_t kTimeout = 1'000'000'000, kFirstBackOff = 1'000'000'000, kMaxBackOff = 600'000'000'000;
constexpr size_t kMaxJvms = 256, kMaxMaps = size_t{32} << 20;

// Returns the thread id in the innermost namespace, the last number of "NSpid:\t812\t17"; 0: the thread has ended.
int32_t inner_number(int32_t pid, uint32_t thread) {
  auto text = core::read_file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread) + "/status", 16384);
  const size_t at = text ? text->find("NSpid:") : std::string::npos;
  if (at == std::string::npos) return 0;
  const std::string_view line = std::string_view(*text).substr(at, text->find('\n', at) - at);
  const auto number = core::parse_number(line.substr(line.find_last_of(" \t") + 1));
  return number ? static_cast<int32_t>(*number) : 0;
}

bool is_jvm(int32_t pid) {
  auto maps = core::read_file("/proc/" + std::to_string(pid) + "/maps", kMaxMaps);
  return maps && maps->find("/libjvm.so") != std::string::npos;
}

}  // namespace

void TaskNamer::start() {
  stop();
  is_stopping_ = false;
  thread_ = std::thread([this] { run(); });
}

void TaskNamer::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void TaskNamer::add(const std::vector<Renamed> &renamed) {
  if (renamed.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    for (const Renamed &one : renamed) threads_.renamed(one);
    has_new_names_ = true;
    is_idle_ = false;
  }
  changed_.notify_all();
}

void TaskNamer::wait_for_names(int64_t timeout_ns) {
  std::unique_lock lock(mutex_);
  settled_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), [this] { return is_idle_ || is_stopping_; });
}

std::optional<tasks::TaskTags> TaskNamer::find(const StackCount &stack, bool &is_unnamed) {
  std::unique_lock lock(mutex_);
  is_unnamed = threads_.is_unnamed(stack.thread, stack.epoch);
  if (is_unnamed && stack.epoch == 0) {
    threads_.add_existing(stack.process, stack.thread, stack.thread_name);
    is_unnamed = threads_.is_unnamed(stack.thread, stack.epoch);
    has_new_names_ = has_new_names_ || is_unnamed;
    is_idle_ = is_idle_ && !is_unnamed;
    changed_.notify_all();
  }
  const tasks::TaskTags *task = threads_.find(stack.thread, stack.epoch);
  return task == nullptr ? std::nullopt : std::optional(*task);
}

void TaskNamer::next_window(int64_t keeps_since_ns) {
  const std::lock_guard lock(mutex_);
  threads_.next_window(keeps_since_ns);
}

void TaskNamer::run() {
  pthread_setname_np(pthread_self(), "perf-tasks");
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    std::optional<int64_t> next;
    has_new_names_ = false;
    try {
      next = name_threads(lock);
    } catch (const std::exception &) {  // out of memory: names stay unknown
      is_idle_ = true;
    }
    settled_.notify_all();
    const auto may_continue = [this] { return is_stopping_ || has_new_names_; };
    if (next)
      changed_.wait_for(lock, std::chrono::nanoseconds(std::max<int64_t>(*next - core::monotonic(), 1'000'000)), may_continue);
    else
      changed_.wait(lock, may_continue);
  }
}

std::optional<int64_t> TaskNamer::name_threads(std::unique_lock<std::mutex> &lock) {
  std::optional<int64_t> next;
  bool answers = false;
  if (jvms_.size() >= kMaxJvms) forget_ended();
  for (const auto &[id, threads] : threads_.unnamed()) {
    if (is_stopping_) return next;
    Jvm *jvm = jvm_of(id, lock);
    if (jvm == nullptr) {
      threads_.use_short_names(id);
      continue;
    }
    if (jvm->next_ns <= core::monotonic()) dump(id, *jvm, threads, lock);
    next = std::min(next.value_or(INT64_MAX), jvm->next_ns);
    answers = answers || jvm->back_off_ns == 0;
  }
  is_idle_ = !answers && !has_new_names_;  // a window does not wait for JVMs that do not answer
  return next;
}

// Returns null if the process is no JVM or has ended, or there are too many JVMs.
TaskNamer::Jvm *TaskNamer::jvm_of(const ProcessId &id, std::unique_lock<std::mutex> &lock) {
  if (const auto known = jvms_.find(id); known != jvms_.end()) return &known->second;
  lock.unlock();
  const auto mark = symbols::read_mark(id.pid);
  const auto status = symbols::read_status(id.pid);
  const bool is_one = mark && status && *mark == mark_of(id) && is_jvm(id.pid);
  lock.lock();
  if (!is_one || jvms_.size() >= kMaxJvms) return nullptr;
  Jvm &jvm = jvms_[id];
  jvm.target = {id.pid, *mark, *status};
  return &jvm;
}

void TaskNamer::forget_ended() {
  std::erase_if(jvms_, [](const auto &entry) { return jvm::has_ended(entry.second.target); });
}

void TaskNamer::dump(const ProcessId &id, Jvm &jvm, const std::vector<uint32_t> &wanted, std::unique_lock<std::mutex> &lock) {
  lock.unlock();
  std::unordered_map<int32_t, uint32_t> threads;  // by number in the JVM's namespace
  for (const uint32_t thread : wanted)
    if (const int32_t inner = inner_number(id.pid, thread); inner != 0) threads.emplace(inner, thread);
  const int64_t cpu = core::clock_ns(CLOCK_THREAD_CPUTIME_ID), begin = core::monotonic();
  auto text = jvm.attachment.request(jvm.target, jvm::kThreadDump, kTimeout, bytes_);
  const int64_t end = core::monotonic();
  std::vector<std::pair<uint32_t, std::string_view>> names;
  const bool is_complete = text && jvm::is_complete(*text);
  std::optional<int64_t> answering;
  if (is_complete) {
    jvm::DumpedThread one;
    for (jvm::ThreadDump dump(*text); dump.next(one);) {
      if (const auto thread = threads.find(one.number); thread != threads.end()) names.emplace_back(thread->second, one.name);
      if (one.name == jvm::kDumpWriter) answering = one.cpu_ns;
    }
  }
  const bool is_new_error =
      !text && !jvm::is_unreachable(jvm.target) && std::exchange(jvm.last_error, text.error()) != text.error();
  if (is_new_error) report_("tasks of threads are unknown: " + text.error());
  jvm.back_off_ns = text ? 0 : std::clamp(jvm.back_off_ns * 2, kFirstBackOff, kMaxBackOff);
  int64_t cost = end - begin;
  if (answering) cost = std::min(cost, core::clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu + *answering - jvm.answering_ns);
  jvm.answering_ns = answering.value_or(0);
  jvm.next_ns = end + (text ? std::max(kMinPause, kPauses * cost) : jvm.back_off_ns);
  lock.lock();
  for (const auto &[thread, name] : names) threads_.add_full_name(thread, name, begin, end);
  if (!is_complete) return;
  for (const auto &[inner, thread] : threads) threads_.mark_absent(thread, begin, end);
}

}  // namespace atalaya::perf
