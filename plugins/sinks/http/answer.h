// SPDX-License-Identifier: Apache-2.0
// Interprets the answer of a server. All input is untrusted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::http_sink {

enum class Verdict {
  accepted,
  refused,  // the server permanently refuses at least one record of the request: find it
  retry,    // the server, the connection or the configuration failed: send the same request again
};
Verdict verdict_of(int status);

// Parses the header Retry-After (seconds or a date). Returns a waiting time in nanoseconds, maximum 5 minutes; 0: absent or
// malformed.
int64_t retry_after(std::string_view header, int64_t now_ns);

// A point that the answer to OpenTSDB's put?details reports as failed.
struct RefusedPoint {
  std::string key;    // point_key() of the point
  std::string error;  // the server's message
  bool retry;         // a temporary failure of the server, not a refusal
};
// Parses the answer to put?details. Returns nothing if the format is unknown or if it lists fewer points than it counts as failed.
std::optional<std::vector<RefusedPoint>> refused_points(std::string_view body);

// A key that identifies a point in OpenTSDB's JSON: metric, timestamp and tags sorted by key. Empty if the point is malformed.
std::string point_key(std::string_view point);

}  // namespace atalaya::http_sink
