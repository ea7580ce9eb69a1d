// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/sparklog/spark_metrics.h"

#include <algorithm>
#include <unordered_map>

#include "core/base/text/text.h"
#include "plugins/shared/protocols/jhist/jhist_reader.h"

namespace atalaya::protocols {
namespace {

using simdjson::SUCCESS;

constexpr size_t kMaxMetricDepth = 3;
constexpr int64_t kMaxTime = int64_t{1} << 42;  // ms: 140 years

int64_t sum(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? (a < 0 ? INT64_MIN : INT64_MAX) : result;
}

// A measured time in milliseconds; 0: none.
int64_t length_of(const std::optional<int64_t> &ms) {
  return ms && *ms > 0 ? std::min(*ms, kMaxTime) : 0;
}

std::optional<int64_t> amount_of(const std::optional<io::JsonObject> &group, std::string_view key) {
  if (!group) return std::nullopt;
  const auto value = io::integer_of(*group, key);
  return value && *value >= 0 ? value : std::nullopt;
}

struct ShuffleRead {
  std::optional<int64_t> bytes, remote, records, wait_ms;
  std::string source;  // of the larger part; empty: unknown
};

ShuffleRead shuffle_read_of(const io::JsonObject &metrics) {
  const auto group = io::object_of(metrics, "Shuffle Read Metrics");
  ShuffleRead out;
  out.remote = amount_of(group, "Remote Bytes Read");
  const auto local = amount_of(group, "Local Bytes Read");  // since 1.3
  if (out.remote && local) {
    out.bytes = sum(*out.remote, *local);
    if (*out.bytes > 0) out.source = *out.remote > *local ? "network" : "disk";
  }
  out.records = amount_of(group, "Total Records Read");
  out.wait_ms = amount_of(group, "Fetch Wait Time");
  return out;
}

// The source of the input. Only Spark 1 logs it; later versions log the locality: process-local input is cached or has no location.
std::string input_source(const std::optional<io::JsonObject> &input, std::string_view locality) {
  if (!input) return {};
  const std::string_view method = io::text_of(*input, "Data Read Method");
  if (method == "Memory") return "memory";
  if (method == "Disk") return "disk";
  if (method == "Network") return "network";
  if (locality == "node") return "disk";
  return locality == "rack" || locality == "datacenter" || locality == "remote" ? "network" : "";
}

Span phase_within(const Span &task, const char *name, int64_t start, int64_t length) {
  Span phase;
  phase.text = "phase";
  phase.framework = task.framework;
  phase.host = task.host;
  phase.job = task.job;
  phase.stage = task.stage;
  phase.task = task.task;
  phase.attempt = task.attempt;
  phase.executor = task.executor;
  phase.phase = name;
  phase.quality = "model";
  phase.start_ms = start;
  phase.duration_ms = length;
  return phase;
}

// Appends phases one after the other.
class Timeline {
 public:
  Timeline(const Span &task, int64_t start, Spans &out) : task_(task), at_(start), out_(out) {}

  // Omits a phase without time and bytes.
  Span *add(const char *name, int64_t length, const std::optional<int64_t> &bytes = std::nullopt) {
    if (length <= 0 && bytes.value_or(0) == 0) return nullptr;
    out_.push_back(phase_within(task_, name, at_, length));
    out_.back().bytes = bytes;
    at_ += length;
    return &out_.back();
  }

