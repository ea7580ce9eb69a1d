// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/processes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/util/files.h"
#include "core/util/now.h"
#include "plugins/containers/place.h"
#include "plugins/sources/perf/process_id.h"

namespace atalaya::perf {
namespace {

constexpr size_t kMaxASecond = 50, kMaxNewASecond = 10;
constexpr size_t kMaxFresh = 4096, kMaxKnown = 4096;
constexpr uint64_t kForgottenAfter = 10;  // windows

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string_view runtime_of(const std::vector<symbols::Mapping> &mappings) {
  for (const symbols::Mapping &mapping : mappings) {
    const std::string_view name = base_name(mapping.path);
    if (name == "libjvm.so") return "jvm";
    if (name == "node" || name == "nodejs" || name.starts_with("libnode.so")) return "node";
    if (name.starts_with("python3") || name.starts_with("libpython3")) return "python";
  }
  return {};
}

std::string cgroup_of(int32_t pid) {
  auto text = core::read_file("/proc/" + std::to_string(pid) + "/cgroup", 65536);
  return text ? std::string(containers::parse_cgroup(*text)) : std::string();
}

}  // namespace

std::unique_ptr<Process> Processes::read(const ProcessId &id) {
  auto process = std::make_unique<Process>(id.pid);
  if (!process->memory.refresh(mark_of(id))) return nullptr;
  process->cgroup = cgroup_of(id.pid);
  process->runtime = runtime_of(process->memory.mappings());
  return process;
}

void Processes::see(const ProcessId &id, bool again) {
  const int64_t second = core::monotonic() / 1'000'000'000;
  if (second != second_) read_.clear();
  second_ = second;
  if (read_.size() >= (again ? kMaxASecond : kMaxNewASecond) || !read_.insert(id).second) return;
  auto process = read(id);
  const std::lock_guard lock(mutex_);
  if (process && fresh_.size() < kMaxFresh) fresh_.emplace_back(id, std::move(process));
}

void Processes::next_window() {
  ++window_;
  std::vector<std::pair<ProcessId, std::unique_ptr<Process>>> fresh;
  {
    const std::lock_guard lock(mutex_);
    fresh.swap(fresh_);
  }
  for (auto &[id, process] : fresh) {
    process->used = window_;
    known_.try_emplace(id, std::move(process));
  }
  drop_old();
}

void Processes::drop_old() {
  std::erase_if(known_, [this](const auto &entry) { return entry.second->used + kForgottenAfter < window_; });
  while (!known_.empty() && (known_.size() > kMaxKnown || bytes() > max_bytes_))
    known_.erase(std::min_element(known_.begin(), known_.end(),
                                  [](const auto &a, const auto &b) { return a.second->used < b.second->used; }));
}

Process *Processes::find(const ProcessId &id) {
  if (id.image == 0) return nullptr;
  auto known = known_.find(id);
  if (known == known_.end()) {
    auto process = read(id);
    if (!process) return nullptr;
    known = known_.emplace(id, std::move(process)).first;
  }
  Process &process = *known->second;
  process.used = window_;
  if (process.refreshed != window_) refresh(id, process);
  return &process;
}

void Processes::refresh(const ProcessId &id, Process &process) {
  process.refreshed = window_;
  if (process.runtime == "jvm" && jvm_ != nullptr) jvm_->refresh(id.pid, id.start_ns, process.memory.status());
  if (!process.memory.refresh(mark_of(id))) return;  // it has ended
  process.cgroup = cgroup_of(id.pid);
  process.runtime = runtime_of(process.memory.mappings());
}

size_t Processes::bytes() const {
  size_t sum = 0;
  for (const auto &[id, process] : known_) sum += sizeof(Process) + process->memory.bytes() + process->cgroup.capacity();
  return sum;
}

}  // namespace atalaya::perf
