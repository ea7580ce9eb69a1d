// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/unit/protocols/sparklog/codecs.h"
#include "tests/unit/sources/hadoop/spans_text.h"

namespace atalaya::hadoop {
namespace {

using Lines = std::vector<std::string>;

const std::string kBegin = R"({"Event":"SparkListenerLogStart","Spark Version":"3.5.0"})"
                           "\n"
                           R"({"Event":"SparkListenerApplicationStart","App Name":"n","App ID":"app-1","Timestamp":100})"
                           "\n";

std::string task(const std::string &event, const std::string &info, const std::string &more = "") {
  return R"({"Event":"SparkListenerTask)" + event + R"(","Stage ID":3,"Stage Attempt ID":0)" + more +
         R"(,"Task Info":{"Task ID":7,"Index":2,"Launch Time":1000,"Executor ID":"1","Host":"n1",)" + info + "}}\n";
}
std::string ended(const std::string &metrics, const std::string &info = R"("Locality":"ANY","Finish Time":2000)",
                  const std::string &reason = "Success") {
  return kBegin + task("End", info, R"(,"Task End Reason":{"Reason":")" + reason + R"("},"Task Metrics":{)" + metrics + "}");
}
Lines without_counters(Read read) {
  for (protocols::Span &span : read.spans) span.counters.clear();
  return read.lines();
}

const std::string kPhase = " host=n1 job=app-1 stage=3 task=3.2 attempt=7 phase=";

TEST_CASE("spark: phases one after the other, before the time that the driver took to fetch the result") {
  CHECK(without_counters(Read(ended(
            R"("Executor Deserialize Time":50,"Executor Run Time":600,"Result Serialization Time":10,)"
            R"("Shuffle Read Metrics":{"Fetch Wait Time":100,"Remote Bytes Read":5,"Local Bytes Read":6,"Total Records Read":2},)"
            R"("Shuffle Write Metrics":{"Shuffle Write Time":200999999,"Shuffle Bytes Written":9,"Shuffle Records Written":1})",
            R"("Locality":"NODE_LOCAL","Finish Time":2000,"Getting Result Time":1900)"))) ==
        Lines{"phase 1240+50" + kPhase + "deserialize executor=1 quality=model |",
              "phase 1290+100" + kPhase + "shuffle-read executor=1 source=disk quality=model | bytes:11 records:2 remote:5",
              "phase 1390+300" + kPhase + "compute executor=1 quality=model |",
              "phase 1690+200" + kPhase + "shuffle-write executor=1 quality=model | bytes:9 records:1",
              "phase 1890+10" + kPhase + "result-serialize executor=1 quality=model |",
              "phase 1900+100" + kPhase + "result-fetch executor=1 |",
              std::string("task 1000+1000 host=n1 job=app-1 stage=3 task=3.2 attempt=7 locality=node executor=1 | ") +
                  "bytes:11 records:2 remote:5 outcome:0"});
}

TEST_CASE("spark: a line of 70 MiB that is not needed is skipped, and is no damage") {
  for (const char *name : {"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart", "SparkListenerJobStart"}) {
    History history(kNoRules, "");
    protocols::Spans spans;
    history.feed(kBegin + R"({"Event":")" + name + R"(","physicalPlanDescription":")", spans);
    const std::string piece(size_t{1} << 20, 'x');
    for (int i = 0; i < 70; ++i) {
      history.feed(piece, spans);
      REQUIRE(history.waiting() <= piece.size());
    }
    history.feed(
        "\"}\n" + task("Start", R"("Finish Time":0)") + R"({"Event":"SparkListenerApplicationEnd","Timestamp":300})" + "\n", spans);
    CHECK(history.damage().count == 0);
    CHECK(history.ended());
    CHECK(spans.back().duration_ms == 200);
  }
}

TEST_CASE("spark: the key of a history does not depend on the pieces of a skipped line") {
  const std::string text = R"({"Event":"SparkListenerLogStart","Spark Version":")" + std::string(200'000, 'x') + "\"}\n" +
                           R"({"Event":"SparkListenerApplicationStart","App Name":"n","App ID":"app-1","Timestamp":100})" + "\n";
  CHECK(Read(text, kNoRules, 1000).history.key() == Read(text).history.key());
}

TEST_CASE("spark: an empty input next to a shuffle is no measurement of the computed bytes") {
  const auto compute = [](const std::string &shuffle, int input) {
    const Lines lines = without_counters(Read(ended(R"("Executor Run Time":600,"Input Metrics":{"Bytes Read":)" +
                                                    std::to_string(input) + R"(,"Records Read":0})" + shuffle)));
    return lines[lines.size() - 2];
  };
  const std::string shuffle = R"(,"Shuffle Read Metrics":{"Remote Bytes Read":5,"Local Bytes Read":6,"Total Records Read":2})";
  CHECK(compute(shuffle, 0).ends_with("compute executor=1 quality=model |"));
  CHECK(compute(shuffle, 7).ends_with("| bytes:7 records:0"));
  CHECK(compute("", 0).ends_with("| bytes:0 records:0"));
}

TEST_CASE("spark: times that are longer than the task begin with it") {
  const Lines lines = without_counters(Read(ended(R"("Executor Deserialize Time":900,"Executor Run Time":600)")));
  CHECK(lines[0] == "phase 1000+900" + kPhase + "deserialize executor=1 quality=model |");
  CHECK(lines[1] == "phase 1900+600" + kPhase + "compute executor=1 quality=model |");
}

TEST_CASE("spark: where the input came from") {
  const auto source = [](const std::string &input, const std::string &locality) {
    const Read read(ended(R"("Executor Run Time":600,"Input Metrics":{"Bytes Read":7)" + input + "}",
                          R"("Locality":")" + locality + R"(","Finish Time":2000)"));
    const protocols::Span &task = read.spans.back();
    return read.spans.front().source + " " + (task.remote_bytes ? std::to_string(*task.remote_bytes) : "?");
  };
  CHECK(source(R"(,"Data Read Method":"Memory")", "PROCESS_LOCAL") == "memory 0");
  CHECK(source(R"(,"Data Read Method":"Disk")", "PROCESS_LOCAL") == "disk 0");
  CHECK(source(R"(,"Data Read Method":"Network")", "PROCESS_LOCAL") == "network 7");
  CHECK(source(R"(,"Data Read Method":"Hadoop")", "NODE_LOCAL") == "disk 0");
  CHECK(source("", "NODE_LOCAL") == "disk 0");
  CHECK(source("", "RACK_LOCAL") == "network 7");
  CHECK(source("", "ANY") == "network 7");
  CHECK(source("", "PROCESS_LOCAL") == " ?");
  CHECK(source("", "NO_PREF") == " ?");
}

TEST_CASE("spark: where a shuffle came from is where most of it came from") {
  const auto shuffle = [](const std::string &bytes) {
    return Read(ended(R"("Executor Run Time":600,"Shuffle Read Metrics":{"Fetch Wait Time":100)" + bytes + "}"))
        .spans.front()
        .source;
  };
  CHECK(shuffle(R"(,"Remote Bytes Read":6,"Local Bytes Read":5)") == "network");
  CHECK(shuffle(R"(,"Remote Bytes Read":1,"Local Bytes Read":5)") == "disk");
  CHECK(shuffle(R"(,"Remote Bytes Read":0,"Local Bytes Read":5)") == "disk");
  CHECK(shuffle(R"(,"Remote Bytes Read":0,"Local Bytes Read":0)").empty());
  CHECK(shuffle(R"(,"Remote Bytes Read":6)").empty());
}

TEST_CASE("spark: a shuffle of which only the remote part was logged is none of the task's bytes, nor of its remote ones") {
  const auto lines = without_counters(Read(ended(R"("Executor Run Time":600,"Input Metrics":{"Bytes Read":7},)"
                                                 R"("Shuffle Read Metrics":{"Fetch Wait Time":100,"Remote Bytes Read":50})")));
  CHECK(lines == Lines{"phase 1400+100" + kPhase + "shuffle-read executor=1 quality=model | remote:50",
                       "phase 1500+500" + kPhase + "compute executor=1 source=network quality=model | bytes:7",
                       std::string("task 1000+1000 host=n1 job=app-1 stage=3 task=3.2 attempt=7 locality=remote executor=1 | ") +
                           "bytes:7 remote:7 outcome:0"});
}

TEST_CASE("spark: how tasks, stages and applications end") {
  const auto outcome = [](const std::string &reason, const std::string &info) {
    return static_cast<int64_t>(*Read(ended("", R"("Finish Time":2000)" + info, reason)).spans.back().outcome);
  };
  CHECK(outcome("Success", "") == 0);
  CHECK(outcome("ExceptionFailure", "") == 1);
  CHECK(outcome("TaskKilled", "") == 2);
  CHECK(outcome("ExceptionFailure", R"(,"Killed":true)") == 2);
  CHECK(outcome("Resubmitted", R"(,"Killed":false)") == 1);

  const std::string failed_job = R"({"Event":"SparkListenerJobEnd","Job Result":{"Result":"JobFailed"}})"
                                 "\n";
  const auto application = [&](const std::string &before, const std::string &more) {
    return Read(kBegin + before + R"({"Event":"SparkListenerApplicationEnd","Timestamp":500)" + more + "}\n").lines().back();
  };
  CHECK(application("", "") == "job 100+400 job=app-1 name=n | outcome:0");
  CHECK(application(failed_job, "") == "job 100+400 job=app-1 name=n | outcome:1");
  CHECK(application(failed_job, R"(,"ExitCode":0)") == "job 100+400 job=app-1 name=n | outcome:1");
  const std::string next_job = R"({"Event":"SparkListenerJobStart","Job ID":1})"
                               "\n";
  CHECK(application(failed_job + next_job, "") == "job 100+400 job=app-1 name=n |");
  CHECK(application(failed_job + next_job, R"(,"ExitCode":0)") == "job 100+400 job=app-1 name=n | outcome:0");
  const auto cancelled = [](const std::string &why) {
    return R"({"Event":"SparkListenerJobEnd","Job Result":{"Result":"JobFailed","Exception":{"Message":")" + why + "\"}}}\n";
  };
  CHECK(application(cancelled("[SPARK_JOB_CANCELLED] Job 3 cancelled by a user"), R"(,"ExitCode":0)").ends_with("| outcome:0"));
  CHECK(application(cancelled("Job 31 cancelled as part of a group"), "").ends_with("name=n |"));
  CHECK(application(cancelled("Job 3 cancelled because SparkContext was shut down"), "").ends_with("| outcome:2"));
  CHECK(application("", R"(,"ExitCode":1)") == "job 100+400 job=app-1 name=n | outcome:1");

