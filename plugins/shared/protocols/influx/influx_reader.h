// SPDX-License-Identifier: Apache-2.0
// InfluxDB's line protocol: docs.influxdata.com/influxdb/v1/write_protocols/line_protocol_reference.
//   MEASUREMENT[,TAG=VALUE...] FIELD=VALUE[,FIELD=VALUE...] [TIME]
// Any number of blanks and tabs is between the parts and around them. A quote begins a text only behind the '=' of a field, and
// only there may a line feed follow; elsewhere it is a plain character.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "plugins/shared/protocols/base/record.h"

namespace atalaya::protocols {

// The time unit in ns of a request's argument `precision`: ns (the default), u, us, ms, s, m or h; nothing if it is unknown.
std::optional<int64_t> precision_from_name(std::string_view name);

// Each line is a sample without a window. The metric of a field is MEASUREMENT.FIELD; that of the field "value" is MEASUREMENT.
// Booleans are 0 and 1. Text fields are ignored. A line without a time has the time `now_ns`.
class InfluxReader {
 public:
  Account read(std::string_view body, int64_t unit_ns, int64_t now_ns, const Rules &rules, RecordReceiver &receiver);

 private:
  std::string_view plain(std::string_view text, std::string_view ends);
  core::Result<std::string_view> name(std::string_view &rest, std::string_view ends, std::string_view missing);
  std::string_view joined(std::string_view measurement, std::string_view field);
  core::Status line(std::string_view text, int64_t unit_ns, int64_t now_ns);
  core::Status add_tags(std::string_view &rest);
  core::Status add_fields(std::string_view &rest, std::string_view measurement);

  Record record_;
  std::deque<std::string> texts_;  // texts of the current line, without escapes
};

}  // namespace atalaya::protocols
