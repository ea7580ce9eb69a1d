// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/unit/sources/hadoop/spans_text.h"

namespace atalaya::hadoop {
namespace {

using namespace std::string_literals;
using Lines = std::vector<std::string>;

const std::string kHead = "Avro-Json\n{}\n";

std::string event(const std::string &type, const std::string &fields) {
  return R"({"type":")" + type + R"(","event":{"org.apache.hadoop.mapreduce.jobhistory.X":{)" + fields + "}}}\n";
}
std::string task_started(const std::string &kind, const std::string &word, const std::string &places = "") {
  return event("TASK_STARTED", R"("taskid":"task_1_2_)" + kind + R"(_0","taskType":")" + word +
                                   R"(","startTime":90,"splitLocations":")" + places + "\"");
}
std::string attempt(const std::string &kind, const std::string &more) {
  return R"("taskid":"task_1_2_)" + kind + R"(_0","attemptId":"attempt_1_2_)" + kind + R"(_0_0","taskType":")" +
         (kind == "m" ? "MAP" : "REDUCE") + "\"," + more;
}
std::string counters(const std::string &group, const std::string &name, int64_t value) {
  return R"({"name":"C","groups":[{"name":")" + group + R"(","counts":[{"name":")" + name + R"(","value":)" +
         std::to_string(value) + "}]}]}";
}

const std::string kTaskOf2 = "task=task_1_2_m_0 attempt=attempt_1_2_m_0_0";

TEST_CASE("jhist: values behind a union or not, host as a bare name or behind its rack") {
  for (const char *host : {R"("trackerName":"n1")", R"("trackerName":{"string":"n1"})",
                           R"("trackerName":"tracker_n1:localhost/127.0.0.1:1")", R"("trackerName":"/dc/r/n1:8041")"}) {
    const Read read(
        kHead + event("MAP_ATTEMPT_STARTED", attempt("m", R"("startTime":{"long":100},)" + std::string(host))) +
        event("MAP_ATTEMPT_FINISHED", attempt("m", R"("mapFinishTime":130,"finishTime":150,"taskStatus":"SUCCEEDED")")));
    CHECK(read.lines() == Lines{"phase 100+30 host=n1 job=job_1_2 stage=map " + kTaskOf2 + " phase=map quality=coarse |",
                                "phase 130+20 host=n1 job=job_1_2 stage=map " + kTaskOf2 + " phase=merge quality=coarse |",
                                "task 100+50 host=n1 job=job_1_2 stage=map " + kTaskOf2 + " | outcome:0"});
    CHECK(read.history.damage().count == 0);
    CHECK(read.history.job() == "job_1_2");
  }
}

TEST_CASE("jhist: a phase without a time is left out, as are those whose times contradict the attempt's") {
  const auto phases = [](const std::string &times) {
    const Read read(kHead + event("REDUCE_ATTEMPT_STARTED", attempt("r", R"("startTime":100,"trackerName":"n1")")) +
                    event("REDUCE_ATTEMPT_FINISHED", attempt("r", times + R"("finishTime":200,"taskStatus":"SUCCEEDED")")));
    std::string out;
    for (const protocols::Span &span : read.spans)
      out += span.phase + (span.phase.empty() ? "" : std::to_string(span.duration_ms) + " ");
    return out;
  };
  CHECK(phases(R"("shuffleFinishTime":150,"sortFinishTime":170,)") == "shuffle50 sort20 reduce30 ");
  CHECK(phases(R"("shuffleFinishTime":150,"sortFinishTime":150,)") == "shuffle50 reduce50 ");
  CHECK(phases("").empty());
  CHECK(phases(R"("shuffleFinishTime":150,)").empty());
  CHECK(phases(R"("shuffleFinishTime":150,"sortFinishTime":140,)").empty());
  CHECK(phases(R"("shuffleFinishTime":50,"sortFinishTime":140,)").empty());
  CHECK(phases(R"("shuffleFinishTime":150,"sortFinishTime":240,)").empty());
}

