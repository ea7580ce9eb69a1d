// SPDX-License-Identifier: Apache-2.0
// Each rule of the histories of Hadoop 1, records that its own classes wrote, and random ones.
#include "plugins/shared/protocols/jhist/old_history.h"

#include "plugins/shared/protocols/jhist/jhist_reader.h"
#include "tests/unit/protocols/jhist/events.h"
#include "tests/unit/protocols/records.h"
#include "tests/unit/rounds.h"

namespace atalaya::protocols::testing {
namespace {

std::string read_record(std::string_view record) {
  const auto event = read_old_record(record);
  return event ? event_text(event.value()) : "error: " + event.error();
}

std::string escaped(const std::string &text, std::string_view special) {
  std::string out;
  for (const char c : text) out += special.find(c) == std::string_view::npos ? std::string(1, c) : std::string("\\") + c;
  return out;
}
std::string value(const std::string &key, const std::string &text) {
  return " " + key + "=\"" + escaped(text, "\"=.\\") + "\"";
}
std::string counters(const Counters &list) {
  std::string out;
  for (size_t i = 0; i < list.size(); ++i) {
    if (i == 0 || list[i].group != list[i - 1].group)
      out += (i > 0 ? "}{(" : "{(") + escaped(list[i].group, "\\()[]{}") + ")(shown)";
    out += "[(" + escaped(list[i].name, "\\()[]{}") + ")(shown)(" + std::to_string(list[i].value) + ")]";
  }
  return out.empty() ? out : out + "}";
}

// The record, and the members of the event that it has.
std::string write(Event &event, Random &random) {
  using Type = Event::Type;
  const bool job = event.type == Type::job_submitted || event.type == Type::job_ended;
  const bool starts = event.type == Type::task_started || event.type == Type::attempt_started;
  const bool attempt = event.type == Type::attempt_started || event.type == Type::attempt_ended;
  std::string out = job ? "Job" : attempt ? random.one_of(2) ? "MapAttempt" : "ReduceAttempt" : "Task";
  if (event.start == 0) event.start = 1;
  if (event.finish == 0) event.finish = 1;
  if (event.type == Type::job_submitted) out += value("SUBMIT_TIME", std::to_string(event.start));
  if (starts) out += value("START_TIME", std::to_string(event.start));
  if (event.type != Type::job_submitted && !starts) event.start = 0;
  out += value("FINISH_TIME", std::to_string(event.finish));
  event.map_finish = event.finish;
  const auto time = [&](const char *key, int64_t number) { out += number == 0 ? "" : value(key, std::to_string(number)); };
  time("SHUFFLE_FINISHED", event.shuffle_finish);
  time("SORT_FINISHED", event.sort_finish);
  const auto text = [&](const char *key, const std::string &words) { out += words.empty() ? "" : value(key, words); };
  text("JOBID", event.job);
  text("JOBNAME", event.name);
  text("TASKID", event.task);
  text("TASK_ATTEMPT_ID", event.attempt);
  text("TASK_TYPE", event.task_type);
  text(random.one_of(2) ? "TRACKER_NAME" : "HOSTNAME", event.host);
  text("SPLITS", event.places);
  text("LOCALITY", event.locality);
  text(event.type == Type::job_ended ? "JOB_STATUS" : "TASK_STATUS", event.status);
  text(event.type == Type::job_ended ? "FAIL_REASON" : "ERROR", event.error);
  text("COUNTERS", counters(event.counters));
  text("MAP_COUNTERS", counters(event.map_counters));
  text("REDUCE_COUNTERS", counters(event.reduce_counters));
  return out + " .";
}

}  // namespace

TEST_CASE("old history: records of Hadoop 1.2.1") {
  const std::string file = fixture("jhist/hadoop1.txt");
  std::string_view rest = file;
  std::vector<std::string> all;
  while (const size_t size = old_record_size(rest)) {
    all.push_back(read_record(rest.substr(0, size - 1)));
    rest.remove_prefix(size);
  }
  CHECK(rest.empty());
  const std::string job = "job=job_201001010000_0001",
                    sums = " org.apache.hadoop.mapred.Task$Counter/SPILLED_RECORDS=4 my (group) [1]/a{b}\\c \"q\"=-5";
  REQUIRE(all.size() == 5);
  CHECK(all[0] == "other |");
  CHECK(all[1] == "job_submitted " + job + " name=a=\"b\". c\\d start:1262304000123 |");
  CHECK(all[2] == "task_started task=task_201001010000_0001_m_000000 type=MAP places=/r1/n1,/r1/n2 start:1262304001000 |");
  CHECK(all[3] ==
        "attempt_ended task=task_201001010000_0001_r_000000 attempt=attempt_201001010000_0001_r_000000_0 type=REDUCE "
        "host=/r1/n1 status=FAILED error=java.io.IOException: \"x\"\n\tat a.b.C.d(C.java:1) .\n finish:1262304004000 "
        "map:1262304004000 shuffle:1262304002000 sort:1262304003000 |" +
            sums);
  CHECK(all[4] == "job_ended " + job + " status=FAILED error=NA finish:1262304005000 map:1262304005000 |" + sums + " | map" + sums);
}

TEST_CASE("old history: a record ends with a line end outside quotes") {
  CHECK(old_record_size("a\nb") == 2);
  CHECK(old_record_size("a=\"x\ny\" .\nb") == 10);
  CHECK(old_record_size("a=\"x\\\"\ny\" .\n") == 12);
  CHECK(old_record_size("a=\"x\n") == 0);
  CHECK(old_record_size("") == 0);
}

TEST_CASE("old history: malformed values and counters") {
  CHECK(read_record("Task") == "error: cut off, or not a record of a job history");
  CHECK(read_record("Task A=\"b") == "error: cut off, or not a record of a job history");
  CHECK(read_record("Task =\"b\"") == "error: cut off, or not a record of a job history");
  CHECK(read_record("Task TASKID=\"" + std::string(257, 'x') + "\" START_TIME=\"1\" .") ==
        "error: the event names no job, task or attempt");
  for (const char *text : {"x", "{(g)}", "{(g)(w)[(n)(w)(1)", "{(g)(w)[(n)(w)(1x)]}", "{(g)(w)[(n)(w)(99999999999999999999)]}"}) {
    Counters out;
    CHECK_FALSE(read_old_counters(text, out));
  }
  Counters out;
  CHECK(read_old_counters("{(g)(w)}{(h)(w)[(n)(w)(-1)]}", out));
  CHECK(counters_text(out) == " h/n=-1");
}

TEST_CASE("old history: random records as they were written") {
  for (uint32_t seed = 0; seed < test::rounds(4000); ++seed) {
    Random random(seed);
    Event event = random_event(random);
    const std::string record = write(event, random);
    CAPTURE(record);
    REQUIRE(old_record_size(record + "\nnext \"") == record.size() + 1);
    REQUIRE(read_record(record) == event_text(event));
  }
}

TEST_CASE("old history: a mutated record is refused, or its ids are bounded") {
  for (uint32_t seed = 0; seed < test::rounds(4000); ++seed) {
    Random random(seed);
    Event event = random_event(random);
    std::string record = write(event, random);
    mutate(record, random, std::string_view("\"=\\ .()[]{}1\n\0\xff", 15));
    REQUIRE(old_record_size(record) <= record.size());
    const auto found = read_old_record(record);
    if (!found) continue;
    CAPTURE(record);
    REQUIRE(found.value().job.size() <= kMaxId);
    REQUIRE(found.value().counters.size() <= kMaxCounters);
  }
}

}  // namespace atalaya::protocols::testing
