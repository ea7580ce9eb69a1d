// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "core/base/result.h"
#include "plugins/shared/protocols/jhist/event.h"
#include "plugins/sources/hadoop/model/topology.h"

namespace atalaya::hadoop {

inline constexpr size_t kMaxOpen = 200'000;  // maximum running attempts (MapReduce) or running tasks and stages (Spark)

// Converts the events of one MapReduce job to spans. take() appends ended spans; open() appends running ones.
class MapReduceModel {
 public:
  explicit MapReduceModel(const Topology &topology) : topology_(topology) {}

  // Processes an event. Returns an error if it contradicts earlier events.
  core::Status take(const protocols::Event &event, protocols::Spans &out);
  // Appends running spans that were not reported yet.
  void open(protocols::Spans &out);
  const std::string &job() const { return job_.job; }
  bool ended() const { return ended_; }

 private:
  struct Running {
    protocols::Span span;
    bool reported = false;
  };
  struct Stage {
    Running running;
    int64_t finish = 0;         // end time of the last ended task
    int64_t running_tasks = 0;  // number of running tasks in tasks_
    bool failed = false, killed = false;
    std::string error;  // error text of the first failed task
  };

  void task_started(const protocols::Event &event);
  void task_ended(const protocols::Event &event);
  core::Status attempt_started(const protocols::Event &event);
  core::Status attempt_ended(const protocols::Event &event, protocols::Spans &out);
  void job_submitted(const protocols::Event &event);
  void job_ended(const protocols::Event &event, protocols::Spans &out);
  void close(int64_t end, protocols::Spans &out) const;
  static bool end_stage(Stage &stage, int64_t job_finish, protocols::Outcome job);
  protocols::Span base(std::string_view level, std::string_view task_type) const;

  const Topology &topology_;
  protocols::Span job_;
  bool job_id_known_ = false, job_reported_ = false, ended_ = false;
  std::map<std::string, Stage, std::less<>> stages_;
  std::unordered_map<std::string, std::string> tasks_;  // running tasks, with the hosts of their data
  std::unordered_map<std::string, Running> attempts_;   // by id
};

}  // namespace atalaya::hadoop