TEST_CASE("jhist: bytes of a map are its input format's, else those of all file systems but the local one") {
  const auto bytes = [](const std::string &found) {
    const Read read(kHead + event("MAP_ATTEMPT_STARTED", attempt("m", R"("startTime":100,"trackerName":"n1")")) +
                    event("MAP_ATTEMPT_FAILED",
                          attempt("m", R"("status":"KILLED","finishTime":150,"counters":{"X.JhCounters":)" + found + "}")));
    REQUIRE(read.spans.size() == 1);
    return read.spans[0].bytes.value_or(-1);
  };
  CHECK(bytes(counters("org.apache.hadoop.mapreduce.lib.input.FileInputFormatCounter", "BYTES_READ", 5)) == 5);
  CHECK(bytes(counters("org.apache.hadoop.mapreduce.FileSystemCounter", "S3A_BYTES_READ", 6)) == 6);
  CHECK(bytes(counters("FileSystemCounters", "HDFS_BYTES_READ", 7)) == 7);
  CHECK(bytes(counters("FileSystemCounters", "FILE_BYTES_READ", 8)) == -1);
  CHECK(bytes(counters("mine", "HDFS_BYTES_READ", 9)) == -1);
}

TEST_CASE("jhist: texts are cut, and the number of stages is at most the number of kinds of tasks") {
  const std::string many(1000, 'x');
  std::string text = kHead + event("JOB_SUBMITTED", R"("jobid":"job_1_2","submitTime":80,"jobName":")" + many + "\"");
  for (int i = 0; i < 100; ++i) text += task_started("m", "KIND" + std::to_string(i));
  text += event("MAP_ATTEMPT_STARTED", attempt("m", R"("startTime":100,"trackerName":")" + many + "\"")) +
          event("MAP_ATTEMPT_FAILED", attempt("m", R"("finishTime":150,"counters":)" + counters(many, many, 5))) +
          event("JOB_FINISHED", R"("jobid":"job_1_2","finishTime":180)");
  const Read read(text);
  const std::string cut(256, 'x'), counter(200, 'x');
  CHECK(read.lines() ==
        Lines{"task 100+50 host=" + cut + " job=job_1_2 stage=map " + kTaskOf2 + " | outcome:1 " + counter + "/" + counter + "=5",
              "stage 90+90 job=job_1_2 stage=other | outcome:0", "job 80+100 job=job_1_2 name=" + cut + " | outcome:0"});
}

TEST_CASE("jhist: how jobs and attempts end") {
  const auto outcome = [](const std::string &type, const std::string &status) {
    const Read read(kHead + event("JOB_SUBMITTED", R"("jobid":"job_1_2","submitTime":80,"jobName":"n")") +
                    event(type, R"("jobid":"job_1_2","finishTime":180)" + status));
    REQUIRE(read.history.ended());
    return read.lines().back();
  };
  CHECK(outcome("JOB_FINISHED", "") == "job 80+100 job=job_1_2 name=n | outcome:0");
  CHECK(outcome("JOB_FAILED", R"(,"jobStatus":"FAILED")") == "job 80+100 job=job_1_2 name=n | outcome:1");
  CHECK(outcome("JOB_KILLED", R"(,"jobStatus":"KILLED")") == "job 80+100 job=job_1_2 name=n | outcome:2");
  CHECK(outcome("JOB_KILLED", "") == "job 80+100 job=job_1_2 name=n | outcome:2");
  CHECK(outcome("JOB_ERROR", "") == "job 80+100 job=job_1_2 name=n | outcome:1");
}

