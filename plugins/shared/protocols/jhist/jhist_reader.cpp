// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/jhist/jhist_reader.h"

#include "plugins/shared/io/json/json_values.h"

namespace atalaya::protocols {
namespace {

using simdjson::SUCCESS;

// Avro writes a value of a union as {"TYPE": value}.
io::JsonElement without_union(io::JsonElement value) {
  io::JsonObject object;
  if (value.get(object) == SUCCESS && object.size() == 1) {
    const simdjson::dom::key_value_pair only = *object.begin();
    if (only.key == "string" || only.key == "long" || only.key == "int" || only.key.find('.') != std::string_view::npos)
      return only.value;
  }
  return value;
}

std::string text_at(const io::JsonObject &of, std::string_view key) {
  std::string_view text;
  const auto found = io::member(of, key);
  if (!found || without_union(*found).get(text) != SUCCESS) return {};
  return std::string(text);
}

int64_t time_at(const io::JsonObject &of, std::string_view key) {
  int64_t number = 0;
  const auto found = io::member(of, key);
  // Milliseconds within the range of int64 nanoseconds.
  if (!found || without_union(*found).get(number) != SUCCESS || number < 0 || number > INT64_MAX / 1'000'000) return 0;
  return number;
}

void read_group(const io::JsonObject &group, Counters &out) {
  simdjson::dom::array counts;
  const std::string_view name = io::text_of(group, "name");
  const auto list = io::member(group, "counts");
  if (!list || list->get(counts) != SUCCESS) return;
  for (const io::JsonElement element : counts) {
    io::JsonObject counter;
    if (element.get(counter) != SUCCESS) continue;
    const auto value = io::integer_of(counter, "value");
    const std::string_view counter_name = io::text_of(counter, "name");
    if (value && !counter_name.empty() && out.size() < kMaxCounters)
      out.push_back({std::string(name.substr(0, kMaxCounterText)), std::string(counter_name.substr(0, kMaxCounterText)), *value});
  }
}

Counters counters_at(const io::JsonObject &of, std::string_view key) {
  Counters out;
  io::JsonObject counters;
  simdjson::dom::array groups;
  const auto found = io::member(of, key);
  if (!found || without_union(*found).get(counters) != SUCCESS) return out;
  const auto list = io::member(counters, "groups");
  if (!list || list->get(groups) != SUCCESS) return out;
  for (const io::JsonElement element : groups) {
    io::JsonObject group;
    if (element.get(group) == SUCCESS) read_group(group, out);
  }
  return out;
}

Event::Type type_of(std::string_view word) {
  using Type = Event::Type;
  if (word == "JOB_SUBMITTED") return Type::job_submitted;
  if (word == "JOB_FINISHED" || word == "JOB_FAILED" || word == "JOB_KILLED" || word == "JOB_ERROR") return Type::job_ended;
  if (word == "TASK_STARTED") return Type::task_started;
  if (word == "TASK_FINISHED" || word == "TASK_FAILED") return Type::task_ended;
  if (word.ends_with("_ATTEMPT_STARTED")) return Type::attempt_started;
  if (word.ends_with("_ATTEMPT_FINISHED") || word.ends_with("_ATTEMPT_FAILED") || word.ends_with("_ATTEMPT_KILLED"))
    return Type::attempt_ended;
  return Type::other;
}

// In some versions only the event's type has the outcome of a job or attempt.
std::string status_of(std::string_view type, const io::JsonObject &event) {
  for (const char *key : {"jobStatus", "status", "taskStatus"})
    if (std::string text = text_at(event, key); !text.empty()) return text;
  if (type.ends_with("_KILLED")) return "KILLED";
  return type.ends_with("_FINISHED") ? "SUCCEEDED" : "FAILED";
}

// "job_1_2" of "task_1_2_m_3" and "attempt_1_2_m_3_0".
std::string job_of(std::string_view id) {
  const size_t first = id.find('_');
  const size_t second = first == std::string_view::npos ? first : id.find('_', first + 1);
  const size_t third = second == std::string_view::npos ? second : id.find('_', second + 1);
  if (third == std::string_view::npos) return {};
  return "job" + std::string(id.substr(first, third - first));
}

void read_event(std::string_view type, const io::JsonObject &from, Event &out) {
  out.job = text_at(from, "jobid");
  out.name = text_at(from, "jobName");
  out.task = text_at(from, "taskid");
  out.attempt = text_at(from, "attemptId");
  out.task_type = text_at(from, "taskType");
  out.host = text_at(from, "trackerName");
  if (out.host.empty()) out.host = text_at(from, "hostname");
  out.places = text_at(from, "splitLocations");
  out.locality = text_at(from, "locality");
  out.start = time_at(from, out.type == Event::Type::job_submitted ? "submitTime" : "startTime");
  out.finish = time_at(from, "finishTime");
  out.map_finish = time_at(from, "mapFinishTime");
  out.shuffle_finish = time_at(from, "shuffleFinishTime");
  out.sort_finish = time_at(from, "sortFinishTime");
  out.status = status_of(type, from);
  const bool job = out.type == Event::Type::job_ended;
  out.error = text_at(from, job ? "diagnostics" : "error");
  out.counters = counters_at(from, job ? "totalCounters" : "counters");
  if (job) out.map_counters = counters_at(from, "mapCounters");
  if (job) out.reduce_counters = counters_at(from, "reduceCounters");
  if (out.job.empty()) out.job = job_of(out.task);
}

}  // namespace

core::Result<Event> JhistReader::read(std::string_view line) {
  Event event;
  io::JsonObject whole, inner;
  if (parser_.parse(line.data(), line.size()).get(whole) != SUCCESS) return core::Error{"not JSON"};
  const std::string_view type = io::text_of(whole, "type");
  const auto found = io::object_of(whole, "event");
  if (type.empty() || !found) return core::Error{"not an event of a job history"};
  event.type = type_of(type);
  if (event.type == Event::Type::other) return event;
  if (found->size() != 1 || (*found->begin()).value.get(inner) != SUCCESS) return core::Error{"the event is empty"};
  read_event(type, inner, event);
  if (event.job.size() > kMaxId || event.task.size() > kMaxId || event.attempt.size() > kMaxId || event.job.empty())
    return core::Error{"the event names no job, task or attempt"};
  return event;
}

}  // namespace atalaya::protocols