  const auto stage = [](const std::string &more) {
    return Read(
               kBegin +
               R"({"Event":"SparkListenerStageCompleted","Stage Info":{"Stage ID":3,"Stage Attempt ID":1,"Stage Name":"s","Submission Time":200,"Completion Time":300)" +
               more + "}}\n")
        .lines();
  };
  CHECK(stage("") == Lines{"stage 200+100 job=app-1 name=s stage=3.1 | outcome:0"});
  CHECK(stage(R"(,"Failure Reason":"x")") ==
        Lines{"error 300+0 job=app-1 stage=3.1 error=x | outcome:1", "stage 200+100 job=app-1 name=s stage=3.1 | outcome:1"});
}

// In local mode the driver is an executor, and its line comes before those of the application and its settings.
TEST_CASE("spark: an executor has as many slots as tasks fit on its cores") {
  const auto slots = [](const std::string &cores, const std::string &settings) {
    const Read read(R"({"Event":"SparkListenerExecutorAdded","Timestamp":50,"Executor ID":"driver","Executor Info":{"Host":"n1")" +
                    cores + "}}\n" + R"({"Event":"SparkListenerEnvironmentUpdate","Spark Properties":{)" + settings + "}}\n" +
                    kBegin +
                    R"({"Event":"SparkListenerApplicationEnd","Timestamp":500})"
                    "\n");
    for (const std::string &line : read.lines())
      if (line.starts_with("executor")) return line;
    return std::string();
  };
  const std::string executor = "executor 50+450 host=n1 job=app-1 executor=driver |";
  CHECK(slots(R"(,"Total Cores":8)", "") == executor + " slots:8 outcome:0");
  CHECK(slots(R"(,"Total Cores":8)", R"("spark.task.cpus":"3")") == executor + " slots:2 outcome:0");
  CHECK(slots(R"(,"Total Cores":2)", R"("spark.task.cpus":"4")") == executor + " slots:1 outcome:0");
  CHECK(slots(R"(,"Total Cores":2)", R"("spark.task.cpus":"-4x")") == executor + " slots:2 outcome:0");
  CHECK(slots("", "") == executor + " outcome:0");
}

