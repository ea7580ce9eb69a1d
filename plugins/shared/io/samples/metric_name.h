// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace atalaya::io {

// Appends a name, with each character that is not allowed in a metric name replaced by '_'.
inline void append_metric_name(std::string &out, std::string_view text) {
  for (const char c : text) {
    const bool allowed =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    out += allowed ? c : '_';
  }
}

}  // namespace atalaya::io
