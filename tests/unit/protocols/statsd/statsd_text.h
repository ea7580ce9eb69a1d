// SPDX-License-Identifier: Apache-2.0
// The values of a window of statsd, sorted.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "plugins/shared/protocols/statsd/statsd.h"
#include "tests/unit/protocols/records.h"

namespace atalaya::protocols::testing {

struct StatsdResult {
  Lines lines;
  std::map<std::string, uint32_t, std::less<>> kinds;
  uint64_t accepted = 0;
  Refusals refusals;

  uint64_t refused() const {
    uint64_t sum = 0;
    for (const auto &[reason, values] : refusals) sum += values;
    return sum;
  }
};

// The window from 0 to 10.
inline StatsdResult end_window(DatagramProtocol &protocol) {
  StatsdResult result{.refusals = protocol.refused()};
  Records records;
  if (const auto window = protocol.take(0, 10)) {
    result.accepted = window->values;
    window->read(Rules{}, records);
  }
  result.lines = records.lines;
  for (std::string &line : result.lines) {
    REQUIRE(line.ends_with(" @10+10"));
    line.resize(line.size() - std::string_view(" @10+10").size());
  }
  std::sort(result.lines.begin(), result.lines.end());
  result.kinds = records.kinds;
  return result;
}

inline StatsdResult read_statsd(const std::vector<std::string> &datagrams) {
  const auto protocol = make_statsd();
  for (const std::string &datagram : datagrams) protocol->add(datagram);
  return end_window(*protocol);
}

}  // namespace atalaya::protocols::testing