TEST_CASE("spark: every number of a task is a counter, accumulators of one name are summed") {
  const Read read(
      ended(R"("Result Size":1,"Host Name":"n1","Shuffle Read Metrics":{"Push Based Shuffle":{"Merged Fetch Fallback Count":2}})",
            R"("Finish Time":2000,"Accumulables":[{"ID":1,"Name":"rows","Update":"3"},{"ID":2,"Name":"rows","Update":4},)"
            R"({"ID":3,"Update":5},{"ID":4,"Name":"x","Update":[1]},{"ID":5,"Name":"internal.metrics.y","Update":6}])"));
  CHECK(read.lines().back().ends_with(
      "| outcome:0 Task Metrics/Result Size=1 Push Based Shuffle/Merged Fetch Fallback Count=2 Accumulables/rows=7"));
}

TEST_CASE("spark: a running task is reported once; a log without an id is named after its file") {
  Read read(R"({"Event":"SparkListenerApplicationStart","App Name":"n","Timestamp":100})"
            "\n" +
            task("Start", R"("Locality":"PROCESS_LOCAL","Finish Time":0)") +
            R"({"Event":"SparkListenerStageSubmitted","Stage Info":{"Stage ID":3,"Stage Name":"s","Submission Time":200}})"
            "\n");
  read.history.open(read.spans);
  CHECK(read.lines() == Lines{"job 100... job=from-its-name name=n |", "stage 200... job=from-its-name name=s stage=3 |",
                              "task 1000... host=n1 job=from-its-name stage=3 task=3.2 attempt=7 locality=process executor=1 |"});
  read.spans.clear();
  read.history.open(read.spans);
  CHECK(read.spans.empty());
}

