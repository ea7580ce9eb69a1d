// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "plugins/sources/hadoop/event.h"
#include "plugins/sources/hadoop/topology.h"

namespace atalaya::hadoop {

inline constexpr size_t kMaxOpen = 200'000;  // attempts, or Spark's tasks and stages, that have begun and not ended

// The events of one MapReduce job to spans. What has ended is appended at once; what goes on is told by open().
class MapReduceModel {
 public:
  explicit MapReduceModel(const Topology &topology) : topology_(topology) {}

  // False: it contradicts what came before, or itself; `why` says how.
  bool take(const Event &event, Spans &out, std::string &why);
  // Appends what has begun, has not ended and has not been told yet.
  void open(Spans &out);
  const std::string &job() const { return job_.job; }
  bool ended() const { return ended_; }

 private:
  struct Running {
    Span span;
    bool told = false;
  };
  struct Stage {
    Running running;
    int64_t finish = 0;         // of the last task that ended
    int64_t running_tasks = 0;  // as far as tasks_ knows them
    bool failed = false, killed = false;
  };

  void task_started(const Event &event);
  void task_ended(const Event &event);
  bool attempt_started(const Event &event, std::string &why);
  bool attempt_ended(const Event &event, Spans &out, std::string &why);
  void job_submitted(const Event &event);
  void job_ended(const Event &event, Spans &out);
  void close(int64_t end, Spans &out) const;
  static bool end_stage(Stage &stage, int64_t job_finish, Outcome job);
  Span base(std::string_view level, std::string_view task_type) const;

  const Topology &topology_;
  Span job_;
  bool job_known_ = false, job_told_ = false, ended_ = false;
  std::map<std::string, Stage, std::less<>> stages_;
  std::unordered_map<std::string, std::string> tasks_;  // that run; where their data is
  std::unordered_map<std::string, Running> attempts_;   // by id
};

}  // namespace atalaya::hadoop
