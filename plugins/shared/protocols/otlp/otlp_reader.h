// SPDX-License-Identifier: Apache-2.0
// Reads metrics of OpenTelemetry's protocol: ExportMetricsServiceRequest of opentelemetry-proto 1.5, as protobuf or JSON.
//   request: resource metrics [ resource attributes, scope metrics [ metric [ name, unit, data [ points ] ] ] ]
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/protocols/base/record.h"

namespace atalaya::protocols {

// Each point is a sample. Attributes of the resource and of the point are tags: host.name is `host`, process.pid `pid`,
// process.executable.name `process`, container.name `container`; others keep their names, lists and maps are JSON. Metrics keep
// their names, too. Gauges and cumulative sums that may fall are gauges; values of temporality delta are deltas over their window;
// other cumulative ones are totals. Of a histogram and a summary, the count (.count) and the sum (.sum) are stored. Each metric is
// declared to the host; points of a metric that has another kind there are refused. A point without a recorded value ends its
// series and is not stored. Account::note names the refused points and the parts that are not stored.
class OtlpReader {
 public:
  Account read(std::string_view body, const Rules &rules, RecordReceiver &receiver);
  // Reads a request in JSON. DocumentReader::kPadding bytes after the body must be readable.
  Account read_json(std::string_view body, const Rules &rules, RecordReceiver &receiver);

  // The message ExportMetricsServiceResponse; "" without a note.
  static std::string response(const Account &account);
  static std::string json_response(const Account &account);

 private:
  struct Metric;
  void resource_metrics(std::string_view message);
  void scope_metrics(std::string_view message);
  void metric(std::string_view message);
  void data(std::string_view message, Metric &metric, uint32_t form);
  struct Point;
  Point read_point(std::string_view message, uint32_t form);
  void point(std::string_view message, const Metric &metric, uint32_t form);
  bool declare(const Metric &metric, uint32_t kind, std::string_view suffix);
  void add_note(std::string_view text);
  void refuse_point(std::string_view why);
  void add_attribute(std::string_view message);
  std::string_view stored(std::string text) { return texts_.emplace_back(std::move(text)); }

  const Rules *rules_ = nullptr;
  RecordReceiver *receiver_ = nullptr;
  Account account_;
  Record record_;
  size_t resource_tags_ = 0;       // number of the record's tags that are of the resource; they are the first ones
  std::deque<std::string> texts_;  // texts of the current resource
  std::map<std::string_view, uint64_t> refusals_, omitted_;  // points of this request, by reason or part
};

}  // namespace atalaya::protocols
