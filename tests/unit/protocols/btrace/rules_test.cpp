// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/btrace/rules.h"

#include "tests/unit/protocols/btrace/line_bench.h"

namespace atalaya::testing {
using btrace::RuleText;

TEST_CASE("rules: a line becomes fields and tags, the first rule that matches counts") {
  LineBench bench({}, {{.match = "^DEBUG", .emit = "drop"},
                       {.match = "request (%S+) took ([%d.]+) ms, (%d+) bytes at (.+)$",
                        .emit = "metrics",
                        .captures = {"tag.path", "field.app.latency", "field.app.bytes", "time"},
                        .tags = {{"app", "shop"}},
                        .time = "%Y-%m-%d %H:%M:%S",
                        .utc = true},
                       {.match = "(%d+)", .emit = "metrics", .captures = {"field.any"}}});
  CHECK(bench.read({"DEBUG request /x took 1 ms", "[main] request /cart took 1.5 ms, 300 bytes at 2023-11-14 22:13:20,001", "7",
                    "no number"}) == Lines{"@1700000000001000000 [app=shop path=/cart] app.latency=1.5 app.bytes=300i", "any=7i"});
  CHECK(bench.counts().forms.plain == 0);  // the last one may be a heading yet
}

TEST_CASE("rules: begins and ends with words of the phase line") {
  LineBench bench({}, {{.match = "^(%d+) START (%S+) on (%S+)$",
                        .emit = "begin",
                        .level = "task",
                        .captures = {"time", "task", "host"},
                        .tags = {{"framework", "x"}}},
                       {.match = "^(%d+) DONE (%S+) (%d+) (%a+)$",
                        .emit = "end",
                        .level = "task",
                        .captures = {"time", "task", "bytes", "outcome"}}});
  CHECK(bench.read({"1700000000 START t1 on n1", "1700000003 DONE t1 77 FAILED"}) ==
        Lines{"span task 1700000000000000000+3000000000 [framework=x task=t1 host=n1] span.bytes=77i span.outcome=1i"});
}

TEST_CASE("rules: Tez's history lines, as in docs/how-to/phase-lines.md") {
  const std::string event = "%[HISTORY%]%[DAG:(dag_[%d_]+)%]%[Event:TASK_ATTEMPT_",
                    who = "%]: vertexName=(.-), taskAttemptId=(attempt_[%d_]+),.- ",
                    started = event + "STARTED" + who + "startTime=(%d+),.- nodeId=(.-):%d",
                    finished = event + "FINISHED" + who + "finishTime=(%d+), timeTaken=%-?%d+, status=(%a+)";
  const std::vector<std::string> ended = {"job", "stage", "attempt", "time", "outcome"},
                                 with_bytes = {"job", "stage", "attempt", "time", "outcome", "bytes"};
  LineBench bench(
      {}, {{.match = started,
            .emit = "begin",
            .level = "task",
            .captures = {"job", "stage", "attempt", "time", "host"},
            .tags = {{"framework", "tez"}}},
           {.match = finished + ".- HDFS[_:] ?BYTES_READ=([1-9]%d*)", .emit = "end", .level = "task", .captures = with_bytes},
           {.match = finished + ".- SHUFFLE_BYTES=([1-9]%d*)", .emit = "end", .level = "task", .captures = with_bytes},
           {.match = finished, .emit = "end", .level = "task", .captures = ended}});
  const auto line = [](const std::string &event_name, const std::string &vertex, int attempt, const std::string &rest) {
    return "2023-11-14 22:13:20,001 [INFO] [Dispatcher thread] |history.HistoryEventHandler|: "
           "[HISTORY][DAG:dag_1700000000000_0001_1][Event:TASK_ATTEMPT_" +
           event_name + "]: vertexName=" + vertex + ", taskAttemptId=attempt_1700000000000_0001_1_00_00000" +
           std::to_string(attempt) + "_0, " + rest;
  };
  std::string diagnostics;  // they may contain anything: a search for bytes passes over them once
  for (int i = 0; i < 1000; ++i) diagnostics += "x finishTime=1, status=Y ";
  const auto start = [&](const std::string &vertex, int attempt, const std::string &node) {
    return line("STARTED", vertex, attempt,
                "startTime=1700000001000, containerId=container_1700000000000_0001_01_000002, nodeId=" + node);
  };
  const std::string times = "startTime=1700000001000, finishTime=1700000003500, timeTaken=2500, ",
                    waited = "creationTime=1700000000000, allocationTime=1700000000500, ";
  const auto span = [](const std::string &vertex, int attempt, const std::string &host, const std::string &fields) {
    return "span task 1700000001000000000+2500000000 [framework=tez job=dag_1700000000000_0001_1 stage=" + vertex +
           " attempt=attempt_1700000000000_0001_1_00_00000" + std::to_string(attempt) + "_0 host=" + host + "] " + fields;
  };
  CHECK(
      bench.read(
          {start("Map 1", 0, "n7.example.org:45454"), start("Map 1", 1, "n8:45454"), start("Reducer 2", 2, "n9:1"),
           start("Map 1", 3, "n9:1, inProgressLogs=n9:8042/node/x, completedLogs="),
           // the form since 0.9.2
           line("FINISHED", "Map 1", 0,
                waited + times +
                    "status=SUCCEEDED, diagnostics=, containerId=container_1700000000000_0001_01_000002, "
                    "nodeId=n7.example.org:45454, nodeHttpAddress=n7.example.org:8042"),
           line("FINISHED", "Map 1", 1,
                waited + times + "status=FAILED, taskFailureType=NON_FATAL, errorEnum=FRAMEWORK_ERROR, diagnostics=" + diagnostics +
                    ", "
                    "counters=Counters: 3, File System Counters, FILE_BYTES_READ=9, HDFS_BYTES_READ=216088"),
           // forms before
           line("FINISHED", "Reducer 2", 2,
                times + "status=SUCCEEDED, diagnostics=, counters=Counters: 5, File System Counters, FILE: BYTES_READ=32, "
                        "HDFS: BYTES_READ=0, org.apache.tez.common.counters.TaskCounter, SHUFFLE_BYTES=77"),
           line("FINISHED", "Map 1", 3,
                times + "status=SUCCEEDED, diagnostics=, counters=Counters: 30, File System Counters, FILE: BYTES_READ=32, "
                        "HDFS: BYTES_READ=158991064, HDFS: BYTES_WRITTEN=0"),
           // killed before it was started
           line("FINISHED", "Map 1", 4, waited + "startTime=0, finishTime=1700000003500, timeTaken=1, status=KILLED")}) ==
      Lines{span("Map 1", 0, "n7.example.org", "span.outcome=0i"), span("Map 1", 1, "n8", "span.outcome=1i span.bytes=216088i"),
            span("Reducer 2", 2, "n9", "span.outcome=0i span.bytes=77i"),
            span("Map 1", 3, "n9", "span.outcome=0i span.bytes=158991064i")});
  CHECK(bench.counts().bad == 0);
  CHECK(bench.reader->spans().open() == 0);
}

TEST_CASE("rules: Storm's executors, as in docs/how-to/phase-lines.md") {
  LineBench bench({}, {{.match = "^(%d+%-%d+%-%d+ %d+:%d+:%d+%.%d+) .- Execute done TUPLE .- TASK: (%d+) DELTA: (%d+)",
                        .emit = "metrics",
                        .captures = {"time", "tag.task", "field.storm.execute.ms"},
                        .tags = {{"framework", "storm"}},
                        .time = "%Y-%m-%d %H:%M:%S",
                        .utc = true}});
  CHECK(bench.read({"2023-11-14 22:13:20.250 o.a.s.d.executor Thread-7 [INFO] Execute done TUPLE source: spout:3, stream: default, "
                    "id: {}, [a] TASK: 5 DELTA: 12"}) ==
        Lines{"@1700000000250000000 [framework=storm task=5] storm.execute.ms=12i"});
}

TEST_CASE("rules: the quality of a span can be captured as any word of the phase line") {
  LineBench bench(
      {},
      {{.match = "^(%a+) (%a+) (%d+) (%d+)$", .emit = "span", .level = "phase", .captures = {"phase", "quality", "start", "end"}}});
  CHECK(bench.read({"map placed 1700000000 1700000001", "map good 1700000000 1700000001"}) ==
        Lines{"span phase 1700000000000000000+1000000000 [phase=map quality=placed]"});
  CHECK(bench.counts().bad == 1);
}

TEST_CASE("rules: source and distance of data can be captured, in the defined words") {
  LineBench bench({}, {{.match = "^(%a+) (%a+) (%a+) (%d+) (%d+)$",
                        .emit = "span",
                        .level = "phase",
                        .captures = {"phase", "source", "locality", "start", "end"}}});
  CHECK(bench.read({"map disk rack 1700000000 1700000001", "map ssd rack 1700000000 1700000001"}) ==
        Lines{"span phase 1700000000000000000+1000000000 [phase=map source=disk locality=rack]"});
}

TEST_CASE("rules: invalid values and searches beyond the limit are logged and counted") {
  LineBench bench({}, {{.match = "^v (%S+)", .emit = "metrics", .captures = {"field.v"}},
                       {.match = "^t (%S+)", .emit = "begin", .level = "job", .captures = {"time"}},
                       {.match = "^b (%S+)", .emit = "end", .level = "job", .captures = {"bytes"}},
                       {.match = "^a.-a.-a.-a.-b", .emit = "drop"}});
  CHECK(bench.read({"v x", "t x", "b x", std::string(60000, 'a')}).empty());
  CHECK(bench.counts().bad == 4);
  CHECK(bench.said[0] == "line \"v x\": invalid number \"x\" of v");
  CHECK(bench.said[1] == "line \"t x\": invalid time \"x\" for the format \"epoch\"");
  CHECK(bench.said[2] == "line \"b x\": invalid value \"x\" of bytes; expected an integer number of bytes");
  CHECK(bench.said[3].find("pattern too expensive") != std::string::npos);
}

TEST_CASE("rules: errors in a rule are reported before it runs") {
  const auto refused = [](const RuleText &text) {
    const auto rules = btrace::Rules::make({{.match = "good", .emit = "drop"}, text});
    return rules ? std::string() : rules.error();
  };
  CHECK(refused({.match = "(a", .emit = "drop"}) == "rules[2].match: the pattern \"(a\" has a ( without a )");
  CHECK(refused({.match = "a)", .emit = "drop"}) == "rules[2].match: the pattern \"a)\" has a ) without a (");
  CHECK(refused({.match = "[a", .emit = "drop"}) == "rules[2].match: the pattern \"[a\" has a [ without a ]");
  CHECK(refused({.match = "[]", .emit = "drop"}).ends_with("has a [ without a ]"));
  CHECK(refused({.match = "[a%", .emit = "drop"}).ends_with("has a [ without a ]"));
  CHECK(refused({.match = "a%", .emit = "drop"}).ends_with("ends with %"));
  CHECK(refused({.match = "%b(", .emit = "drop"}).ends_with("ends within %b"));
  CHECK(refused({.match = "%fa", .emit = "drop"}).ends_with("has a %f without a [set]"));
  CHECK(refused({.match = "(a)", .emit = "metrics"}) == "rules[2].captures: 0 listed, but the pattern \"(a)\" has 1");
  CHECK(refused({.match = "a", .emit = "begin"}) == "rules[2].level: missing; a span requires job, stage, task, phase or region");
  CHECK(refused({.match = "(a)", .emit = "metrics", .captures = {"job"}}) ==
        "rules[2].captures: unknown word \"job\"; write tag.NAME, field.NAME, _ to ignore it, or time");
  CHECK(refused({.match = "(a)", .emit = "begin", .level = "job", .captures = {"jop"}}).find("unknown word \"jop\"") !=
        std::string::npos);
  CHECK(refused({.match = "()%d[]x]%b()%f[%w](_)", .emit = "begin", .level = "job", .captures = {"_", "tag.x"}}).empty());
}

}  // namespace atalaya::testing
