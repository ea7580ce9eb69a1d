// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/findings/duplicate_phases.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace atalaya::jobs {
namespace {

constexpr unsigned kLines = 1, kHistory = 2, kTwice = 4;  // bits: who reports a task's phases; kTwice: both report the same phase

// Compares the log lines of a stage with the phases of one name in the job history.
struct Name {
  bool in_lines = false;
  size_t over = 0, apart = 0;  // number of phases that overlap lines of their task, and that do not
};

struct StageRead {
  size_t with_lines = 0, with_history_only = 0, twice = 0;  // numbers of tasks
  std::map<uint32_t, Name> names;                           // by phase name, if the lines of the stage are used
  bool lines_count() const { return with_lines >= with_history_only; }
};

class DuplicatePhases {
 public:
  DuplicatePhases(std::vector<Phase> &lines, std::vector<Phase> &history, const JobData &data)
      : lines_(lines), history_(history), data_(data), reporters_(data.tasks.size()) {
    std::sort(lines.begin(), lines.end(), by_name);
    for (const Phase &phase : lines) reporters_[phase.task] |= kLines;
    for (const Phase &phase : history) {
      const bool is_twice =
          (reporters_[phase.task] & kLines) != 0 && std::binary_search(lines.begin(), lines.end(), phase, by_name);
      reporters_[phase.task] |= is_twice ? kTwice | kHistory : kHistory;
    }
    for (size_t i = 0; i < reporters_.size(); ++i)
      if (reporters_[i] != 0) add(stages_[key_of(data.tasks[i])], reporters_[i]);
    std::erase_if(stages_, [](const auto &one) { return one.second.twice == 0; });
  }

  void choose() {
    if (stages_.empty()) return;
    for (const Phase &phase : history_)
      if ((reporters_[phase.task] & kTwice) != 0) copy_bytes(phase);
    find_names();
    std::erase_if(history_, [&](const Phase &phase) { return is_excluded(phase, true) && !is_apart(phase); });
    std::erase_if(lines_, [&](const Phase &phase) { return is_excluded(phase, false); });
  }

  void add_notes(std::vector<std::string> &notes) const {
    size_t by_lines = 0, without = 0, by_history = 0;
    for (const auto &[key, stage] : stages_) {
      (stage.lines_count() ? by_lines : by_history) += stage.twice;
      if (stage.lines_count()) without += stage.with_history_only;
    }
    const auto both = [](size_t tasks) {
      return "phases of " + std::to_string(tasks) + " tasks are reported by their lines and by a history: ";
    };
    if (by_lines > 0)
      notes.push_back(both(by_lines) + "the lines count" +
                      (without == 0
                           ? ""
                           : ", and those of " + std::to_string(without) + " other tasks that only a history reports are ignored"));
    if (by_history > 0) notes.push_back(both(by_history) + "the history counts, because most other tasks have no lines");
  }

 private:
  using Key = std::pair<uint32_t, uint32_t>;  // job, stage
  static Key key_of(const Task &task) { return {task.job, task.stage}; }
  static bool by_name(const Phase &a, const Phase &b) { return std::tie(a.task, a.phase) < std::tie(b.task, b.phase); }

  static void add(StageRead &stage, unsigned reporters) {
    stage.twice += (reporters & kTwice) != 0 ? 1 : 0;
    // A history may have phases as exact as those of lines. So a task counts as one with lines only if a phase is in both.
    if ((reporters & kTwice) != 0 || reporters == kLines)
      ++stage.with_lines;
    else
      ++stage.with_history_only;
  }

  bool is_excluded(const Phase &phase, bool of_history) const {
    const Task &task = data_.tasks[phase.task];
    const auto stage = stages_.find(key_of(task));
    if (stage == stages_.end() || stage->second.lines_count() != of_history) return false;
    if (!of_history) return (reporters_[phase.task] & kTwice) != 0;
    return task.has_span || (reporters_[phase.task] & kLines) != 0;  // otherwise the time of the task would be unknown
  }