TEST_CASE("jhist: a running task is reported once, and has the same identity when it ends") {
  Read read(kHead + event("JOB_SUBMITTED", R"("jobid":"job_1_2","submitTime":80,"jobName":"n")") +
            task_started("m", "MAP", "n1,n2") +
            event("MAP_ATTEMPT_STARTED", attempt("m", R"("startTime":100,"trackerName":"n1")")));
  CHECK(read.spans.empty());
  read.history.open(read.spans);
  CHECK(read.lines() == Lines{"job 80... job=job_1_2 name=n |", "stage 90... job=job_1_2 stage=map |",
                              "task 100... host=n1 job=job_1_2 stage=map " + kTaskOf2 + " locality=node |"});
  read.spans.clear();
  read.history.open(read.spans);
  CHECK(read.spans.empty());
  read.history.feed(event("MAP_ATTEMPT_FAILED", attempt("m", R"("finishTime":150,"hostname":"other","rackname":"/r")")),
                    read.spans);
  CHECK(read.lines() == Lines{"task 100+50 host=n1 job=job_1_2 stage=map " + kTaskOf2 + " locality=node | outcome:1"});
}

TEST_CASE("jhist: attempts that run when the job ends, end with it, reported before or not") {
  const std::string text = kHead + event("JOB_SUBMITTED", R"("jobid":"job_1_2","submitTime":80,"jobName":"n")") +
                           event("MAP_ATTEMPT_STARTED", attempt("m", R"("startTime":100,"trackerName":"n1")")) +
                           event("REDUCE_ATTEMPT_STARTED", attempt("r", R"("startTime":300,"trackerName":"n1")"));
  const std::string end = event("JOB_KILLED", R"("jobid":"job_1_2","finishTime":180)");
  const Lines closed = {"task 100+80 host=n1 job=job_1_2 stage=map " + kTaskOf2 + " | outcome:2",
                        "job 80+100 job=job_1_2 name=n | outcome:2"};
  CHECK(Read(text + end).lines() == closed);
  Read followed(text);
  followed.history.open(followed.spans);
  followed.spans.clear();
  followed.history.feed(end, followed.spans);
  CHECK(followed.lines() == closed);
}

TEST_CASE("jhist: running tasks are closed once, however often the job ends") {
  const std::string end = event("JOB_KILLED", R"("jobid":"job_1_2","finishTime":180)");
  CHECK(
      Read(kHead + event("MAP_ATTEMPT_STARTED", attempt("m", R"("startTime":100,"trackerName":"n1")")) + end + end + end).lines() ==
      Lines{"task 100+80 host=n1 job=job_1_2 stage=map " + kTaskOf2 + " | outcome:2"});
}

TEST_CASE("jhist: a stage that was not done when its job broke off ends with it, and is killed or failed") {
  const auto begin = [](const std::string &id, const std::string &kind) {
    return event("TASK_STARTED", R"("taskid":"task_1_2_)" + id + R"(","taskType":")" + kind + R"(","startTime":90)");
  };
  const auto end = [](const std::string &id, const std::string &kind, const std::string &status) {
    return event("TASK_FINISHED",
                 R"("taskid":"task_1_2_)" + id + R"(","taskType":")" + kind + R"(","finishTime":150,"status":")" + status + "\"");
  };
  const auto stages = [](const std::string &tasks, const std::string &job) {
    Lines out = Read(kHead + tasks + event("JOB_" + job, R"("jobid":"job_1_2","finishTime":180)")).lines();
    for (std::string &line : out) line = line.substr(0, line.find(" job=")) + line.substr(line.find(" stage="));
    return out;
  };
  const std::string done = begin("m_0", "MAP") + end("m_0", "MAP", "SUCCEEDED");
  const std::string failed = begin("m_0", "MAP") + end("m_0", "MAP", "FAILED");
  const std::string maps_run = begin("m_1", "MAP"), reduces_run = begin("r_0", "REDUCE");
  CHECK(stages(done + reduces_run, "KILLED") == Lines{"stage 90+60 stage=map | outcome:0", "stage 90+90 stage=reduce | outcome:2"});
  CHECK(stages(done + maps_run, "KILLED") == Lines{"stage 90+90 stage=map | outcome:2"});
  CHECK(stages(failed + maps_run + reduces_run, "FAILED") ==
        Lines{"stage 90+90 stage=map | outcome:1", "stage 90+90 stage=reduce | outcome:2"});
  CHECK(stages(failed + reduces_run + end("r_0", "REDUCE", "KILLED"), "FAILED") ==
        Lines{"stage 90+60 stage=map | outcome:1", "stage 90+60 stage=reduce | outcome:2"});
  // Of a job that succeeded, all is done: an end that is missing was lost.
  CHECK(stages(done + maps_run + reduces_run, "FINISHED") ==
        Lines{"stage 90+60 stage=map | outcome:0", "stage 90+90 stage=reduce | outcome:0"});
  // A task that begins, or ends, twice is one.
  CHECK(stages(done + done, "KILLED") == Lines{"stage 90+60 stage=map | outcome:0"});
  CHECK(stages(maps_run + maps_run + end("m_1", "MAP", "SUCCEEDED") + end("m_1", "MAP", "SUCCEEDED") + reduces_run, "KILLED") ==
        Lines{"stage 90+60 stage=map | outcome:0", "stage 90+90 stage=reduce | outcome:2"});
}

