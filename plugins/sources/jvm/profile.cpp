// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/profile.h"

#include <algorithm>
#include <utility>

namespace atalaya::jvm {
namespace {

// The JVM's own thread that writes the dump.
constexpr std::string_view kAnswering = "Attach Listener";

}  // namespace

std::optional<int64_t> Profile::taken(const DumpedThread &thread, Known &known, bool is_new) const {
  if (!thread.cpu_ns) return std::nullopt;
  // A thread that was not there at the last dump has begun since.
  const int64_t before = is_new ? 0 : known.cpu_ns;
  const bool is_known = last_ns_.has_value() && *thread.cpu_ns >= before;
  known.cpu_ns = *thread.cpu_ns;
  return is_known ? known.cpu_ns - before : 0;
}

// In native code a thread is RUNNABLE also while it waits for a socket: there it runs if it took half of the time at least.
void Profile::take_thread(const DumpedThread &thread, int64_t passed_ns) {
  const auto [entry, is_new] = threads_.try_emplace(thread.id);
  Known &known = entry->second;
  known.dump = dumps_;
  const auto cpu = taken(thread, known, is_new);
  if (thread.name == kAnswering) answering_ns_ = cpu.value_or(0);
  if (!last_ns_) known.owed_ns = 0;
  known.owed_ns += cpu.value_or(0);
  if (thread.frames.empty() || thread.state == State::none) return;
  const bool is_in_native = is_native(thread.frames.front());
  bool is_running = thread.state == State::runnable;
  if (cpu)
    is_running = is_running && known.owed_ns > 0 && (!is_in_native || *cpu * 2 >= passed_ns);
  else
    is_running = is_running && !is_in_native;
  count(thread, is_running);
  if (!last_ns_ || (!is_running && !all_threads_)) return;
  Time on_cpu;
  if (is_running) on_cpu = {1, cpu ? std::exchange(known.owed_ns, 0) : passed_ns};
  window_.tree.add(thread.frames, on_cpu, {1, passed_ns});
}

void Profile::count(const DumpedThread &thread, bool is_running) {
  ThreadCounts &counts = *window_.threads;
  switch (thread.state) {
    case State::runnable:
      ++(is_running ? counts.running : counts.native);
      break;
    case State::blocked:
      ++counts.blocked;
      break;
    case State::waiting:
      ++counts.waiting;
      break;
    case State::sleeping:
      ++counts.sleeping;
      break;
    case State::none:
      break;
  }
}

void Profile::take(std::string_view dump, int64_t time_ns) {
  ++dumps_;
  ++window_.dumps;
  window_.threads.emplace();
  const int64_t passed = last_ns_ ? std::max<int64_t>(time_ns - *last_ns_, 0) : 0;
  for (ThreadDump threads(dump); threads.next(thread_);) take_thread(thread_, passed);
  std::erase_if(threads_, [this](const auto &entry) { return entry.second.dump != dumps_; });
  last_ns_ = time_ns;
}

Profile::Window Profile::take_window() {
  return std::exchange(window_, {});
}

}  // namespace atalaya::jvm
