// SPDX-License-Identifier: Apache-2.0
// Interpretation of a server's answer. All input is untrusted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::http_sink {

enum class Verdict {
  accepted,
  refused,  // the server refuses something in this request for good: find it
  retry,    // the server, the connection or the configuration is at fault, not the points
};
Verdict verdict_of(int status);

// Retry-After, in seconds or as a date, as a waiting time of at most five minutes. 0: absent or not understood.
int64_t retry_after(std::string_view header, int64_t now_ns);

// A point named by the answer to OpenTSDB's put?details.
struct RefusedPoint {
  std::string key;    // point_key of it
  std::string error;  // the server's message
  bool retry;         // a temporary failure of the server, not a refusal
};
// All points that the answer names; none if the answer has another form, or names fewer points than it reports as failed.
std::optional<std::vector<RefusedPoint>> refused_points(std::string_view body);

// Metric, timestamp and tags of a point in OpenTSDB's JSON, tags sorted by key; empty if the point is malformed.
std::string point_key(std::string_view point);

}  // namespace atalaya::http_sink