TEST_CASE("jhist: an attempt with an unknown host is reported when it ends") {
  Read read(kHead + event("MAP_ATTEMPT_STARTED", attempt("m", R"("startTime":100,"trackerName":"")")));
  read.history.open(read.spans);
  CHECK(read.spans.empty());
  read.history.feed(event("MAP_ATTEMPT_FAILED", attempt("m", R"("finishTime":150,"hostname":"n7")")), read.spans);
  CHECK(read.lines() == Lines{"task 100+50 host=n7 job=job_1_2 stage=map " + kTaskOf2 + " | outcome:1"});
}

TEST_CASE("jhist: errors are counted, the first is named, the rest is kept") {
  const Read read(kHead + "{\"type\":\n" + event("MAP_ATTEMPT_FAILED", attempt("m", R"("finishTime":150)")) +
                  "{\"type\":\"TASK_STARTED\"}\n" + R"({"type":"TASK_STARTED","event":{}})" + "\n" +
                  event("TASK_STARTED", R"("startTime":5)") +
                  event("MAP_ATTEMPT_STARTED", attempt("m", R"("startTime":100,"trackerName":"n1")")) +
                  event("MAP_ATTEMPT_FAILED", attempt("m", R"("finishTime":50)")) + "[]\n\n" +
                  event("JOB_SUBMITTED", R"("jobid":"job_1_2","submitTime":80,"jobName":"n")") +
                  event("JOB_FINISHED", R"("jobid":"job_1_2","finishTime":180)"));
  CHECK(read.history.damage().count == 7);
  CHECK(read.history.damage().first == "line 3: not JSON");
  CHECK(read.lines() == Lines{"job 80+100 job=job_1_2 name=n | outcome:0"});
}

TEST_CASE("jhist: the last line counts without a line end when it is complete, and not when it is cut") {
  const std::string whole = kHead + event("JOB_SUBMITTED", R"("jobid":"job_1_2","submitTime":80,"jobName":"n")") +
                            event("JOB_FINISHED", R"("jobid":"job_1_2","finishTime":180)");
  CHECK(Read(whole.substr(0, whole.size() - 1)).spans.size() == 1);
  const Read cut(whole.substr(0, whole.size() - 3));
  CHECK(cut.spans.empty());
  CHECK(cut.history.waiting() > 0);
  CHECK(cut.history.damage().count == 0);
}

TEST_CASE("history: its key is that of its text up to the job, wherever and however it is read") {
  const std::string whole = kHead + event("JOB_SUBMITTED", R"("jobid":"job_1_2","submitTime":80)") + task_started("m", "MAP");
  const std::string key = Read(whole).history.key();
  CHECK(key.starts_with("job_1_2 "));
  CHECK(Read(whole, kNoRules, 3).history.key() == key);
  CHECK(Read(whole + task_started("r", "REDUCE")).history.key() == key);
  CHECK(Read(kHead + event("AM_STARTED", "") + whole.substr(kHead.size())).history.key() != key);
}

