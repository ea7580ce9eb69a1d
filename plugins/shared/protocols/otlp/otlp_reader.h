// SPDX-License-Identifier: Apache-2.0
// Reads metrics of OpenTelemetry's protocol: ExportMetricsServiceRequest of opentelemetry-proto 1.5, as protobuf.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/protocols/base/record.h"

namespace atalaya::protocols {

// Each point is a sample. Attributes of the resource and of the point are tags: host.name is `host`, process.pid `pid`,
// process.executable.name `process`, container.name `container`; others keep their names. Metrics keep their names, too. Gauges and
// sums that may fall are gauges; sums of temporality delta are deltas over their window; cumulative ones are totals. Of a histogram
// and a summary, the count (.count) and the sum (.sum) are read, and its buckets are not. Each metric is declared to the host.
class OtlpReader {
 public:
  Account read(std::string_view body, const Rules &rules, Taker &taker);

  // The message ExportMetricsServiceResponse for these refused points; "" if there are none.
  static std::string response(uint64_t refused, std::string_view why);

 private:
  struct Metric;
  void resource_metrics(std::string_view message);
  void scope_metrics(std::string_view message);
  void metric(std::string_view message);
  void data(std::string_view message, Metric &metric, uint32_t form);
  void point(std::string_view message, const Metric &metric, uint32_t form);
  void take();
  void declare(const Metric &metric, uint32_t kind, std::string_view suffix);
  void refuse_point(std::string_view why);
  void add_attribute(std::string_view message);
  std::string_view stored(std::string text) { return texts_.emplace_back(std::move(text)); }

  const Rules *rules_ = nullptr;
  Taker *taker_ = nullptr;
  Account account_;
  Record record_;
  size_t resource_tags_ = 0;       // number of the record's tags that are of the resource; they are the first ones
  std::deque<std::string> texts_;  // of the current resource
};

}  // namespace atalaya::protocols
