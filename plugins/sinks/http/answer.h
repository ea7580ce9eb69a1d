// SPDX-License-Identifier: Apache-2.0
// What a server's answer means. Everything here reads foreign bytes and trusts none of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::http_sink {

enum class Verdict {
  accepted,
  refused,  // something in this request will never be taken: find it
  retry,    // the server, the way to it or what the operator wrote is at fault, not the points
};
Verdict judge(int status);

// Retry-After, in seconds or as a date, as a time to wait; at most five minutes. 0: absent or not understood.
int64_t retry_after(std::string_view header, int64_t now_ns);

// A point named by the answer to OpenTSDB's put?details.
struct RefusedPoint {
  std::string key;    // point_key of it
  std::string error;  // the server's words
  bool retry;         // the server could not, as opposed to: would not
};
// All points that the answer names; nothing when it is no such answer, or does not name as many as it says have failed.
std::optional<std::vector<RefusedPoint>> refused_points(std::string_view body);

// Metric, timestamp and tags of a point in OpenTSDB's JSON, tags in order of their keys; empty when it is none.
std::string point_key(std::string_view point);

}  // namespace atalaya::http_sink