TEST_CASE("history: a line beyond the limit is passed over and counted") {
  History history(kNoRules, "");
  protocols::Spans spans;
  history.feed(kHead, spans);
  for (size_t sent = 0; sent <= kMaxLine; sent += size_t{1} << 20) history.feed(std::string(size_t{1} << 20, 'x'), spans);
  CHECK(history.waiting() == 0);
  history.feed("xx\n" + event("JOB_SUBMITTED", R"("jobid":"job_1_2","submitTime":80)") +
                   event("JOB_FINISHED", R"("finishTime":81,"jobid":"job_1_2")"),
               spans);
  CHECK(spans.size() == 1);
  CHECK(history.damage().count == 1);
  CHECK(history.damage().first == "line 3: the line is longer than 32 MiB");
}

TEST_CASE("history: other files are not taken for a history") {
  for (const std::string &text :
       {std::string(100, 'a'), std::string("<configuration>") + std::string(100, ' '), std::string(100, '\0')}) {
    const Read read(text);
    CHECK(read.history.form() == History::Form::none);
    CHECK(read.history.damage().count == 0);
  }
  CHECK(Read("short").history.form() == History::Form::unknown);
}

TEST_CASE("jhist: a damaged binary history keeps the records before the damage") {
  const std::string schema =
      R"({"type":"record","name":"Event","fields":[{"name":"type","type":{"type":"enum","name":"T","symbols":["JOB_SUBMITTED","JOB_FINISHED"]}},)"
      R"({"name":"event","type":[{"type":"record","name":"J","fields":[{"name":"jobid","type":"string"},{"name":"submitTime","type":"long"},)"
      R"({"name":"finishTime","type":"long"}]}]}]})";
  const std::string head = "Avro-Binary\n" + schema + "\n", submitted = "\0\0\x0ejob_1_2\x02\0"s,
                    finished = "\x02\0\x0ejob_1_2\0\x08"s;
  const Read whole(head + submitted + finished);
  CHECK(texts(whole.spans) == Lines{"job 1+3 job=job_1_2 | outcome:0"});
  const Read damaged(head + submitted + finished + "\x7f");
  CHECK(damaged.spans.size() == 1);
  CHECK(damaged.history.broken());
  CHECK(damaged.history.damage().first ==
        "byte " + std::to_string(head.size() + submitted.size() + finished.size()) + ": the binary data is damaged");
  CHECK(Read(head + submitted + finished.substr(0, 5)).history.waiting() == 5);
  CHECK(Read("Avro-Binary\nnone\n").history.damage().first == "line 2: not an Avro schema");
}

// ---- the old text --------------------------------------------------------------------------------------------------------------

TEST_CASE("old text: records, escapes, values with line ends, counters") {
  const Read read(
      "Meta VERSION=\"1\" .\n"
      "Job JOBID=\"job_1_2\" JOBNAME=\"a\\=\\\"b\\\"\\.\" USER=\"u\" SUBMIT_TIME=\"80\" JOBCONF=\"x\" .\n"
      "Task TASKID=\"task_1_2_m_0\" TASK_TYPE=\"MAP\" START_TIME=\"90\" SPLITS=\"/r1/n1,/r1/n2\" .\n"
      "MapAttempt TASK_TYPE=\"MAP\" TASKID=\"task_1_2_m_0\" TASK_ATTEMPT_ID=\"attempt_1_2_m_0_0\" START_TIME=\"100\" "
      "TRACKER_NAME=\"tracker_n1:localhost/127\\.0\\.0\\.1:1\" HTTP_PORT=\"50060\" .\n"
      "MapAttempt TASK_TYPE=\"MAP\" TASKID=\"task_1_2_m_0\" TASK_ATTEMPT_ID=\"attempt_1_2_m_0_0\" TASK_STATUS=\"FAILED\" "
      "FINISH_TIME=\"150\" HOSTNAME=\"/r1/n1\" ERROR=\"one\ntwo .\nMapAttempt\" "
      "COUNTERS=\"{(org\\.apache\\.hadoop\\.mapred\\.Task$Counter)(Map)[(SPILLED_RECORDS)(s)(4)][(a\\\\(b)(c)(-5)]}{(G)(g)}\" .\n"
      "Job JOBID=\"job_1_2\" FINISH_TIME=\"180\" JOB_STATUS=\"KILLED\" .\n");
  CHECK(read.history.damage().count == 0);
  CHECK(read.lines() == Lines{"error 150+0 host=n1 job=job_1_2 stage=map " + kTaskOf2 + " error=one\ntwo .\nMapAttempt | outcome:1",
                              "task 100+50 host=n1 job=job_1_2 stage=map " + kTaskOf2 +
                                  " locality=node | outcome:1 org.apache.hadoop.mapred.Task$Counter/SPILLED_RECORDS=4 "
                                  "org.apache.hadoop.mapred.Task$Counter/a(b=-5",
                              "stage 90+90 job=job_1_2 stage=map | outcome:2", "job 80+100 job=job_1_2 name=a=\"b\". | outcome:2"});
}

