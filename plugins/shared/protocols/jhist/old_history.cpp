// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/jhist/old_history.h"

#include <map>

#include "core/base/text/text.h"
#include "plugins/shared/protocols/jhist/jhist_reader.h"

namespace atalaya::protocols {
namespace {

using Values = std::map<std::string, std::string, std::less<>>;

// KEY="VALUE" with \ as escape character. False: cut off or malformed.
bool read_values(std::string_view text, Values &out) {
  for (;;) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    if (text.empty() || text == ".") return true;
    const size_t equals = text.find("=\"");
    if (equals == std::string_view::npos || equals == 0) return false;
    const std::string_view key = text.substr(0, equals);
    std::string value;
    size_t at = equals + 2;
    for (; at < text.size() && text[at] != '"'; ++at) {
      if (text[at] == '\\' && at + 1 < text.size()) ++at;
      value += text[at];
    }
    if (at >= text.size()) return false;
    out.insert_or_assign(std::string(key), std::move(value));
    text.remove_prefix(at + 1);
  }
}

int64_t time_at(const Values &values, std::string_view key) {
  const auto found = values.find(key);
  if (found == values.end()) return 0;
  const int64_t number = core::number_from<int64_t>(found->second).value_or(0);
  return number > 0 && number <= INT64_MAX / 1'000'000 ? number : 0;
}

std::string text_at(const Values &values, std::string_view key) {
  const auto found = values.find(key);
  return found == values.end() ? std::string() : found->second;
}

// Consumes the text in the first pair of brackets.
bool take_bracketed(std::string_view &text, char open, char close, std::string &out) {
  out.clear();
  if (!text.starts_with(open)) return false;
  for (size_t at = 1; at < text.size(); ++at) {
    if (text[at] == close) {
      text.remove_prefix(at + 1);
      return true;
    }
    if (text[at] == '\\' && at + 1 < text.size()) ++at;
    out += text[at];
  }
  return false;
}

bool read_counter(std::string_view &text, const std::string &group, Counters &out) {
  std::string name, words, number;
  if (!text.starts_with('[')) return false;
  text.remove_prefix(1);
  if (!take_bracketed(text, '(', ')', name) || !take_bracketed(text, '(', ')', words) || !take_bracketed(text, '(', ')', number) ||
      !text.starts_with(']'))
    return false;
  text.remove_prefix(1);
  const auto value = core::number_from<int64_t>(number);
  if (!value || out.size() >= kMaxCounters) return false;
  out.push_back({group.substr(0, kMaxCounterText), name.substr(0, kMaxCounterText), *value});
  return true;
}

void read_counters(const Values &values, std::string_view key, Counters Event::*out, Event &event) {
  const auto found = values.find(key);
  if (found != values.end() && !read_old_counters(found->second, event.*out))
    event.problem = "the counters are cut off or malformed";
}

bool is_running(std::string_view status) {
  return status.empty() || status == "PREP" || status == "RUNNING";
}

Event::Type type_of(std::string_view record, const Values &values) {
  using Type = Event::Type;
  const bool ends = values.count("FINISH_TIME") > 0;
  if (record == "Job") {
    if (values.count("SUBMIT_TIME") > 0) return Type::job_submitted;
    return ends && !is_running(text_at(values, "JOB_STATUS")) ? Type::job_ended : Type::other;
  }
  if (record == "Task") return values.count("START_TIME") > 0 ? Type::task_started : ends ? Type::task_ended : Type::other;
  if (record != "MapAttempt" && record != "ReduceAttempt") return Type::other;
  return values.count("START_TIME") > 0 ? Type::attempt_started : ends ? Type::attempt_ended : Type::other;
}

void fill(const Values &values, Event &out) {
  out.job = text_at(values, "JOBID");
  out.name = text_at(values, "JOBNAME");
  out.task = text_at(values, "TASKID");
  out.attempt = text_at(values, "TASK_ATTEMPT_ID");
  out.task_type = text_at(values, "TASK_TYPE");
  out.host = text_at(values, "TRACKER_NAME");
  if (out.host.empty()) out.host = text_at(values, "HOSTNAME");
  out.places = text_at(values, "SPLITS");
  out.locality = text_at(values, "LOCALITY");
  out.status = text_at(values, out.type == Event::Type::job_ended ? "JOB_STATUS" : "TASK_STATUS");
  out.error = text_at(values, out.type == Event::Type::job_ended ? "FAIL_REASON" : "ERROR");
  out.start = time_at(values, out.type == Event::Type::job_submitted ? "SUBMIT_TIME" : "START_TIME");
  out.finish = time_at(values, "FINISH_TIME");
  out.map_finish = out.finish;  // this form lacks the start of a map's merge
  out.shuffle_finish = time_at(values, "SHUFFLE_FINISHED");
  out.sort_finish = time_at(values, "SORT_FINISHED");
  read_counters(values, "COUNTERS", &Event::counters, out);
  read_counters(values, "MAP_COUNTERS", &Event::map_counters, out);
  read_counters(values, "REDUCE_COUNTERS", &Event::reduce_counters, out);
}

}  // namespace

size_t old_record_size(std::string_view text) {
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      quoted = !quoted;
    } else if (text[at] == '\n' && !quoted) {
      return at + 1;
    }
  }
  return 0;
}

bool read_old_counters(std::string_view text, Counters &out) {
  while (!text.empty()) {
    std::string group, words;
    if (!text.starts_with('{')) return false;
    text.remove_prefix(1);
    if (!take_bracketed(text, '(', ')', group) || !take_bracketed(text, '(', ')', words)) return false;
    while (!text.starts_with('}'))
      if (!read_counter(text, group, out)) return false;
    text.remove_prefix(1);
  }
  return true;
}

core::Result<Event> read_old_record(std::string_view record) {
  Event event;
  const size_t space = record.find(' ');
  Values values;
  if (space == std::string_view::npos || !read_values(record.substr(space), values))
    return core::Error{"cut off, or not a record of a job history"};
  event.type = type_of(record.substr(0, space), values);
  if (event.type != Event::Type::other) fill(values, event);
  if (event.job.size() > kMaxId || event.task.size() > kMaxId || event.attempt.size() > kMaxId)
    return core::Error{"the event names no job, task or attempt"};
  return event;
}

}  // namespace atalaya::protocols
