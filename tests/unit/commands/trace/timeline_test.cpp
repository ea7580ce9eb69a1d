// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/trace/timeline.h"

#include <doctest/doctest.h>
#include <simdjson.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace atalaya::trace {
namespace {

struct Drawn {
  int64_t process = 0, lane = 0;
  double begin = 0, end = 0;  // µs
  std::string name;
};

std::vector<Drawn> slices_of(const std::string &text) {
  simdjson::dom::parser parser;
  std::vector<Drawn> found;
  for (const simdjson::dom::element event : parser.parse(text)["traceEvents"]) {
    if (std::string_view(event["ph"]) != "X") continue;
    const double begin = double(event["ts"]);
    found.push_back({int64_t(event["pid"]), int64_t(event["tid"]), begin, begin + double(event["dur"]),
                     std::string(std::string_view(event["name"]))});
  }
  return found;
}

TEST_CASE("each slice is drawn once, and slices of a lane are disjoint or nested") {
  std::mt19937_64 random(5);
  const auto number = [&](int64_t below) { return static_cast<int64_t>(random() % static_cast<uint64_t>(below)); };
  for (int round = 0; round < 100; ++round) {
    Timeline timeline;
    std::map<std::string, std::pair<int64_t, int64_t>> wanted;
    for (int i = 0; i < 60; ++i) {
      const int64_t begin = number(1000) * 1000;
      const int64_t end = begin + number(300) * 1000;
      const std::string name = "s" + std::to_string(i);
      wanted[name] = {begin / 1000, end / 1000};
      timeline.add(Slice{"p" + std::to_string(number(3)), number(2) == 0 ? "task" : "phase", name, begin, end, false, {}, {}});
    }
    const std::vector<Drawn> drawn = slices_of(timeline.text());
    REQUIRE(drawn.size() == wanted.size());
    for (const Drawn &one : drawn) {
      CHECK(static_cast<int64_t>(one.begin) == wanted.at(one.name).first);
      CHECK(static_cast<int64_t>(one.end) == wanted.at(one.name).second);
      for (const Drawn &other : drawn) {
        if (&one == &other || one.lane != other.lane) continue;
        CHECK(one.process == other.process);
        const bool disjoint = one.end <= other.begin || other.end <= one.begin;
        const bool nested =
            (one.begin >= other.begin && one.end <= other.end) || (other.begin >= one.begin && other.end <= one.end);
        CHECK((disjoint || nested));
      }
    }
  }
}

TEST_CASE("slices one after another share a lane") {
  Timeline timeline;
  for (int64_t i = 0; i < 5; ++i) timeline.add(Slice{"p", "task", "t", i * 1000, (i + 1) * 1000, false, {}, {}});
  const auto drawn = slices_of(timeline.text());
  CHECK(std::all_of(drawn.begin(), drawn.end(), [&](const Drawn &one) { return one.lane == drawn.front().lane; }));
}

TEST_CASE("times keep their nanoseconds, names keep any characters") {
  Timeline timeline;
  timeline.add(Slice{
      "p\"\\", "task", "<script>\n", 1'700'000'000'123'456'789, 1'700'000'000'123'456'790, true, {{"k\"", "v"}}, {{"n", 1.5}}});
  timeline.add(Value{"p\"\\", "cpu", 1'700'000'000'000'000'001, 2.25});
  const std::string text = timeline.text();
  CHECK(text.find("\"ts\":1700000000123456.789,\"dur\":0.001") != std::string::npos);
  CHECK(text.find("\"args\":{\"k\\\"\":\"v\",\"n\":1.5,\"open\":true}") != std::string::npos);
  CHECK(text.find("\"ts\":1700000000000000.001,\"args\":{\"value\":2.25}") != std::string::npos);
  simdjson::dom::parser parser;
  CHECK(parser.parse(text)["traceEvents"].get_array().size() == 4);  // two names, a slice, a value
}

}  // namespace
}  // namespace atalaya::trace