 private:
  const Span &task_;
  int64_t at_;
  Spans &out_;
};

std::optional<int64_t> number_in(io::JsonElement value) {
  int64_t number = 0;
  std::string_view text;
  if (value.get(number) == SUCCESS) return number;
  if (value.get(text) != SUCCESS) return std::nullopt;  // Spark 1 writes texts
  return core::number_from<int64_t>(text);
}

}  // namespace

void read_metrics(std::string_view group, const io::JsonObject &metrics, Counters &out, size_t depth) {
  for (const auto field : metrics) {
    int64_t number = 0;
    io::JsonObject inner;
    if (field.value.get(number) == SUCCESS) {
      if (out.size() < kMaxCounters)
        out.push_back({std::string(group.substr(0, kMaxCounterText)), std::string(field.key.substr(0, kMaxCounterText)), number});
    } else if (depth < kMaxMetricDepth && field.value.get(inner) == SUCCESS) {
      read_metrics(field.key, inner, out, depth + 1);
    }
  }
}

void read_accumulables(const io::JsonObject &info, std::string_view key, bool with_internal, Counters &out) {
  simdjson::dom::array list;
  const auto found = io::member(info, "Accumulables");
  if (!found || found->get(list) != SUCCESS) return;
  std::unordered_map<std::string_view, size_t> places;
  for (const io::JsonElement element : list) {
    io::JsonObject one;
    if (element.get(one) != SUCCESS) continue;
    const std::string_view name = io::text_of(one, "Name");
    const auto value = io::member(one, key);
    const auto number = value ? number_in(*value) : std::nullopt;
    if (!number || name.empty() || (!with_internal && name.starts_with("internal.metrics."))) continue;
    const auto [place, is_new] = places.emplace(name, out.size());
    if (!is_new) {
      Counter &same = out[place->second];
      same.value = sum(same.value, *number);
    } else if (out.size() < kMaxCounters) {
      out.push_back({"Accumulables", std::string(name.substr(0, kMaxCounterText)), *number});
    } else {
      places.erase(place);
    }
  }
}

void measure_task(const io::JsonObject &metrics, Span &task) {
  const auto input = io::object_of(metrics, "Input Metrics");
  const ShuffleRead shuffle = shuffle_read_of(metrics);
  const auto input_bytes = amount_of(input, "Bytes Read");
  if (input_bytes || shuffle.bytes) task.bytes = sum(input_bytes.value_or(0), shuffle.bytes.value_or(0));
  const auto records = amount_of(input, "Records Read");
  if (records || shuffle.records) task.records = sum(records.value_or(0), shuffle.records.value_or(0));
  const bool input_known = input_bytes.value_or(0) == 0 || !input_source(input, task.locality).empty();
  const int64_t remote_input = input_source(input, task.locality) == "network" ? input_bytes.value_or(0) : 0;
  if (task.bytes && input_known) task.remote_bytes = sum(remote_input, shuffle.bytes ? shuffle.remote.value_or(0) : 0);
  task.gc_ms = io::integer_of(metrics, "JVM GC Time");
}

void add_task_phases(const io::JsonObject &metrics, const Span &task, int64_t getting_result_ms, Spans &out) {
  const int64_t end = task.start_ms + task.duration_ms;
  const bool fetched = getting_result_ms > task.start_ms && getting_result_ms <= end;
  const int64_t run_end = fetched ? getting_result_ms : end;
  const int64_t deserialize = length_of(io::integer_of(metrics, "Executor Deserialize Time"));
  const int64_t run = length_of(io::integer_of(metrics, "Executor Run Time"));
  const int64_t serialize = length_of(io::integer_of(metrics, "Result Serialization Time"));
  const ShuffleRead shuffle = shuffle_read_of(metrics);
  const auto written = io::object_of(metrics, "Shuffle Write Metrics");
  const int64_t wait = std::min(length_of(shuffle.wait_ms), run);
  const int64_t write = std::min(amount_of(written, "Shuffle Write Time").value_or(0) / 1'000'000, run - wait);  // logged in ns
  const auto input = io::object_of(metrics, "Input Metrics");
  // The scheduler's delay comes first.
  Timeline timeline(task, std::max(task.start_ms, run_end - deserialize - run - serialize), out);
  timeline.add("deserialize", deserialize);
  if (Span *phase = timeline.add("shuffle-read", wait, shuffle.bytes)) {
    phase->records = shuffle.records;
    phase->remote_bytes = shuffle.remote;
    phase->source = shuffle.source;
  }
  // Spark logs an input of 0 also without input: in a stage that reads a shuffle, the bytes belong to that phase.
  const bool has_input = amount_of(input, "Bytes Read").value_or(0) > 0 || shuffle.bytes.value_or(0) == 0;
  if (Span *phase = timeline.add("compute", run - wait - write, has_input ? amount_of(input, "Bytes Read") : std::nullopt)) {
    if (has_input) phase->records = amount_of(input, "Records Read");
    if (phase->bytes.value_or(0) > 0) phase->source = input_source(input, task.locality);
  }
  auto written_bytes = amount_of(written, "Shuffle Bytes Written");
  if (Span *phase = timeline.add("shuffle-write", write, written_bytes)) {
    phase->records = amount_of(written, "Shuffle Records Written");
    if (!phase->records) phase->records = amount_of(written, "Shuffle Write Records Written");
  }
  timeline.add("result-serialize", serialize);
  if (fetched) out.push_back(phase_within(task, "result-fetch", getting_result_ms, end - getting_result_ms));
  if (fetched) out.back().quality.clear();
}

}  // namespace atalaya::protocols
