// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/schedule/schedule.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <set>
#include <tuple>

namespace atalaya::jobs {
namespace {

class Replay {
 public:
  explicit Replay(const Plan &plan) : plan_(plan), left_(plan.stages.size()), remaining_parents_(plan.stages.size()) {
    waiting_.resize(plan.stages.size());
    for (uint32_t i = 0; i < plan.tasks.size(); ++i) {
      waiting_[plan.tasks[i].stage].push_back(i);
      ++left_[plan.tasks[i].stage];
    }
    for (uint32_t i = 0; i < plan.stages.size(); ++i) remaining_parents_[i] = plan.stages[i].parents.size();
    ready_.resize(plan.is_pinned ? plan.slower.size() : 1);
    for (uint32_t i = 0; i < plan.slots.size(); ++i) free_.insert(i);
  }

  int64_t run() {
    for (uint32_t i = 0; i < plan_.stages.size(); ++i)
      if (remaining_parents_[i] == 0) release(i);
    assign();
    while (!events_.empty()) {
      now_ = events_.top().ns;
      while (!events_.empty() && events_.top().ns == now_) {
        const Event event = events_.top();
        events_.pop();
        if (event.is_stage)
          open(event.number);
        else
          end(event.number, event.stage);
      }
      assign();
    }
    return now_;
  }

 private:
  struct Event {
    int64_t ns = 0;
    uint32_t number = 0, stage = 0;  // number of the slot, index of the stage
    bool is_stage = false;
    bool operator<(const Event &other) const { return ns > other.ns; }  // the earliest is on top
  };

  // Starts a stage whose parents have all ended.
  void release(uint32_t stage) {
    if (left_[stage] == 0) return complete(stage);
    events_.push({now_ + plan_.stages[stage].gap_ns, stage, stage, true});
  }
  void open(uint32_t stage) {
    for (const uint32_t task : waiting_[stage]) ready_[plan_.is_pinned ? plan_.tasks[task].executor : 0].insert(task);
  }
  void end(uint32_t slot, uint32_t stage) {
    free_.insert(slot);
    if (--left_[stage] == 0) complete(stage);
  }
  void complete(uint32_t stage) {
    for (uint32_t child = stage + 1; child < plan_.stages.size(); ++child) {
      const std::vector<uint32_t> &parents = plan_.stages[child].parents;
      if (std::find(parents.begin(), parents.end(), stage) != parents.end() && --remaining_parents_[child] == 0) release(child);
    }
  }
  void assign() {
    for (auto slot = free_.begin(); slot != free_.end();) {
      const uint32_t executor = plan_.slots[*slot];
      std::set<uint32_t> &ready = ready_[plan_.is_pinned ? executor : 0];
      if (ready.empty()) {
        ++slot;
        continue;
      }
      const PlannedTask &task = plan_.tasks[*ready.begin()];
      ready.erase(ready.begin());
      events_.push({now_ + plan_.stages[task.stage].task_gap_ns + plan_.time_of(task, executor), *slot, task.stage, false});
      slot = free_.erase(slot);
    }
  }

  const Plan &plan_;
  std::vector<std::vector<uint32_t>> waiting_;    // tasks by stage
  std::vector<size_t> left_, remaining_parents_;  // by stage
  std::vector<std::set<uint32_t>> ready_;         // by executor if tasks are pinned
  std::set<uint32_t> free_;
  std::priority_queue<Event> events_;
  int64_t now_ = 0;
};

}  // namespace

int64_t Plan::time_of(const PlannedTask &task, uint32_t executor) const {
  return std::llround(static_cast<double>(task.ns) * slower[executor][task.stage]);
}

int64_t replay(const Plan &plan) {
  return Replay(plan).run();
}

}  // namespace atalaya::jobs
