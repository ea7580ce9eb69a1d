// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/phases/phases.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/filters/stages/fixture.h"

namespace atalaya::phases {
namespace {

using testing::Bench;
using testing::kSecond;
using Lines = std::vector<std::string>;

struct SpanSeen {
  int64_t start = 0, seconds = 0;  // from the first window; -1: open
  std::string tags;
  bool operator==(const SpanSeen &) const = default;
};

// A translator without a store, and the spans that it would leave in one.
struct Watched {
  explicit Watched(std::initializer_list<std::pair<std::string, core::Value>> more = {}) {
    core::Value written = testing::table({{"store", testing::text("none")}, {"buffer", testing::integer(40)}});
    for (const auto &one : more) written.map.push_back(one);
    std::sort(written.map.begin(), written.map.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
    bench.emplace(written);
  }
  Lines window(const Lines &in) {
    Lines out = bench->process(in, second++);
    keep_spans();
    return out;
  }
  // The engine starts over after a step of the clock: a window without a length.
  void step_clock(int64_t by_seconds) {
    second += by_seconds;
    atalaya_window window = testing::window_at(second++);
    window.flags = ATALAYA_WINDOW_BASELINE;
    window.duration_ns = 0;
    bench->batch.clear();
    bench->run(window);
    keep_spans();
  }
  void keep_spans() {
    for (const atalaya_sample &sample : std::span(bench->batch.raw().samples, bench->batch.count())) {
      if (sample.kind != ATALAYA_SPAN || view(sample.text) != "phase") continue;
      const int64_t start = (sample.time_ns - testing::kWindowTime) / kSecond + 1;
      std::string tags;
      for (uint32_t i = 0; i < sample.tag_count; ++i) tags += (i == 0 ? "" : " ") + std::string(view(sample.tags[i].value));
      spans[{tags.substr(0, tags.find(' ')), start}] = {start, sample.duration_ns < 0 ? -1 : sample.duration_ns / kSecond, tags};
    }
  }
  void repeat(int windows, const Lines &in) {
    for (int i = 0; i < windows; ++i) window(in);
  }
  std::optional<Bench<PhasesTranslator>> bench;
  int64_t second = 0;
  std::map<std::pair<std::string, int64_t>, SpanSeen> spans;
};

const Lines kRead = {"stack main;read;parse | pid=7 process=Sort profile=wall | profile.samples=2i",
                     "pid=7 process=Sort | proc.cpu.user=50"};
const Lines kSort = {"stack main;sort;merge | pid=7 process=Sort profile=wall | profile.samples=4i",
                     "pid=7 process=Sort | proc.cpu.user=90"};

TEST_CASE("phases become spans with exact starts, the mean of their resources, and tags of later samples") {
  Watched watched;
  watched.repeat(50, kRead);
  watched.repeat(50, kSort);
  watched.repeat(30, kRead);
  const Lines last = watched.window(kRead);
  CHECK(last[0].find("phase=parse-") != std::string::npos);
  CHECK(last[1].find("phase=parse-") != std::string::npos);
  watched.repeat(8, {});
  REQUIRE(watched.spans.size() == 3);
  auto span = watched.spans.begin();
  CHECK(span->second.start == 0);
  CHECK(span->second.seconds == 50);
  const std::string read = (span++)->second.tags;
  CHECK(read.starts_with("7 Sort parse-"));
  CHECK(span->second.start == 50);
  CHECK(span->second.seconds == 50);
  CHECK((span++)->second.tags.starts_with("7 Sort merge-"));
  CHECK(span->second.start == 100);
  CHECK(span->second.seconds == 31);
  CHECK(span->second.tags == read);
}

TEST_CASE("the fields of a span are statistics of its windows") {
  Watched watched;
  watched.repeat(60, kSort);
  std::string closed;
  for (int i = 0; i < 8; ++i)
    for (const std::string &line : watched.window({}))
      if (line.find("span phase ") != std::string::npos) closed = line;
  CHECK(closed.find("phase.samples=60i") != std::string::npos);
  CHECK(closed.find("phase.threads=4 ") != std::string::npos);
  CHECK(closed.find("phase.cpu=90 ") != std::string::npos);
  CHECK(closed.find("phase.memory") == std::string::npos);  // nobody measured it
}

TEST_CASE("a process that starts with a used pid has phases of its own") {
  Watched watched;
  const auto with_start = [](Lines lines, const std::string &start) {
    lines[1] += " proc.start.time=" + start;
    return lines;
  };
  watched.repeat(45, with_start(kRead, "1000000000000i"));
  watched.repeat(45, with_start(kRead, "5000000000000i"));
  watched.repeat(8, {});
  REQUIRE(watched.spans.size() == 2);
  CHECK(watched.spans.begin()->second.seconds == 45);
  CHECK(watched.spans.rbegin()->second.start == 45);
}

TEST_CASE("without windows of a process its phases end, and do not reach over the gap") {
  for (const int gap : {1, 20, 1000}) {
    CAPTURE(gap);
    Watched watched;
    watched.repeat(50, kRead);
    watched.second += gap;
    watched.repeat(50, kRead);
    watched.repeat(8, {});
    REQUIRE(watched.spans.size() == 2);
    CHECK(watched.spans.begin()->second.seconds == 50);
    CHECK(watched.spans.rbegin()->second.start == 50 + gap);
    CHECK(watched.spans.rbegin()->second.seconds == 50);
  }
}

TEST_CASE("a step of the clock ends the phases before it, and later ones are complete, forward and back") {
  for (const int64_t step : {-100'000, -7, 30, 100'000}) {
    CAPTURE(step);
    Watched watched;
    watched.repeat(50, kRead);
    watched.step_clock(step);
    const int64_t begin = watched.second;
    watched.repeat(50, kRead);
    watched.repeat(50, kSort);
    watched.repeat(8, {});
    std::map<int64_t, std::string> found;
    for (const auto &[key, span] : watched.spans) {
      CHECK(span.seconds == 50);
      found[span.start] = span.tags.substr(0, span.tags.find('-'));
    }
    CHECK(found == std::map<int64_t, std::string>{{0, "7 Sort parse"}, {begin, "7 Sort parse"}, {begin + 50, "7 Sort merge"}});
  }
}

TEST_CASE("collections and shuffles are phases of their own, waiting threads are none") {
  Watched watched;
  watched.repeat(45, {"stack main;sort | pid=7 process=Sort profile=wall | profile.samples=4i",
                      "stack pool;java.lang.Object.wait_[j] | pid=7 process=Sort profile=wall | profile.samples=100i",
                      "pid=7 process=Sort | jvm.gc.time=90"});
  watched.repeat(45, {"stack main;org.Shuffle.fetch;x | pid=7 process=Sort profile=wall | profile.samples=4i"});
  watched.repeat(45, {"stack pool;java.lang.Object.wait_[j] | pid=7 process=Sort profile=wall | profile.samples=100i"});
  watched.repeat(8, {});
  std::vector<std::string> phases;
  for (const auto &[key, span] : watched.spans) phases.push_back(span.tags);
  CHECK(phases == std::vector<std::string>{"7 Sort gc", "7 Sort shuffle", "7 Sort idle"});
}

// A JVM without a dump in a window, because of the budget, was not idle: its phases are those of a JVM with dumps in all windows.
TEST_CASE("windows without a thread dump are a part of the next one, and never idle") {
  const std::string dumped = "pid=7 process=Sort | jvm.gc.time=1 jvm.profile.rate=1",
                    not_dumped = "pid=7 process=Sort | jvm.gc.time=1";
  for (const int every : {1, 2, 3, 6}) {
    CAPTURE(every);
    Watched watched;
    for (int second = 1; second <= 720; ++second) {
      Lines window = second <= 360 ? kRead : kSort;
      if (second % every != 0) window.erase(window.begin());
      window.push_back(second % every == 0 ? dumped : not_dumped);
      watched.window(window);
    }
    watched.repeat(8, {});
    REQUIRE(watched.spans.size() == 2);
    CHECK(watched.spans.begin()->second.tags.starts_with("7 Sort parse-"));
    CHECK(watched.spans.begin()->second.start == every - 1);  // before the first dump nobody samples it
    CHECK(watched.spans.begin()->second.seconds == 360 - (every - 1));
    CHECK(watched.spans.rbegin()->second.tags.starts_with("7 Sort merge-"));
    CHECK(watched.spans.rbegin()->second.start == 360);
    CHECK(watched.spans.rbegin()->second.seconds == 360);
  }
}

TEST_CASE("of a JVM without a dump in more than five windows nothing is known") {
  Watched watched;
  watched.repeat(50, kRead);
  watched.repeat(7, {"pid=7 process=Sort | jvm.gc.time=1 jvm.profile.rate=0"});
  watched.repeat(50, kRead);
  watched.repeat(8, {});
  REQUIRE(watched.spans.size() == 2);
  CHECK(watched.spans.begin()->second.seconds == 50);
  CHECK(watched.spans.rbegin()->second.start == 56);  // the last one is a part of the next window
}

TEST_CASE("the trace's size, the processes and the buffered samples are reported and bounded") {
  Watched watched({{"max_processes", testing::integer(3)}});
  Lines in;
  for (int pid = 1; pid <= 10; ++pid)
    in.push_back("stack main;f" + std::to_string(pid) + " | pid=" + std::to_string(pid) +
                 " process=p profile=cpu | profile.samples=9i");
  Lines out;
  for (int i = 0; i < 30; ++i) out = watched.window(in);
  CHECK(out.back().find("phases.processes=3i") != std::string::npos);
  CHECK(out.back().find("phases.buffered=87i") != std::string::npos);  // the last window is not complete
  CHECK(out.back().find("phases.trace=96") != std::string::npos);      // 3 processes with 2 functions: 2 bytes each
  CHECK(watched.bench->surroundings.logged.find("more than 3 processes") != std::string::npos);
}

// Sources deliver when they are ready: a series still has one value per window, and the sum is that of all batches.
TEST_CASE("several batches of a window give its metrics once") {
  const auto count = [](const Lines &lines) {
    return std::count_if(lines.begin(), lines.end(),
                         [](const std::string &line) { return line.find("phases.trace=") != line.npos; });
  };
  Watched watched;
  watched.repeat(20, {kRead[0]});
  const Lines first = watched.window({kRead[0]});
  CHECK(count(first) == 1);
  CHECK(first.back().find("phases.trace=0 ") == std::string::npos);
  --watched.second;
  CHECK(count(watched.window({kRead[1]})) == 0);
  CHECK(count(watched.window({kRead[0]})) == 1);
}

TEST_CASE("a buffer that holds no phase is refused") {
  Bench<PhasesTranslator> bench(
      testing::table({{"store", testing::text("none")}, {"buffer", testing::integer(20)}, {"least", testing::integer(10)}}));
  CHECK(bench.refused.find("at least 4 times \"least\"") != std::string::npos);
}

}  // namespace
}  // namespace atalaya::phases