TEST_CASE("spark: an application's second run numbers from 0 again; its tasks and stages are distinct") {
  const auto run = [](const std::string &attempt) {
    return without_counters(Read(
        R"({"Event":"SparkListenerApplicationStart","App Name":"n","App ID":"app-1","Timestamp":100)" + attempt + "}\n" +
        task("End", R"("Finish Time":2000)", R"(,"Task End Reason":{"Reason":"Success"})") +
        R"({"Event":"SparkListenerStageCompleted","Stage Info":{"Stage ID":3,"Stage Attempt ID":1,"Submission Time":200,"Completion Time":300}})"
        "\n"));
  };
  const Lines first = {"task 1000+1000 host=n1 job=app-1 stage=3 task=3.2 attempt=7 executor=1 | outcome:0",
                       "stage 200+100 job=app-1 stage=3.1 | outcome:0"};
  CHECK(run("") == first);
  CHECK(run(R"(,"App Attempt ID":"1")") == first);
  CHECK(run(R"(,"App Attempt ID":"2")") ==
        Lines{"task 1000+1000 host=n1 job=app-1 stage=2/3 task=2/3.2 attempt=2/7 executor=1 | outcome:0",
              "stage 200+100 job=app-1 stage=2/3.1 | outcome:0"});
}

TEST_CASE("spark: tasks that run when the application ends, end with it, reported before or not") {
  const std::string text = kBegin + R"({"Event":"SparkListenerStageSubmitted","Stage Info":{"Stage ID":3,"Submission Time":200}})" +
                           "\n" + task("Start", R"("Finish Time":0)");
  const std::string end = R"({"Event":"SparkListenerApplicationEnd","Timestamp":5000})"
                          "\n";
  const Lines closed = {"stage 200+4800 job=app-1 stage=3 | outcome:2",
                        "task 1000+4000 host=n1 job=app-1 stage=3 task=3.2 attempt=7 executor=1 | outcome:2",
                        "job 100+4900 job=app-1 name=n | outcome:0"};
  CHECK(Read(text + end).lines() == closed);
  Read followed(text);
  followed.history.open(followed.spans);
  CHECK(followed.spans.size() == 3);
  followed.spans.clear();
  followed.history.feed(end, followed.spans);
  CHECK(followed.lines() == closed);
  followed.spans.clear();
  followed.history.open(followed.spans);
  CHECK(followed.spans.empty());
}

TEST_CASE("spark: a task whose end was not logged runs until its stage is completed, with an unknown outcome") {
  const std::string completed =
      R"({"Event":"SparkListenerStageCompleted","Stage Info":{"Stage ID":3,"Submission Time":200,"Completion Time":3000}})"
      "\n";
  const std::string end = R"({"Event":"SparkListenerApplicationEnd","Timestamp":50000})"
                          "\n";
  const std::string begun = kBegin + task("Start", R"("Finish Time":0)") + completed;
  const std::string stage = "stage 200+2800 job=app-1 stage=3 | outcome:0", job = "job 100+49900 job=app-1 name=n | outcome:0";
  const std::string span = "task 1000+2000 host=n1 job=app-1 stage=3 task=3.2 attempt=7 executor=1 |";
  CHECK(Read(begun + end).lines() == Lines{stage, span, job});
  // A logged end counts, even if it is late.
  CHECK(Read(begun + task("End", R"("Finish Time":4000)", R"(,"Task End Reason":{"Reason":"Success"})") + end).lines() ==
        Lines{stage, "task 1000+3000 host=n1 job=app-1 stage=3 task=3.2 attempt=7 executor=1 | outcome:0", job});
}