TEST_CASE("old text: a map is one phase, because the time of its merge is unknown; a reduce has its own") {
  const auto attempt_of = [](const std::string &word, const std::string &id, const std::string &times) {
    const std::string record = (word == "MAP" ? "MapAttempt TASK_TYPE=\"" : "ReduceAttempt TASK_TYPE=\"") + word +
                               "\" TASKID=\"task_1_2_" + id + "\" TASK_ATTEMPT_ID=\"attempt_1_2_" + id + "_0\" ";
    return record + "START_TIME=\"100\" TRACKER_NAME=\"tracker_n1:localhost/127\\.0\\.0\\.1:1\" HTTP_PORT=\"50060\" .\n" + record +
           "TASK_STATUS=\"SUCCESS\" " + times + " FINISH_TIME=\"150\" HOSTNAME=\"/r1/n1\" STATE_STRING=\"\" .\n";
  };
  const Read read("Meta VERSION=\"1\" .\nJob JOBID=\"job_1_2\" SUBMIT_TIME=\"80\" .\n" + attempt_of("MAP", "m_0", "") +
                  attempt_of("REDUCE", "r_0", R"(SHUFFLE_FINISHED="120" SORT_FINISHED="125")"));
  const std::string reduce = " host=n1 job=job_1_2 stage=reduce task=task_1_2_r_0 attempt=attempt_1_2_r_0_0";
  CHECK(read.history.damage().count == 0);
  CHECK(read.lines() == Lines{"phase 100+50 host=n1 job=job_1_2 stage=map " + kTaskOf2 + " phase=map quality=coarse |",
                              "task 100+50 host=n1 job=job_1_2 stage=map " + kTaskOf2 + " | outcome:0",
                              "phase 100+20" + reduce + " phase=shuffle quality=coarse |",
                              "phase 120+5" + reduce + " phase=sort quality=coarse |",
                              "phase 125+25" + reduce + " phase=reduce quality=coarse |", "task 100+50" + reduce + " | outcome:0"});
}

TEST_CASE("old text: cut counters keep the rest, and a missing quotation mark does not hide all later records") {
  const std::string begin = "Meta VERSION=\"1\" .\nJob JOBID=\"job_1_2\" SUBMIT_TIME=\"80\" .\n";
  const Read cut(begin + "Job JOBID=\"job_1_2\" FINISH_TIME=\"180\" JOB_STATUS=\"SUCCESS\" COUNTERS=\"{(g)(g)[(a)(a)(1)][(b\" .\n");
  CHECK(cut.lines() == Lines{"job 80+100 job=job_1_2 | outcome:0 g/a=1"});
  CHECK(cut.history.damage().first == "line 3: the counters are cut off or malformed");
  const std::string line = "Task TASKID=\"t\" FINISH_TIME=\"1\" .\n";
  std::string many;
  while (many.size() < (size_t{5} << 20)) many += line;
  const Read lost(begin + "Task TASKID=\"t START_TIME=5 .\n" + many +
                  "Job JOBID=\"job_1_2\" FINISH_TIME=\"180\" JOB_STATUS=\"SUCCESS\" .\n");
  CHECK(lost.spans.size() == 1);
  CHECK(lost.history.damage().count == 1);
}

}  // namespace
}  // namespace atalaya::hadoop
