// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/trace/timeline.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "core/base/text/json.h"

namespace atalaya::trace {
namespace {

// Microseconds with three decimals, written as text: a double of current times would lose the nanoseconds.
void append_microseconds(std::string &out, int64_t ns) {
  char text[40];
  const std::lldiv_t parts = std::lldiv(std::llabs(ns), 1000);
  std::snprintf(text, sizeof(text), "%s%lld.%03lld", ns < 0 ? "-" : "", parts.quot, parts.rem);
  out += text;
}

}  // namespace

int Timeline::number_of(const std::string &process) {
  const auto [at, is_new] = processes_.try_emplace(process, static_cast<int>(processes_.size()) + 1);
  if (is_new) append_name("process_name", at->second, 0, process);
  return at->second;
}

// The first lane in which the slice starts after all other slices, or is inside the last one. Slices come by start, longer ones
// first.
int Timeline::lane_for(const Slice &slice) {
  auto &lanes = lanes_[{slice.process, slice.category}];
  for (Lane &lane : lanes) {
    while (!lane.ends.empty() && lane.ends.back() <= slice.start_ns) lane.ends.pop_back();
    if (!lane.ends.empty() && lane.ends.back() < slice.end_ns) continue;
    lane.ends.push_back(slice.end_ns);
    return lane.number;
  }
  Lane &lane = lanes.emplace_back();
  lane.number = ++last_lane_;
  lane.ends.push_back(slice.end_ns);
  append_name("thread_name", number_of(slice.process), lane.number,
              lanes.size() == 1 ? slice.category : slice.category + " " + std::to_string(lanes.size()));
  return lane.number;
}

void Timeline::start_event(char phase, int process, int lane) {
  if (out_.back() != '[') out_ += ",\n";
  out_.append("{\"ph\":\"").append(1, phase).append("\",\"pid\":").append(std::to_string(process));
  out_.append(",\"tid\":").append(std::to_string(lane));
}

void Timeline::append_name(std::string_view kind, int process, int lane, std::string_view name) {
  start_event('M', process, lane);
  out_.append(",\"name\":\"").append(kind).append("\",\"args\":{\"name\":");
  core::append_json_string(out_, name);
  out_ += "}}";
}

void Timeline::append_slice(const Slice &slice) {
  const int process = number_of(slice.process);
  const int lane = lane_for(slice);
  start_event('X', process, lane);
  core::append_json_string(out_ += ",\"name\":", slice.name);
  core::append_json_string(out_ += ",\"cat\":", slice.category);
  append_microseconds(out_ += ",\"ts\":", slice.start_ns);
  append_microseconds(out_ += ",\"dur\":", slice.end_ns - slice.start_ns);
  append_arguments(slice);
  out_ += '}';
}

void Timeline::append_arguments(const Slice &slice) {
  if (slice.texts.empty() && slice.numbers.empty() && !slice.open) return;
  out_ += ",\"args\":{";
  const auto key = [&](const std::string &name) {
    if (out_.back() != '{') out_ += ',';
    core::append_json_string(out_, name);
    out_ += ':';
  };
  for (const auto &[name, text] : slice.texts) {
    key(name);
    core::append_json_string(out_, text);
  }
  for (const auto &[name, number] : slice.numbers) {
    key(name);
    core::append_number(out_, number);
  }
  if (slice.open) {
    key("open");
    out_ += "true";
  }
  out_ += '}';
}

void Timeline::append_value(const Value &value) {
  start_event('C', number_of(value.process), 0);
  core::append_json_string(out_ += ",\"name\":", value.name);
  append_microseconds(out_ += ",\"ts\":", value.time_ns);
  out_ += ",\"args\":{\"value\":";
  core::append_number(out_, value.value);
  out_ += "}}";
}

std::string Timeline::text() {
  std::stable_sort(slices_.begin(), slices_.end(), [](const Slice &a, const Slice &b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  out_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  for (const Slice &slice : slices_) append_slice(slice);
  for (const Value &value : values_) append_value(value);
  return std::exchange(out_, {}) + "]}\n";
}

}  // namespace atalaya::trace
