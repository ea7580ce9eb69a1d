// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/unit/protocols/btrace/line_bench.h"

namespace atalaya::testing {

TEST_CASE("phase lines: a begin and its end are a span") {
  LineBench bench;
  CHECK(bench.read({"atalaya begin phase framework=hadoop job=job_1 stage=map task=task_1 attempt=attempt_1_0 phase=spill "
                    "source=disk time=1700000000100",
                    "atalaya end phase job=job_1 stage=map task=task_1 attempt=attempt_1_0 phase=spill time=1700000000350 "
                    "bytes=4096 records=10 outcome=0"}) ==
        Lines{"span phase 1700000000100000000+250000000 [framework=hadoop job=job_1 stage=map task=task_1 attempt=attempt_1_0 "
              "phase=spill source=disk] "
              "span.bytes=4096i span.records=10i span.outcome=0i"});
}

TEST_CASE("phase lines: a whole span in one line, anywhere in a line of a logger") {
  LineBench bench;
  CHECK(bench.read({"2026-11-22 10:00:00 INFO x: atalaya span region name=parse%20all%3d%25 start=1700000000000000001 "
                    "end=1700000000000000500 remote=7 bytes=9",
                    "atalaya span job job=j name=sort end=1700000002 start=1700000000.5 outcome=KILLED "
                    "counter.FileSystem.BYTES_READ=12 counter.x.ratio=0.5"}) ==
        Lines{"span region 1700000000000000001+499 [name=parse all=%] span.bytes.remote=7i span.bytes=9i",
              "span job 1700000000500000000+1500000000 [job=j name=sort] span.outcome=2i counter.FileSystem.BYTES_READ=12i "
              "counter.x.ratio=0.5"});
}

TEST_CASE("phase lines: without a time, when the line was read; empty values are absent") {
  LineBench bench;
  CHECK(bench.read({"atalaya begin task task=t job= ", "atalaya end task task=t"}) ==
        Lines{"span task " + std::to_string(kNow) + "+0 [task=t]"});
}

TEST_CASE("phase lines: a phase with a derived place is marked") {
  LineBench bench;
  CHECK(bench.read({"atalaya span phase phase=read quality=placed start=1700000000000 end=1700000000100",
                    "atalaya begin phase phase=map quality=placed time=1700000000100",
                    "atalaya end phase phase=map time=1700000000200",
                    "atalaya span phase phase=spill quality= start=1700000000000 end=1700000000100"}) ==
        Lines{"span phase 1700000000000000000+100000000 [phase=read quality=placed]",
              "span phase 1700000000100000000+100000000 [phase=map quality=placed]",
              "span phase 1700000000000000000+100000000 [phase=spill]"});
}

TEST_CASE("phase lines: every source and locality") {
  LineBench bench;
  size_t spans = 0;
  for (const char *word : {"source=memory", "source=disk", "source=network", "source=cache", "source=", "locality=node",
                           "locality=rack", "locality=datacenter", "locality=remote", "locality=process", "locality="})
    spans += bench.read({"atalaya span phase phase=read start=1700000000 end=1700000001 " + std::string(word)}).size();
  CHECK(spans == 11);
  CHECK(bench.said.empty());
}

TEST_CASE("phase lines: invalid lines are logged and counted, and have no effect") {
  const std::pair<const char *, const char *> cases[] = {
      {"atalaya begin phse task=t", "unknown level \"phse\"; use job, stage, task, phase or region"},
      {"atalaya begin phase tsak=t", "unknown key \"tsak\""},
      {"atalaya begin phase task=t time=yesterday",
       "invalid value \"yesterday\" of time; expected Unix time in s, ms, us or ns; seconds may have a fraction"},
      {"atalaya end phase task=t bytes=-1", "invalid value \"-1\" of bytes; expected an integer number of bytes"},
      {"atalaya end phase task=t bytes=1MB", "invalid value \"1MB\" of bytes; expected an integer number of bytes"},
      {"atalaya end phase task=t gc=0.5", "invalid value \"0.5\" of gc; expected an integer number of milliseconds"},
      {"atalaya end phase task=t spills=x", "invalid value \"x\" of spills; expected an integer"},
      {"atalaya end phase task=t counter.a.b=x", "invalid value \"x\" of counter.a.b; expected a number"},
      {"atalaya end phase task=t outcome=3", "invalid value \"3\" of outcome; expected 0 or succeeded, 1 or failed, 2 or killed"},
      {"atalaya begin phase task=t quality=good", "invalid value \"good\" of quality; expected placed"},
      {"atalaya begin phase task=t source=disc", "invalid value \"disc\" of source; expected memory, disk, network or cache"},
      {"atalaya begin phase task=t locality=NODE_LOCAL",
       "invalid value \"NODE_LOCAL\" of locality; expected node, rack, datacenter, remote or process"},
      {"atalaya end phase task", "\"task\" is not KEY=VALUE"},
      {"atalaya end phase task=%4", "\"task=%4\" has a % without two hexadecimal digits; write %25"},
      {"atalaya span region name=x start=1700000000", "a span requires start= and end="}};
  for (const auto &[line, problem] : cases) {
    LineBench bench;
    CHECK(bench.read({line}).empty());
    CHECK(bench.said == Lines{"line \"" + std::string(line) + "\": " + problem});
    CHECK(bench.counts().bad == 1);
    CHECK(bench.reader->spans().open() == 0);
  }
  LineBench bench;
  CHECK(bench.read({"atalaya", "atalaya is a watchtower", "notatalaya begin task task=t"}).empty());
  CHECK(bench.counts().bad == 0);
  LineBench flood;
  CHECK(flood.read({"atalaya end phase task=t bytes=1", "atalaya end phase task=t bytes=x", "atalaya end phase task=t bytes=y"})
            .empty());
  CHECK(flood.counts().bad == 2);
  CHECK(std::count_if(flood.said.begin(), flood.said.end(),
                      [](const std::string &said) { return said.ends_with("number of bytes"); }) == 1);
  LineBench off({.phase_lines = false});
  CHECK(off.read({"atalaya span region name=x start=1 end=2"}).empty());
}

}  // namespace atalaya::testing
