// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/graph/flow.h"

#include <algorithm>

namespace atalaya::graph {

bool is_loopback(const std::string &address) {
  return address.starts_with("127.") || address == "::1";
}

Endpoint endpoint_of(const std::string &text) {
  if (text.starts_with('[')) {
    const size_t end = text.find("]:");
    if (end == std::string::npos) return {text, ""};
    return {text.substr(1, end - 1), text.substr(end + 2)};
  }
  // More than one colon: an IPv6 address without a port.
  if (std::count(text.begin(), text.end(), ':') != 1 || text.starts_with("pid:")) return {text, ""};
  const size_t colon = text.find(':');
  return {text.substr(0, colon), text.substr(colon + 1)};
}

}  // namespace atalaya::graph
