// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/tasks/task_threads.h"

#include <algorithm>
#include <iterator>

namespace atalaya::perf {

void TaskThreads::set_full_name(Name &name, std::string_view text) const {
  name.is_known = true;
  if (auto task = names_.of_thread(text)) name.task = std::move(*task);
}

bool TaskThreads::may_be_task(std::string_view short_name) const {
  return std::any_of(prefixes_.begin(), prefixes_.end(), [&](const std::string &prefix) { return short_name.starts_with(prefix); });
}

// A name shorter than the kernel's limit is complete.
void TaskThreads::add(uint32_t thread, Name name) {
  if (size_ >= kMaxNames) return;
  if (name.short_name.size() < kMaxShortName || !may_be_task(name.short_name)) set_full_name(name, name.short_name);
  threads_[thread].push_back(std::move(name));
  ++size_;
}

void TaskThreads::renamed(const Renamed &thread) {
  if (const auto known = threads_.find(thread.thread); known != threads_.end() && known->second.back().end_ns == INT64_MAX) {
    known->second.back().end_ns = thread.epoch;
    known->second.back().end_window = window_;
  }
  add(thread.thread, {.epoch = thread.epoch, .process = thread.process, .short_name = thread.name, .task = {}});
}

// If a thread of another process had this number, that thread has ended.
void TaskThreads::add_existing(const ProcessId &process, uint32_t thread, std::string_view short_name) {
  if (const auto known = threads_.find(thread); known != threads_.end()) {
    if (known->second.back().epoch != 0 || known->second.back().process == process) return;
    size_ -= known->second.size();
    threads_.erase(known);
  }
  add(thread, {.process = process, .short_name = std::string(short_name), .task = {}});
}

std::map<ProcessId, std::vector<uint32_t>> TaskThreads::unnamed() const {
  std::map<ProcessId, std::vector<uint32_t>> found;
  for (const auto &[thread, names] : threads_)
    if (const Name &last = names.back(); !last.is_known && last.end_ns == INT64_MAX) found[last.process].push_back(thread);
  return found;
}

// If the name changed within the interval, the dump may have the name before or after the change, so null is returned.
TaskThreads::Name *TaskThreads::unknown_at(uint32_t thread, int64_t begin_ns, int64_t end_ns) {
  const auto known = threads_.find(thread);
  if (known == threads_.end()) return nullptr;
  for (Name &one : known->second)
    if (!one.is_known && one.epoch < begin_ns && end_ns < one.end_ns) return &one;
  return nullptr;
}

void TaskThreads::add_full_name(uint32_t thread, std::string_view name, int64_t begin_ns, int64_t end_ns) {
  Name *unknown = unknown_at(thread, begin_ns, end_ns);
  if (unknown != nullptr && name.starts_with(unknown->short_name)) set_full_name(*unknown, name);
}

void TaskThreads::mark_absent(uint32_t thread, int64_t begin_ns, int64_t end_ns) {
  if (Name *unknown = unknown_at(thread, begin_ns, end_ns)) set_full_name(*unknown, unknown->short_name);
}

void TaskThreads::use_short_names(const ProcessId &process) {
  for (auto &[thread, names] : threads_)
    for (Name &one : names)
      if (!one.is_known && one.process == process) set_full_name(one, one.short_name);
}

const TaskThreads::Name *TaskThreads::name_of(uint32_t thread, int64_t epoch) const {
  const auto known = threads_.find(thread);
  if (known == threads_.end()) return nullptr;
  for (const Name &one : known->second)
    if (one.epoch == epoch) return &one;
  return nullptr;
}

const tasks::TaskTags *TaskThreads::find(uint32_t thread, int64_t epoch) const {
  const Name *name = name_of(thread, epoch);
  return name == nullptr || name->task.empty() ? nullptr : &name->task;
}

bool TaskThreads::is_unnamed(uint32_t thread, int64_t epoch) const {
  const Name *name = name_of(thread, epoch);
  return name == nullptr || !name->is_known;
}

// Names are kept for a window after their end, because their stacks are reported at the end of a window, and waits may be reported
// later.
void TaskThreads::next_window(int64_t keeps_since_ns) {
  ++window_;
  for (auto &[thread, names] : threads_)
    size_ -= std::erase_if(
        names, [&](const Name &one) { return one.end_window != 0 && one.end_window + 1 < window_ && one.end_ns < keeps_since_ns; });
  std::erase_if(threads_, [](const auto &entry) { return entry.second.empty(); });
}

}  // namespace atalaya::perf
