// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/profile/profile.h"

#include <algorithm>
#include <utility>

namespace atalaya::jvm {
namespace {

bool has_code(const DumpedThread &thread) {
  return !thread.frames.empty() && thread.state != State::none;
}

// Returns the number of threads that count as running, for JVMs before JDK 11, which do not report the CPU time of threads.
int64_t count_modelled(std::string_view dump, DumpedThread &thread) {
  int64_t count = 0;
  for (ThreadDump threads(dump); threads.next(thread);) {
    const bool is_running = has_code(thread) && thread.state == State::runnable && !is_native(thread.frames.front());
    count += !thread.cpu_ns && is_running ? 1 : 0;
  }
  return count;
}

}  // namespace

std::optional<int64_t> Profile::cpu_since_last_dump(const DumpedThread &thread, Known &known, bool is_new) const {
  if (!thread.cpu_ns) return std::nullopt;
  // A thread that was missing in the last dump has started since, unless that dump exceeded the limit of threads.
  const int64_t before = is_new ? 0 : known.cpu_ns;
  const bool is_known = last_ns_.has_value() && *thread.cpu_ns >= before && !(is_new && was_full_);
  known.cpu_ns = *thread.cpu_ns;
  return is_known ? known.cpu_ns - before : 0;
}

int64_t Profile::claim(int64_t ns) {
  const int64_t claimed = std::min(ns, allowed_ns_);
  allowed_ns_ -= claimed;
  unclaimed_ns_ -= claimed;
  window_.excess_ns += ns - claimed;
  return claimed;
}

// Limits the CPU time of all threads to that of the process, both since the last dump was requested and since the baseline. The
// first limit alone would count the time of a dump twice.
void Profile::update_limits(std::string_view dump, int64_t passed_ns, const std::optional<ProcessCpu> &process) {
  const auto last = std::exchange(process_, process);
  allowed_ns_ = INT64_MAX;
  modelled_ns_ = passed_ns;
  if (!process) return;
  if (!last) {
    unclaimed_ns_ = process->after_ns - process->before_ns;
    return;
  }
  unclaimed_ns_ += process->after_ns - last->after_ns;
  allowed_ns_ = std::max<int64_t>(std::min(unclaimed_ns_, process->after_ns - last->before_ns), 0);
  if (dump.find(" cpu=") != std::string_view::npos) return;
  const int64_t running = count_modelled(dump, thread_);
  if (running > 0) modelled_ns_ = std::min(passed_ns, allowed_ns_ / running);
}

// In native code a thread is RUNNABLE also while it waits for a socket: it counts as running if it used at least half of the time.
bool Profile::is_running(const DumpedThread &thread, const Known &known, std::optional<int64_t> cpu, int64_t passed_ns) const {
  if (thread.state != State::runnable) return false;
  const bool is_in_native = is_native(thread.frames.front());
  if (!cpu || !last_ns_) return !is_in_native;
  return known.unattributed_ns > 0 && (!is_in_native || *cpu * 2 >= passed_ns);
}

void Profile::add_thread(const DumpedThread &thread, int64_t passed_ns) {
  if (threads_.size() >= kMaxThreads && !threads_.contains(thread.id)) {
    is_full_ = true;
    return;
  }
  const auto [entry, is_new] = threads_.try_emplace(thread.id);
  Known &known = entry->second;
  known.dump = dumps_;
  name(thread, known, is_new);
  const bool has_code = jvm::has_code(thread);
  known.is_java = known.is_java || has_code;
  const auto cpu = cpu_since_last_dump(thread, known, is_new);
  has_cpu_ = has_cpu_ || cpu;
  if (thread.name == kDumpWriter) dump_writer_ns_ = cpu.value_or(0);
  if (known.is_java) {
    const int64_t claimed = claim(cpu.value_or(0));
    known.unattributed_ns += claimed;
    dump_cpu_ns_ += claimed;
  }
  if (!has_code) return;
  const bool is_running = this->is_running(thread, known, cpu, passed_ns);
  running_ += is_running ? 1 : 0;
  count(thread, is_running);
  if (!last_ns_ || (!is_running && !all_threads_)) return;
  Time on_cpu;
  if (is_running) {
    on_cpu = {1, cpu ? std::exchange(known.unattributed_ns, 0) : claim(modelled_ns_)};
    known.old_unattributed_ns = 0;
    window_.is_model = window_.is_model || !cpu;
  }
  window_.tree.add(thread.frames, thread.is_cut(), on_cpu, {1, passed_ns}, known.is_mixed ? tasks::TaskTags() : known.task);
}

// Finds the task of the thread. The interval in which the name changed belongs to two tasks, so it gets none.
void Profile::name(const DumpedThread &thread, Known &known, bool is_new) const {
  if (!names_) return;
  if (known.unattributed_ns == 0) known.is_mixed = false;
  if (known.name == thread.name && !is_new) return;
  known.name = thread.name;
  known.task = names_->of_thread(thread.name).value_or(tasks::TaskTags());
  known.is_mixed = true;
}

void Profile::count(const DumpedThread &thread, bool is_running) {
  switch (thread.state) {
    case State::runnable:
      ++(is_running ? counts_.running : counts_.native);
      break;
    case State::blocked:
      ++counts_.blocked;
      break;
    case State::waiting:
      ++counts_.waiting;
      break;
    case State::sleeping:
      ++counts_.sleeping;
      break;
    case State::none:
      break;
  }
}

void Profile::report_unseen(Known &known, int64_t ns) {
  if (ns > 0) window_.tree.add_unseen({1, ns});
  known.unattributed_ns -= ns;
  known.old_unattributed_ns = known.unattributed_ns;
}

// CPU time from minutes ago is not attributed to the current stack.
void Profile::report_old_unseen() {
  if (last_ns_.value_or(0) - old_unattributed_sum_ns_ < kMaxUnattributedAge) return;
  old_unattributed_sum_ns_ = *last_ns_;
  for (auto &[id, known] : threads_) report_unseen(known, known.old_unattributed_ns);
}

void Profile::add(std::string_view dump, int64_t time_ns, const std::optional<ProcessCpu> &process) {
  ++dumps_;
  ++window_.dumps;
  counts_ = {};
  running_ = 0;
  dump_cpu_ns_ = 0;
  was_full_ = std::exchange(is_full_, false);
  const int64_t passed = last_ns_ ? std::max<int64_t>(time_ns - *last_ns_, 0) : 0;
  update_limits(dump, passed, process);
  for (ThreadDump threads(dump); threads.next(thread_);) add_thread(thread_, passed);
  for (auto &[id, known] : threads_)
    if (known.dump != dumps_) report_unseen(known, known.unattributed_ns);
  std::erase_if(threads_, [this](const auto &entry) { return entry.second.dump != dumps_; });
  if (last_ns_) {
    window_.threads = counts_;
    window_.covered_ns += passed;
    if (has_cpu_) window_.cpu_ns = window_.cpu_ns.value_or(0) + dump_cpu_ns_;
  }
  last_ns_ = time_ns;
}

void Profile::interrupt() {
  for (auto &[id, known] : threads_) report_unseen(known, known.unattributed_ns);
  last_ns_.reset();
  process_.reset();
}

Profile::Window Profile::end_window(const StackTree::Limits &limits) {
  report_old_unseen();
  return std::exchange(window_, Window{.tree = StackTree(limits), .cpu_ns = {}, .threads = {}});
}

}  // namespace atalaya::jvm
