// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "core/base/result.h"
#include "plugins/sources/hadoop/event.h"
#include "plugins/sources/hadoop/topology.h"

namespace atalaya::hadoop {

inline constexpr size_t kMaxOpen = 200'000;  // open attempts, or Spark's tasks and stages

// Turns the events of one MapReduce job into spans. Ended spans are appended at once; open() reports running ones.
class MapReduceModel {
 public:
  explicit MapReduceModel(const Topology &topology) : topology_(topology) {}

  // Error: the event is inconsistent.
  core::Status take(const Event &event, Spans &out);
  // Appends running spans that were not reported yet.
  void open(Spans &out);
  const std::string &job() const { return job_.job; }
  bool ended() const { return ended_; }

 private:
  struct Running {
    Span span;
    bool reported = false;
  };
  struct Stage {
    Running running;
    int64_t finish = 0;         // of the last task that ended
    int64_t running_tasks = 0;  // according to tasks_
    bool failed = false, killed = false;
    std::string error;  // of the first task that failed
  };

  void task_started(const Event &event);
  void task_ended(const Event &event);
  core::Status attempt_started(const Event &event);
  core::Status attempt_ended(const Event &event, Spans &out);
  void job_submitted(const Event &event);
  void job_ended(const Event &event, Spans &out);
  void close(int64_t end, Spans &out) const;
  static bool end_stage(Stage &stage, int64_t job_finish, Outcome job);
  Span base(std::string_view level, std::string_view task_type) const;

  const Topology &topology_;
  Span job_;
  bool job_known_ = false, job_reported_ = false, ended_ = false;
  std::map<std::string, Stage, std::less<>> stages_;
  std::unordered_map<std::string, std::string> tasks_;  // running tasks, with the hosts of their data
  std::unordered_map<std::string, Running> attempts_;   // by id
};

}  // namespace atalaya::hadoop
