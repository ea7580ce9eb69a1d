// SPDX-License-Identifier: Apache-2.0
// Each rule of the JSON events of MapReduce, events that Hadoop wrote, and random ones.
#include "plugins/shared/protocols/jhist/jhist_reader.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "tests/unit/protocols/jhist/events.h"
#include "tests/unit/protocols/records.h"
#include "tests/unit/rounds.h"

namespace atalaya::protocols::testing {
namespace {

std::string read_line(const std::string &line) {
  JhistReader reader;
  const auto event = reader.read(line);
  return event ? event_text(event.value()) : "error: " + event.error();
}
std::string event(const std::string &type, const std::string &members) {
  return R"({"type":")" + type + R"(","event":{"org.apache.X":{)" + members + "}}}";
}

class Writer {
 public:
  explicit Writer(Random &random) : random_(random) {}

  // The line, and the members of the event that it has.
  std::string write(Event &event) {
    using Type = Event::Type;
    static const std::map<Type, std::vector<std::string>> words = {
        {Type::job_submitted, {"JOB_SUBMITTED"}},
        {Type::job_ended, {"JOB_FINISHED", "JOB_FAILED", "JOB_KILLED", "JOB_ERROR"}},
        {Type::task_started, {"TASK_STARTED"}},
        {Type::task_ended, {"TASK_FINISHED", "TASK_FAILED"}},
        {Type::attempt_started, {"MAP_ATTEMPT_STARTED", "REDUCE_ATTEMPT_STARTED", "CLEANUP_ATTEMPT_STARTED"}},
        {Type::attempt_ended, {"MAP_ATTEMPT_FINISHED", "REDUCE_ATTEMPT_KILLED", "SETUP_ATTEMPT_FAILED"}}};
    const std::string word = random_.pick(words.at(event.type));
    const bool job = event.type == Type::job_ended;
    members_.clear();
    if (job || event.type == Type::job_submitted || random_.one_of(2)) text("jobid", event.job);
    text("jobName", event.name);
    text("taskid", event.task);
    text("attemptId", event.attempt);
    text("taskType", event.task_type);
    text(random_.one_of(2) ? "trackerName" : "hostname", event.host);
    text("splitLocations", event.places);
    text("locality", event.locality);
    time(event.type == Type::job_submitted ? "submitTime" : "startTime", event.start);
    time("finishTime", event.finish);
    time("mapFinishTime", event.map_finish);
    time("shuffleFinishTime", event.shuffle_finish);
    time("sortFinishTime", event.sort_finish);
    text(job ? "diagnostics" : "error", event.error);
    counters(job ? "totalCounters" : "counters", event.counters);
    if (random_.one_of(2)) {
      text(random_.pick(std::vector<std::string>{"jobStatus", "status", "taskStatus"}), event.status);
    } else {  // the type says it
      event.status = word.ends_with("KILLED") ? "KILLED" : word.ends_with("FINISHED") ? "SUCCEEDED" : "FAILED";
    }
    if (job) counters("mapCounters", event.map_counters);
    if (job) counters("reduceCounters", event.reduce_counters);
    if (!job) event.map_counters = event.reduce_counters = {};
    return testing::event(word, members_);
  }

 private:
  static std::string quoted(const std::string &text) {
    std::string out = "\"";
    for (const char c : text) out += c == '\n' ? "\\n" : c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return out + "\"";
  }
  void add(const std::string &key, const std::string &value, const std::string &type) {
    if (!members_.empty()) members_ += ',';
    members_ += quoted(key) + ":" + (random_.one_of(3) ? "{\"" + type + "\":" + value + "}" : value);
  }
  void text(const std::string &key, const std::string &value) {
    if (!value.empty() || random_.one_of(2)) add(key, quoted(value), "string");
  }
  void time(const std::string &key, int64_t value) {
    if (value != 0 || random_.one_of(2)) add(key, value == 0 ? "-1" : std::to_string(value), random_.one_of(2) ? "long" : "int");
  }
  void counters(const std::string &key, const Counters &list) {
    std::string groups;
    for (size_t i = 0; i < list.size(); ++i) {
      const bool same = i > 0 && list[i].group == list[i - 1].group;
      if (!same)
        groups += (i > 0 ? "]}," : "") + std::string("{\"displayName\":\"d\",\"name\":") + quoted(list[i].group) + ",\"counts\":[";
      groups += (same ? "," : "") + std::string("{\"name\":") + quoted(list[i].name) +
                ",\"value\":" + std::to_string(list[i].value) + "}";
    }
    add(key, "{\"name\":\"C\",\"groups\":[" + groups + (list.empty() ? "]}" : "]}]}"), "org.apache.JhCounters");
  }

