// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/processes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/files.h"
#include "core/base/now.h"
#include "plugins/shared/host/cgroup/place.h"
#include "plugins/sources/perf/process_id.h"

namespace atalaya::perf {
namespace {

constexpr size_t kMaxFresh = 4096, kMaxKnown = 4096;
constexpr uint64_t kForgottenAfter = 10;  // windows

std::string_view runtime_of(const std::vector<symbols::Mapping> &mappings) {
  for (const symbols::Mapping &mapping : mappings) {
    const std::string_view name = mapping.base_name();
    if (name == "libjvm.so") return "jvm";
    if (name == "node" || name == "nodejs" || name.starts_with("libnode.so")) return "node";
    if (name.starts_with("python3") || name.starts_with("libpython3")) return "python";
  }
  return {};
}

std::string cgroup_of(int32_t pid) {
  auto text = core::read_file("/proc/" + std::to_string(pid) + "/cgroup", 65536);
  return text ? std::string(cgroup::parse_cgroup(*text)) : std::string();
}

}  // namespace

std::unique_ptr<Process> Processes::read(const ProcessId &id) const {
  auto process = std::make_unique<Process>(id.pid);
  if (!process->memory.refresh(mark_of(id))) return nullptr;
  process->read_ns = core::monotonic();
  process->cgroup = cgroup_of(id.pid);
  process->runtime = runtime_of(process->memory.maps().mappings());
  if (with_tasks_) process->task = tasks::of_process(id.pid);
  return process;
}

bool ReadLimit::allows(const ProcessId &id, bool again, int64_t now_ns) {
  if (const int64_t second = now_ns / 1'000'000'000; second != current_second_) {
    *this = {};
    current_second_ = second;
  }
  return bytes_ < kBytes && read_.size() < (again ? kProcesses : kNew) && read_.insert(id).second;
}

void Processes::read_sampled(const ProcessId &id, bool again) {
  if (!limit_.allows(id, again, core::monotonic())) return;
  auto process = read(id);
  if (!process) return;
  limit_.add_bytes(process->bytes());
  const std::lock_guard lock(mutex_);
  if (new_processes_.size() >= kMaxFresh || fresh_bytes_ + process->bytes() > max_bytes_) return;
  fresh_bytes_ += process->bytes();
  new_processes_.emplace_back(id, std::move(process));
}

// If a process was read several times, the last reading counts.
void Processes::next_window() {
  ++window_;
  std::vector<std::pair<ProcessId, std::unique_ptr<Process>>> fresh;
  {
    const std::lock_guard lock(mutex_);
    fresh.swap(new_processes_);
    fresh_bytes_ = 0;
  }
  for (auto &[id, process] : fresh) store_process(id, std::move(process));
  for (auto known = known_.begin(); known != known_.end();) {
    const bool forgotten = known->second->used + kForgottenAfter < window_;
    if (forgotten) bytes_ -= known->second->bytes();
    known = forgotten ? known_.erase(known) : std::next(known);
  }
}

// Replaces an earlier reading, whose mappings become the previous mappings for stacks that were sampled before.
void Processes::store_process(const ProcessId &id, std::unique_ptr<Process> process) {
  process->used = window_;
  std::unique_ptr<Process> &known = known_[id];
  if (known && known->read_ns > process->read_ns) return;
  if (known) {
    bytes_ -= known->bytes();
    process->memory.follow(known->memory);
  }
  known = std::move(process);
  bytes_ += known->bytes();
  evict_for(known.get());
}

// Removes the least recently sampled processes.
void Processes::evict_for(const Process *wanted) {
  while (known_.size() > 1 && (known_.size() > kMaxKnown || bytes_ > max_bytes_)) {
    auto oldest = known_.end();
    for (auto it = known_.begin(); it != known_.end(); ++it)
      if (it->second.get() != wanted && (oldest == known_.end() || it->second->used < oldest->second->used)) oldest = it;
    bytes_ -= oldest->second->bytes();
    known_.erase(oldest);
  }
}

Process *Processes::find(const ProcessId &id) {
  if (id.image == 0) return nullptr;
  const auto known = known_.find(id);
  if (known != known_.end()) {
    known->second->used = window_;
    return known->second.get();
  }
  auto process = read(id);
  if (!process) return nullptr;
  Process *found = process.get();
  store_process(id, std::move(process));
  return found;
}

void Processes::refresh(const ProcessId &id, Process &process) {
  if (process.refreshed == window_) return;
  process.refreshed = window_;
  if (process.runtime == "jvm" && jvm_ != nullptr) jvm_->refresh(id.pid, mark_of(id), process.memory.status());
  bytes_ -= process.bytes();
  if (process.memory.refresh(mark_of(id))) {
    process.read_ns = core::monotonic();
    process.cgroup = cgroup_of(id.pid);
    process.runtime = runtime_of(process.memory.maps().mappings());
  }
  bytes_ += process.bytes();
  evict_for(&process);
}

}  // namespace atalaya::perf
