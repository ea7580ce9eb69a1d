// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/schedule/slots.h"

#include <algorithm>

namespace atalaya::jobs {
namespace {

constexpr int64_t kMaxOverlap = 10'000'000;  // ns; maximum overlap of successive tasks of a slot, and at most half of each of them

}  // namespace

Slots::Slots(const JobTasks &tasks) {
  std::map<ExecutorKey, std::vector<Slot>> slots;
  for (const uint32_t task : tasks.order()) {
    const auto found = tasks.data().slots.find({tasks.task(task).job, tasks.task(task).executor});
    const size_t reported = found == tasks.data().slots.end() ? 0 : found->second;
    const ExecutorKey executor = executor_of(tasks.task(task));
    Slot &slot = slot_for(slots[executor], tasks, task, reported);
    if (slot.last != kNoTask) before_[task] = slot.last;
    slot = {std::max(slot.free_ns, tasks.end(task)), task};
    counts_[executor] = std::max(slots[executor].size(), reported);
  }
}

// Chooses the slot of a task: the free slot that was used last; otherwise a new one; if all reported slots are in use, the one that
// becomes free first.
Slots::Slot &Slots::slot_for(std::vector<Slot> &slots, const JobTasks &tasks, uint32_t task, size_t reported) {
  const auto half = [&](uint32_t one) { return (tasks.end(one) - tasks.begin(one)) / 2; };
  Slot *free = nullptr;
  for (Slot &slot : slots) {
    const int64_t overlap = std::min({kMaxOverlap, half(slot.last), half(task)});
    if (slot.free_ns <= tasks.begin(task) + overlap && (free == nullptr || slot.free_ns > free->free_ns)) free = &slot;
  }
  if (free != nullptr) return *free;
  if (reported == 0 || slots.size() < reported) return slots.emplace_back();
  return *std::min_element(slots.begin(), slots.end(), [](const Slot &a, const Slot &b) { return a.free_ns < b.free_ns; });
}

uint32_t Slots::before(uint32_t task) const {
  const auto found = before_.find(task);
  return found == before_.end() ? kNoTask : found->second;
}

}  // namespace atalaya::jobs
