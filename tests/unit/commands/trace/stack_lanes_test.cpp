// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/trace/stack_lanes.h"

#include <doctest/doctest.h>
#include <simdjson.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace atalaya::trace {
namespace {

constexpr int64_t kWindow = 60'000'000'000;

struct Frame {
  int64_t process = 0, lane = 0;
  int64_t begin = 0, end = 0;  // ns
  std::string name;
  double sum = 0;  // of a window
};

std::vector<Frame> drawn(const StackLanes &lanes, size_t processes) {
  Timeline timeline;
  size_t added = 0;
  lanes.draw(timeline, processes, [&](size_t slices) { added += slices; });
  CHECK(added == timeline.size());
  const std::string text = timeline.text();
  simdjson::dom::parser parser;
  std::vector<Frame> found;
  for (const simdjson::dom::element event : parser.parse(text)["traceEvents"]) {
    if (std::string_view(event["ph"]) != "X") continue;
    const int64_t begin = std::llround(double(event["ts"]) * 1000);
    Frame frame{int64_t(event["pid"]),
                int64_t(event["tid"]),
                begin,
                begin + std::llround(double(event["dur"]) * 1000),
                std::string(std::string_view(event["name"])),
                0};
    if (simdjson::dom::object arguments; event["args"].get(arguments) == simdjson::SUCCESS)
      frame.sum = double(arguments["profile.samples"]);
    found.push_back(std::move(frame));
  }
  return found;
}

// The callers of frames, by containment: the text "main;f" and the length of each frame.
std::map<std::string, int64_t> lengths(const std::vector<Frame> &frames) {
  std::map<std::string, int64_t> found;
  std::vector<std::pair<int64_t, std::string>> open;  // ends and paths
  for (const Frame &frame : frames) {
    while (!open.empty() && open.back().first <= frame.begin) open.pop_back();
    if (!open.empty()) CHECK(frame.end <= open.back().first);
    const std::string path = open.empty() ? frame.name : open.back().second + ";" + frame.name;
    CHECK(found.emplace(path, frame.end - frame.begin).second);  // a frame of one caller is drawn once
    open.emplace_back(frame.end, path);
  }
  return found;
}

TEST_CASE("each frame is as long as its share of the window's samples") {
  std::mt19937_64 random(7);
  const auto number = [&](uint64_t below) { return random() % below; };
  const std::string names[] = {"main", "f", "f x", "g", "naïve", "a\"b"};
  for (int round = 0; round < 200; ++round) {
    std::map<std::string, double> stacks;
    const uint64_t count = 1 + number(12);
    for (uint64_t i = 0; i < count; ++i) {
      std::string folded;
      for (uint64_t depth = 0; depth <= number(6); ++depth) folded += (folded.empty() ? "" : ";") + names[number(6)];
      stacks[folded] += static_cast<double>(1 + number(20));
    }
    StackLanes lanes("cpu", "profile.samples");
    double sum = 0;
    std::map<std::string, double> inclusive;
    for (const auto &[folded, value] : stacks) {
      CHECK(lanes.add({"h: p-1", 0, kWindow, folded, value / 2}));
      CHECK_FALSE(lanes.add({"h: p-1", 0, kWindow, folded, value - value / 2}));
      sum += value;
      for (size_t end = folded.find(';');; end = folded.find(';', end + 1)) {
        inclusive[folded.substr(0, end)] += value;
        if (end == std::string::npos) break;
      }
    }
    const std::vector<Frame> frames = drawn(lanes, 1);
    REQUIRE(frames.size() == inclusive.size() + 1);
    CHECK(frames[0].name == "cpu");
    CHECK(frames[0].sum == doctest::Approx(sum));
    const std::map<std::string, int64_t> found = lengths(frames);
    for (const auto &[path, value] : inclusive) {
      REQUIRE(found.contains("cpu;" + path));
      CHECK(std::abs(static_cast<double>(found.at("cpu;" + path)) - static_cast<double>(kWindow) * value / sum) < 2);
    }
  }
}

TEST_CASE("the processes with the most samples have a lane each, windows follow each other in it") {
  StackLanes lanes("cpu", "profile.samples");
  for (int64_t window = 0; window < 3; ++window)
    for (int process = 1; process <= 4; ++process) {
      const std::string name = "h: p-" + std::to_string(process);
      lanes.add({name, window * kWindow, (window + 1) * kWindow, "main;f", double(process)});
    }
  const std::vector<Frame> frames = drawn(lanes, 2);
  CHECK(frames.size() == 2 * 3 * 3);
  std::set<std::pair<int64_t, int64_t>> places;
  for (const Frame &frame : frames) places.emplace(frame.process, frame.lane);
  CHECK(places.size() == 2);
}

TEST_CASE("frames too small to be seen are omitted, their callers are not") {
  StackLanes lanes("cpu", "profile.samples");
  lanes.add({"p", 0, kWindow, "main;f", 9999});
  lanes.add({"p", 0, kWindow, "main;rare", 1});
  const std::map<std::string, int64_t> found = lengths(drawn(lanes, 1));
  CHECK(found.contains("cpu;main;f"));
  CHECK_FALSE(found.contains("cpu;main;rare"));
  CHECK(found.at("cpu;main") == kWindow);
}

}  // namespace
}  // namespace atalaya::trace
