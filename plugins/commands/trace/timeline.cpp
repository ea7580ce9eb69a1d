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
std::string microseconds(int64_t ns) {
  char text[40];
  const std::lldiv_t parts = std::lldiv(std::llabs(ns), 1000);
  std::snprintf(text, sizeof(text), "%s%lld.%03lld", ns < 0 ? "-" : "", parts.quot, parts.rem);
  return text;
}

}  // namespace

int Timeline::number_of(const std::string &process) {
  const auto [at, is_new] = processes_.try_emplace(process, static_cast<int>(processes_.size()) + 1);
  if (is_new) write_name("process_name", at->second, 0, process);
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
  write_name("thread_name", number_of(slice.process), lane.number,
             lanes.size() == 1 ? slice.category : slice.category + " " + std::to_string(lanes.size()));
  return lane.number;
}

void Timeline::start_event(char phase, int process, int lane) {
  json_->line().object().key("ph").text({&phase, 1}).key("pid").integer(process).key("tid").integer(lane);
}

void Timeline::write_name(std::string_view kind, int process, int lane, std::string_view name) {
  start_event('M', process, lane);
  json_->key("name").text(kind).key("args").object().key("name").text(name).end_object().end_object();
}

void Timeline::write_slice(const Slice &slice) {
  const int process = number_of(slice.process);
  const int lane = lane_for(slice);
  start_event('X', process, lane);
  json_->key("name").text(slice.name).key("cat").text(slice.category);
  json_->key("ts").raw(microseconds(slice.start_ns)).key("dur").raw(microseconds(slice.end_ns - slice.start_ns));
  if (!slice.texts.empty() || !slice.numbers.empty() || slice.open) {
    json_->key("args").object();
    for (const auto &[name, text] : slice.texts) json_->key(name).text(text);
    for (const auto &[name, number] : slice.numbers) json_->key(name).number(number);
    if (slice.open) json_->key("open").boolean(true);
    json_->end_object();
  }
  json_->end_object();
}

void Timeline::write_value(const Value &value) {
  start_event('C', number_of(value.process), 0);
  json_->key("name").text(value.name).key("ts").raw(microseconds(value.time_ns));
  json_->key("args").object().key("value").number(value.value).end_object().end_object();
}

std::string Timeline::text() {
  std::stable_sort(slices_.begin(), slices_.end(), [](const Slice &a, const Slice &b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  json_.emplace().object().key("displayTimeUnit").text("ms").key("traceEvents").list();
  for (const Slice &slice : slices_) write_slice(slice);
  for (const Value &value : values_) write_value(value);
  return json_->end_list().end_object().take() + "\n";
}

}  // namespace atalaya::trace
