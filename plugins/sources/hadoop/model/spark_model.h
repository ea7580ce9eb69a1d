// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <simdjson.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/result.h"
#include "plugins/shared/io/json/json_values.h"
#include "plugins/shared/protocols/base/span.h"
#include "plugins/sources/hadoop/model/facts.h"
#include "plugins/sources/hadoop/model/topology.h"

namespace atalaya::hadoop {

// Converts the event log of one Spark application (Spark 1 to 4, one JSON object per line) to spans. The job is the application,
// not Spark's job.
class SparkModel {
 public:
  // fallback: the application id to use if the log has none (Spark 1.0).
  SparkModel(const Topology &topology, const Facts &facts, std::string_view fallback);

  // Processes a line. Returns ok for irrelevant events too.
  core::Status take(std::string_view line, protocols::Spans &out);
  // Handles an event whose first bytes are enough: it is not needed, or only its arrival. False: the complete line is needed.
  bool handle_by_prefix(std::string_view start);
  // Appends running spans that were not reported yet.
  void open(protocols::Spans &out);
  const std::string &job() const { return job_.job; }
  bool job_known() const { return job_id_known_; }
  bool ended() const { return ended_; }

 private:
  struct Running {
    protocols::Span span;
    bool reported = false;
  };

  void application_start(const io::JsonObject &event, protocols::Spans &out);
  core::Status application_end(const io::JsonObject &event, protocols::Spans &out);
  void close(int64_t end, protocols::Spans &out) const;
  void job_start();
  void job_end(const io::JsonObject &event, protocols::Spans &out);
  void executor_added(const io::JsonObject &event);
  void executor_removed(const io::JsonObject &event, protocols::Spans &out);
  protocols::Span executor_span(const protocols::Span &added) const;
  std::optional<protocols::Outcome> outcome(std::optional<int64_t> exit_code) const;
  void environment(const io::JsonObject &event);
  void append_facts(protocols::Spans &out);
  void stage_submitted(const io::JsonObject &event);
  core::Status stage_completed(const io::JsonObject &event, protocols::Spans &out);
  core::Status task_start(const io::JsonObject &event);
  core::Status task_end(const io::JsonObject &event, protocols::Spans &out);
  std::string stage_id(int64_t stage, int64_t attempt) const;
  bool stage_span(const io::JsonObject &info, protocols::Span &out) const;
  bool task_span(const io::JsonObject &event, const io::JsonObject &info, protocols::Span &out) const;

  const Topology &topology_;
  const Facts &facts_;
  simdjson::dom::parser parser_;
  protocols::Span job_;
  std::string run_;  // prefix of ids: "2/" in the second attempt of an application, whose ids start at 0 again; empty in the first
  bool job_id_known_ = false, job_reported_ = false, ended_ = false, closed_ = false, any_failed_ = false;
  int64_t cores_of_task_ = 1;                    // value of spark.task.cpus
  std::optional<protocols::Outcome> unhandled_;  // outcome of a failed Spark job after which the application started no other job
  protocols::Spans settings_;                    // settings spans that wait for the application's start time
  std::unordered_map<std::string, Running> stages_, tasks_, executors_;  // running ones, by stage, by attempt, by executor id
  std::unordered_map<std::string, int64_t> stage_ends_;                  // end times of completed stages
};

}  // namespace atalaya::hadoop