  Random &random_;
  std::string members_;
};

}  // namespace

TEST_CASE("jhist reader: events of Hadoop 3.5") {
  std::istringstream lines(fixture("jhist/hadoop3.jsonl"));
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(read_line(line));
  const std::string job = "job=job_1795892470511_0031";
  REQUIRE(all.size() == 5);
  CHECK(all[0] == "job_submitted " + job + " name=jsonhistory status=FAILED start:1795895696093 |");
  CHECK(all[1] == "task_started " + job + " task=task_1795892470511_0031_m_000000 type=MAP status=FAILED start:1795895705617 |");
  CHECK(all[2] == "attempt_started " + job +
                      " task=task_1795892470511_0031_m_000000 attempt=attempt_1795892470511_0031_m_000000_0 type=MAP host=node2 "
                      "locality=OFF_SWITCH status=FAILED start:1795895707988 |");
  CHECK(all[4].starts_with("attempt_ended " + job +
                           " task=task_1795892470511_0031_r_000000 attempt=attempt_1795892470511_0031_r_000000_0 type=REDUCE "
                           "host=node2 status=SUCCEEDED finish:1795895718293 shuffle:1795895717809 sort:1795895717872 | "
                           "org.apache.hadoop.mapreduce.FileSystemCounter/FILE_BYTES_READ=30006 "));
  CHECK(std::count(all[4].begin(), all[4].end(), '/') == 35);
  CHECK(all[3] == "attempt_ended " + job +
                      " task=task_1795892470511_0031_m_000000 attempt=attempt_1795892470511_0031_m_000000_1 type=MAP host=UNKNOWN "
                      "status=KILLED error=Speculation: attempt_1795892470511_0031_m_000000_0 succeeded first! |");
}

TEST_CASE("jhist reader: each type of an event, and the outcome that its name has") {
  const auto type = [](const char *word) {
    const std::string text = read_line(event(word, R"("jobid":"j")"));
    return text.substr(0, text.find(" |"));
  };
  CHECK(type("JOB_SUBMITTED") == "job_submitted job=j status=FAILED");
  CHECK(type("JOB_FINISHED") == "job_ended job=j status=SUCCEEDED");
  CHECK(type("JOB_KILLED") == "job_ended job=j status=KILLED");
  CHECK(type("JOB_ERROR") == "job_ended job=j status=FAILED");
  CHECK(type("TASK_FAILED") == "task_ended job=j status=FAILED");
  CHECK(type("SETUP_ATTEMPT_STARTED") == "attempt_started job=j status=FAILED");
  CHECK(type("CLEANUP_ATTEMPT_KILLED") == "attempt_ended job=j status=KILLED");
  CHECK(type("JOB_INITED") == "other");
  CHECK(type("TASK_UPDATED") == "other");
}

TEST_CASE("jhist reader: times are milliseconds within the range of nanoseconds") {
  const auto start = [](const char *value) {
    return read_line(event("TASK_STARTED", std::string(R"("jobid":"j","startTime":)") + value)).find("start:") != std::string::npos;
  };
  CHECK(start("9223372036854"));
  CHECK_FALSE(start("9223372036855"));
  CHECK_FALSE(start("-1"));
  CHECK_FALSE(start("1.5"));
  CHECK_FALSE(start("\"1\""));
}

TEST_CASE("jhist reader: lines that are no event are refused with the reason") {
  CHECK(read_line("x") == "error: not JSON");
  CHECK(read_line("[]") == "error: not JSON");
  CHECK(read_line("{}") == "error: not an event of a job history");
  CHECK(read_line(R"({"type":"TASK_STARTED","event":{}})") == "error: the event is empty");
  CHECK(read_line(R"({"type":"TASK_STARTED","event":{"a":{},"b":{}}})") == "error: the event is empty");
  CHECK(read_line(event("TASK_STARTED", "")) == "error: the event names no job, task or attempt");
  CHECK(read_line(event("TASK_STARTED", R"("taskid":"task_1")")) == "error: the event names no job, task or attempt");
  CHECK(read_line(event("TASK_STARTED", R"("jobid":")" + std::string(257, 'x') + "\"")) ==
        "error: the event names no job, task or attempt");
}

TEST_CASE("jhist reader: random events as they were written") {
  for (uint32_t seed = 0; seed < test::rounds(4000); ++seed) {
    Random random(seed);
    Event event = random_event(random);
    const std::string line = Writer(random).write(event);
    CAPTURE(line);
    REQUIRE(read_line(line) == event_text(event));
  }
}

TEST_CASE("jhist reader: a mutated line is refused, or its ids are bounded") {
  for (uint32_t seed = 0; seed < test::rounds(4000); ++seed) {
    Random random(seed);
    Event event = random_event(random);
    std::string line = Writer(random).write(event);
    mutate(line, random, std::string_view("{}[]\",:1\\\0\xff", 11));
    JhistReader reader;
    const auto found = reader.read(line);
    if (!found || found.value().type == Event::Type::other) continue;
    CAPTURE(line);
    REQUIRE_FALSE(found.value().job.empty());
    REQUIRE(found.value().job.size() <= kMaxId);
    for (const int64_t time : {found.value().start, found.value().finish}) REQUIRE((time >= 0 && time <= INT64_MAX / 1'000'000));
  }
}

}  // namespace atalaya::protocols::testing
