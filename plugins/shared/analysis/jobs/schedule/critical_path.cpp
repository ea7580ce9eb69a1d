// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/schedule/critical_path.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "plugins/shared/analysis/jobs/findings/findings.h"
#include "plugins/shared/analysis/jobs/model/job_tasks.h"
#include "plugins/shared/analysis/jobs/schedule/slots.h"

namespace atalaya::jobs {
namespace {

constexpr const char *kBefore = "before the first task", *kBetween = "between tasks", *kAfter = "after the last task";

class Path {
 public:
  Path(const JobData &data, uint32_t job) : data_(data), tasks_(data, job), slots_(tasks_), job_(job), by_end_(tasks_.order()) {
    std::sort(by_end_.begin(), by_end_.end(), [&](uint32_t a, uint32_t b) { return place_of(a) < place_of(b); });
    for (const uint32_t i : by_end_) {
      const Task &task = data.tasks[i];
      const auto [first, is_new] = starts_.try_emplace(task.stage, start_of(i));
      first->second = std::min(first->second, start_of(i));
    }
  }

  std::optional<CriticalPath> find() {
    const Job &job = data_.jobs[job_];
    if (by_end_.empty() || job.outcome == Outcome::running) return std::nullopt;
    CriticalPath path;
    const bool has_end = job.has_span && job.work.duration_ns > 0;
    path.begin_ns = has_end ? job.work.start_ns : first_start();
    path.end_ns = has_end ? job.work.end_ns() : end_of(by_end_.back());
    if (path.end_ns <= path.begin_ns) return std::nullopt;
    walk(path);
    std::reverse(path.steps.begin(), path.steps.end());
    add_parts(path);
    return path;
  }

 private:
  int64_t end_of(uint32_t task) const { return data_.tasks[task].work.end_ns(); }
  // The time from which the task works: a reduce task may wait for the last map.
  int64_t start_of(uint32_t task) const { return tasks_.begin(task); }
  // Among attempts with equal ends, the one that succeeded is the last.
  std::tuple<int64_t, bool, uint32_t> place_of(uint32_t i) const { return {end_of(i), data_.tasks[i].has_ended_well(), i}; }
  int64_t first_start() const {
    int64_t first = INT64_MAX;
    for (const uint32_t i : by_end_) first = std::min(first, data_.tasks[i].work.start_ns);
    return first;
  }

  // Follows the path backwards from the end: each step ends at the start of the next one.
  void walk(CriticalPath &path) const {
    int64_t now = path.end_ns;
    std::optional<std::pair<uint32_t, PathStep::After>> next;
    for (std::optional<uint32_t> later; now > path.begin_ns; later = next->first) {
      next = later ? before(*later, now) : std::pair(by_end_.back(), PathStep::After::stage);
      const int64_t end = next ? std::clamp(end_of(next->first), path.begin_ns, now) : path.begin_ns;
      if (later) set_after(path, next ? next->second : PathStep::After::start);
      if (now > end) path.steps.push_back({PathStep::Kind::gap, PathStep::After::start, later.value_or(by_end_.back()), end, now});
      now = end;
      if (!next || now <= path.begin_ns) return;
      const int64_t begin = std::clamp(start_of(next->first), path.begin_ns, now - 1);
      path.steps.push_back({PathStep::Kind::task, PathStep::After::start, next->first, begin, now});
      now = begin;
    }
  }

  static void set_after(CriticalPath &path, PathStep::After after) { path.steps.back().after = after; }

  // The predecessor of a task: the previous task in its slot, or the last task of an earlier stage, whichever ended later. The end
  // of the previous task may be logged after the start of this one.
  std::optional<std::pair<uint32_t, PathStep::After>> before(uint32_t number, int64_t until_ns) const {
    const Task &task = data_.tasks[number];
    const uint32_t in_slot = task.host == 0 ? kNoTask : slots_.before(number);
    const std::optional<uint32_t> earlier = of_earlier_stage(task, until_ns);
    if (in_slot == kNoTask || (earlier && place_of(*earlier) > place_of(in_slot)))
      return earlier ? std::optional(std::pair(*earlier, PathStep::After::stage)) : std::nullopt;
    return std::pair(in_slot, data_.tasks[in_slot].stage == task.stage ? PathStep::After::slot : PathStep::After::stage);
  }

  std::optional<uint32_t> of_earlier_stage(const Task &task, int64_t until_ns) const {
    const auto limit =
        std::upper_bound(by_end_.begin(), by_end_.end(), until_ns, [&](int64_t ns, uint32_t other) { return ns < end_of(other); });
    for (auto i = std::make_reverse_iterator(limit); i != by_end_.rend(); ++i) {
      const uint32_t stage = data_.tasks[*i].stage;
      if (stage != task.stage && starts_.at(stage) < starts_.at(task.stage)) return *i;
    }
    return std::nullopt;
  }