  // Returns nullptr if the lines of the phase's stage are not used.
  StageRead *stage_by_lines(const Phase &phase) {
    const auto stage = stages_.find(key_of(data_.tasks[phase.task]));
    return stage != stages_.end() && stage->second.lines_count() ? &stage->second : nullptr;
  }

  void find_names() {
    StageRead *stage = nullptr;
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (i == 0 || lines_[i].task != lines_[i - 1].task) stage = stage_by_lines(lines_[i]);
      if (stage != nullptr) stage->names[lines_[i].phase].in_lines = true;
    }
    for (const Phase &phase : history_) {
      stage = (reporters_[phase.task] & kLines) != 0 ? stage_by_lines(phase) : nullptr;
      if (stage == nullptr) continue;
      Name &name = stage->names[phase.phase];
      if (!name.in_lines) ++(is_overlapped(phase) ? name.over : name.apart);
    }
  }

  // Whether a phase of the history is kept: no line reports the phase or anything in its time. Tasks without lines keep it only if
  // most other tasks do, so that tasks are comparable.
  bool is_apart(const Phase &of_history) {
    const Name &name = stage_by_lines(of_history)->names[of_history.phase];
    return !name.in_lines && name.apart >= name.over && ((reporters_[of_history.task] & kLines) == 0 || !is_overlapped(of_history));
  }

  // Whether lines of the same task overlap the phase by more than a tolerance.
  bool is_overlapped(const Phase &of_history) const {
    constexpr double kLittle = 0.1;
    if (of_history.work.duration_ns == kUnknown) return true;
    const int64_t end = of_history.work.end_ns();
    const auto by_task = [](const Phase &a, const Phase &b) { return a.task < b.task; };
    const auto [first, last] = std::equal_range(lines_.begin(), lines_.end(), of_history, by_task);
    std::vector<std::pair<int64_t, int64_t>> parts;
    for (auto line = first; line != last; ++line) {
      const int64_t line_end = line->work.duration_ns == kUnknown ? end : line->work.end_ns();
      parts.emplace_back(std::max(line->work.start_ns, of_history.work.start_ns), std::min(line_end, end));
    }
    std::sort(parts.begin(), parts.end());
    int64_t covered_ns = 0, until_ns = of_history.work.start_ns;
    for (const auto &[part_begin, part_end] : parts) {
      if (part_end <= until_ns) continue;
      covered_ns += part_end - std::max(part_begin, until_ns);
      until_ns = part_end;
    }
    return static_cast<double>(covered_ns) > kLittle * static_cast<double>(of_history.work.duration_ns);
  }

  // Copies the bytes from the history's phase to its line, if no line of the phase reports bytes.
  void copy_bytes(const Phase &of_history) {
    const auto [begin, end] = std::equal_range(lines_.begin(), lines_.end(), of_history, by_name);
    if (begin == end || std::any_of(begin, end, [](const Phase &phase) { return phase.work.bytes != kUnknown; })) return;
    begin->work.bytes = of_history.work.bytes;
    begin->work.remote = of_history.work.remote;
  }

  std::vector<Phase> &lines_, &history_;
  const JobData &data_;
  std::vector<unsigned> reporters_;  // by task
  std::map<Key, StageRead> stages_;
};

}  // namespace

std::vector<Phase> remove_duplicate_phases(std::vector<Phase> lines, std::vector<Phase> history, const JobData &data,
                                           std::vector<std::string> &notes) {
  if (history.empty()) return lines;
  if (lines.empty()) return history;
  DuplicatePhases duplicates(lines, history, data);
  duplicates.choose();
  duplicates.add_notes(notes);
  std::vector<Phase> &more = lines.size() < history.size() ? history : lines, &fewer = &more == &lines ? history : lines;
  more.insert(more.end(), fewer.begin(), fewer.end());
  return std::move(more);
}

}  // namespace atalaya::jobs