TEST_CASE("spark: running tasks are closed once, however often the application ends") {
  const auto end = [](int at) { return R"({"Event":"SparkListenerApplicationEnd","Timestamp":)" + std::to_string(at) + "}\n"; };
  const std::string text = kBegin + task("Start", R"("Finish Time":0)");
  CHECK(Read(text + end(50) + end(5000) + end(6000) + end(7000)).lines() ==
        Lines{"task 1000+4000 host=n1 job=app-1 stage=3 task=3.2 attempt=7 executor=1 | outcome:2",
              "job 100+4900 job=app-1 name=n | outcome:0", "job 100+5900 job=app-1 name=n | outcome:0",
              "job 100+6900 job=app-1 name=n | outcome:0"});
}

TEST_CASE("spark: settings that were chosen are facts of the application, secrets never are") {
  Rules rules;
  const std::string patterns[] = {"spark.*"};
  rules.facts.keys = *io::MatcherList::parse(patterns);
  const std::string environment =
      R"({"Event":"SparkListenerEnvironmentUpdate","Spark Properties":{"spark.a":"1","spark.b.password":"p","spark.driver.extraJavaOptions":"-Dx=y","other":"2"}})"
      "\n";
  CHECK(Read(environment + kBegin, rules).lines() == Lines{"fact 100+0 job=app-1 fact=spark.a value=1 |"});
  CHECK(Read(kBegin + environment, rules).lines() == Lines{"fact 100+0 job=app-1 fact=spark.a value=1 |"});
  CHECK_FALSE(rules.facts.wants("spark." + std::string(251, 'x'), "1"));
  CHECK(rules.facts.wants("spark." + std::string(250, 'x'), "1"));
}

TEST_CASE("spark: invalid events are counted, irrelevant events are not") {
  const Read read(kBegin + "{\"Event\":\"SparkListenerTaskEnd\",\n" + task("End", R"("Finish Time":1)") +
                  R"({"Event":"SparkListenerTaskStart","Stage ID":1})"
                  "\n"
                  R"({"Event":"SparkListenerStageCompleted"})"
                  "\n"
                  R"({"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart","x":[[[}})"
                  "\n"
                  R"({"Event":"SparkListenerNew"})"
                  "\n"
                  R"({"other":1})"
                  "\n");
  CHECK(read.history.damage().count == 5);
  CHECK(read.history.damage().first == "line 3: not JSON");
  CHECK(read.spans.empty());
}

TEST_CASE("facts: a value that may hold a secret is no fact") {
  for (const char *key :
       {"hive.Password", "fs.s3a.secret.key", "a.token", "mapred.child.java.opts", "spark.executorEnv.A", "x.keytab", "y.auth.z"})
    CHECK(may_be_secret(key, "1"));
  CHECK(may_be_secret("url", "jdbc://user:word@host/x"));
  for (const char *value :
       {"jdbc:mysql://db/x?user=a;Password=b", "https://a.blob/x?sv=1&sig=abc", "accessKey:abc", "api_key=abc",
        "jdbc:oracle:thin:scott/tiger@db", "Bearer abc", "-----BEGIN RSA PRIVATE KEY-----", "x;SharedAccessSignature=1"})
    CHECK(may_be_secret("harmless", value));
  CHECK(may_be_secret("long", std::string(2000, 'x')));
  CHECK_FALSE(may_be_secret("mapreduce.task.io.sort.mb", "100"));
  CHECK_FALSE(may_be_secret("fs.defaultFS", "hdfs://n1:8020"));
}

TEST_CASE("spark: few bytes that become many spans are handed on between") {
  const std::string begin = R"({"Event":"SparkListenerApplicationStart","App Name":"n","App ID":"app-1","Timestamp":100})"
                            "\n";
  const std::string stage =
      R"({"Event":"SparkListenerStageCompleted","Stage Info":{"Stage ID":1,"Submission Time":200,"Completion Time":300}})"
      "\n";
  std::string text = begin;
  while (text.size() < size_t{8} << 20) text += stage;
  const size_t stages = (text.size() - begin.size()) / stage.size();
  const Rules rules;
  for (const std::string &packed : {protocols::testing::zstd(text), protocols::testing::lz4_block(text)}) {
    History history(rules, "x");
    protocols::Spans spans;
    size_t given = 0, maximum = 0;
    CHECK(history.feed(packed, spans, [&] {
      maximum = std::max(maximum, spans.size());
      given += spans.size();
      spans.clear();
      return true;
    }));
    CHECK(given == stages);
    CHECK(maximum < stages / 4);
  }
}

}  // namespace
}  // namespace atalaya::hadoop