  void add_parts(CriticalPath &path) const {
    std::map<std::string, int64_t> parts;
    for (const PathStep &step : path.steps) {
      if (step.kind == PathStep::Kind::task)
        add_task(step, parts);
      else
        parts[step.begin_ns == path.begin_ns ? kBefore
              : step.end_ns == path.end_ns   ? kAfter
                                             : kBetween] += step.end_ns - step.begin_ns;
    }
    for (auto &[name, ns] : parts)
      if (ns > 0) path.parts.push_back({name, ns});
    std::stable_sort(path.parts.begin(), path.parts.end(), [](const PathPart &a, const PathPart &b) { return a.ns > b.ns; });
  }

  // Divides the time of a step among phases: each instant belongs to the phase that started last. Garbage collections have only a
  // length: it is subtracted from the time without a phase, then from the longest phases.
  void add_task(const PathStep &step, std::map<std::string, int64_t> &parts) const {
    const Task &task = data_.tasks[step.task];
    std::map<uint32_t, int64_t> phases = phases_of(step);
    int64_t gc = task.gc_ms > 0 ? std::min(task.gc_ms * 1'000'000, step.end_ns - step.begin_ns) : 0;
    const std::string stage = stage_text(data_, task.stage);
    if (gc > 0) parts[stage + "garbage collection"] += gc;
    const auto take = [&gc](int64_t &ns) {
      const int64_t part = std::min(gc, ns);
      gc -= part;
      ns -= part;
    };
    take(phases[0]);
    while (gc > 0)
      take(
          std::max_element(phases.begin(), phases.end(), [](const auto &a, const auto &b) { return a.second < b.second; })->second);
    for (const auto &[phase, ns] : phases) parts[stage + (phase == 0 ? "task" : data_.name(phase))] += ns;
  }

  struct Piece {
    int64_t begin_ns = 0, end_ns = 0;
    uint32_t phase = 0;
  };

  std::map<uint32_t, int64_t> phases_of(const PathStep &step) const {
    const std::vector<Piece> pieces = pieces_of(step);
    std::vector<int64_t> times{step.begin_ns, step.end_ns};
    for (const Piece &piece : pieces) {
      times.push_back(piece.begin_ns);
      times.push_back(piece.end_ns);
    }
    std::sort(times.begin(), times.end());
    std::map<uint32_t, int64_t> phases{{0, 0}};
    for (size_t i = 0; i + 1 < times.size(); ++i) {
      const Piece *latest = nullptr;
      for (const Piece &piece : pieces)
        if (piece.begin_ns <= times[i] && times[i + 1] <= piece.end_ns && (latest == nullptr || piece.begin_ns >= latest->begin_ns))
          latest = &piece;
      phases[latest == nullptr ? 0 : latest->phase] += times[i + 1] - times[i];
    }
    return phases;
  }

  // The phases of the step's task, cut to the step.
  std::vector<Piece> pieces_of(const PathStep &step) const {
    constexpr size_t kMaxPieces = 200;
    std::vector<Piece> pieces;
    const auto add = [&](int64_t begin_ns, int64_t end_ns, uint32_t phase) {
      begin_ns = std::max(begin_ns, step.begin_ns);
      end_ns = std::min(end_ns, step.end_ns);
      if (begin_ns < end_ns && pieces.size() < kMaxPieces) pieces.push_back({begin_ns, end_ns, phase});
    };
    const auto of_task = [](const auto &list, uint32_t number) {
      return std::equal_range(list.begin(), list.end(), number, ByTask());
    };
    const auto [part, parts_end] = of_task(data_.parts, step.task);
    const auto [phase, phases_end] = of_task(data_.phases, step.task);
    for (auto one = phase; one != phases_end; ++one) {
      const bool has_parts = std::any_of(part, parts_end, [&](const Part &other) { return other.phase == one->phase; });
      if (!has_parts && one->work.duration_ns > 0) add(one->work.start_ns, one->work.end_ns(), one->phase);
    }
    for (auto one = part; one != parts_end; ++one) add(one->begin_ns, one->end_ns, one->phase);
    return pieces;
  }

  struct ByTask {
    template <class One>
    bool operator()(const One &one, uint32_t task) const {
      return one.task < task;
    }
    template <class One>
    bool operator()(uint32_t task, const One &one) const {
      return task < one.task;
    }
  };

  const JobData &data_;
  const JobTasks tasks_;
  const Slots slots_;
  const uint32_t job_;
  std::vector<uint32_t> by_end_;
  std::map<uint32_t, int64_t> starts_;  // by stage: start of its first task
};

}  // namespace

std::optional<CriticalPath> critical_path(const JobData &data, uint32_t job) {
  return Path(data, job).find();
}

std::string_view after_text(PathStep::After after) {
  switch (after) {
    case PathStep::After::slot:
      return "slot";
    case PathStep::After::stage:
      return "stage";
    case PathStep::After::start:
      break;
  }
  return "start";
}

}  // namespace atalaya::jobs
