// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <simdjson.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/result.h"
#include "plugins/sources/hadoop/facts.h"
#include "plugins/sources/hadoop/json_values.h"
#include "plugins/sources/hadoop/span.h"
#include "plugins/sources/hadoop/topology.h"

namespace atalaya::hadoop {

// Turns the events of one Spark application (Spark 1 to 4, one JSON object per line) into spans: the application is the job.
class SparkModel {
 public:
  // fallback: the application's id if the log has none (Spark 1.0).
  SparkModel(const Topology &topology, const Facts &facts, std::string_view fallback);

  // Ok if the line was read or is irrelevant.
  core::Status take(std::string_view line, Spans &out);
  // Appends running spans that were not reported yet.
  void open(Spans &out);
  const std::string &job() const { return job_.job; }
  bool job_known() const { return job_known_; }
  bool ended() const { return ended_; }

 private:
  struct Running {
    Span span;
    bool reported = false;
  };

  void application_start(const JsonObject &event, Spans &out);
  core::Status application_end(const JsonObject &event, Spans &out);
  void close(int64_t end, Spans &out) const;
  void job_start();
  void job_end(const JsonObject &event, Spans &out);
  void executor_added(const JsonObject &event);
  void executor_removed(const JsonObject &event, Spans &out);
  Span executor_span(const Span &added) const;
  std::optional<Outcome> outcome(std::optional<int64_t> exit_code) const;
  void environment(const JsonObject &event);
  void append_facts(Spans &out);
  void stage_submitted(const JsonObject &event);
  core::Status stage_completed(const JsonObject &event, Spans &out);
  core::Status task_start(const JsonObject &event);
  core::Status task_end(const JsonObject &event, Spans &out);
  std::string stage_id(int64_t stage, int64_t attempt) const;
  bool stage_span(const JsonObject &info, Span &out) const;
  bool task_span(const JsonObject &event, const JsonObject &info, Span &out) const;

  const Topology &topology_;
  const Facts &facts_;
  simdjson::dom::parser parser_;
  Span job_;
  std::string run_;  // prefix "2/" of ids in the second run of an application, which numbers from 0 again; empty in the first run
  bool job_known_ = false, job_reported_ = false, ended_ = false, closed_ = false, any_failed_ = false;
  int64_t cores_of_task_ = 1;         // spark.task.cpus
  std::optional<Outcome> unhandled_;  // of a broken job after which the application started no other one
  Spans settings_;                    // until the application's start is known
  std::unordered_map<std::string, Running> stages_, tasks_, executors_;  // by stage; by attempt; by id
  std::unordered_map<std::string, int64_t> stage_ends_;                  // of completed ones
};

}  // namespace atalaya::hadoop
