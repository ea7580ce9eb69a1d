// SPDX-License-Identifier: Apache-2.0
// Writes spans and values over time as JSON in the Trace Event Format, which Perfetto and Chrome's about:tracing read. Source:
// "Trace Event Format", a document of the Chromium project. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text/json_writer.h"

namespace atalaya::trace {

struct Slice {
  std::string process;   // name of the group of lanes: a host, a process, a job
  std::string category;  // name of the lanes: "task", "phase"
  std::string name;
  int64_t start_ns = 0, end_ns = 0;
  bool open = false;  // the span has no end yet; end_ns is the end of the range
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<std::pair<std::string, double>> numbers;
};

struct Value {
  std::string process, name;
  int64_t time_ns = 0;
  double value = 0;
};

class Timeline {
 public:
  void add(Slice slice) { slices_.push_back(std::move(slice)); }
  void add(Value value) { values_.push_back(std::move(value)); }
  size_t size() const { return slices_.size() + values_.size(); }

  // Returns {"traceEvents":[...],"displayTimeUnit":"ms"}. Viewers draw slices of a lane correctly only if they are disjoint or
  // nested. So overlapping slices of a process and category are distributed over as many lanes as necessary.
  std::string text();

 private:
  struct Lane {
    int number = 0;
    std::vector<int64_t> ends;  // ends of the open nested slices, the outermost first
  };

  int number_of(const std::string &process);
  int lane_for(const Slice &slice);
  void start_event(char phase, int process, int lane);
  void write_slice(const Slice &slice);
  void write_value(const Value &value);
  void write_name(std::string_view kind, int process, int lane, std::string_view name);

  std::vector<Slice> slices_;
  std::vector<Value> values_;
  std::map<std::string, int> processes_;
  std::map<std::pair<std::string, std::string>, std::vector<Lane>> lanes_;  // by process and category
  int last_lane_ = 0;
  std::optional<core::JsonWriter> json_;
};

}  // namespace atalaya::trace
