// SPDX-License-Identifier: Apache-2.0
// The protocol of statsd, with the tags of DogStatsD: "name:value|type|@rate|#key:value,...", one per line.
// Source: github.com/statsd/statsd, docs/metric_types.md; docs.datadoghq.com/developers/dogstatsd/datagram_shell.
#pragma once

#include <cstdint>
#include <memory>

#include "plugins/shared/protocols/base/datagram_protocol.h"

namespace atalaya::protocols {

struct StatsdLimits {
  size_t series = 100'000;  // of a window
  size_t bytes = size_t{64} << 20;
  size_t members = 100'000;  // different values of all sets of a window
};

// A window has, for each name and tags: of a counter (c) the sum of its values over their rates, as a delta; of a gauge (g) its
// last value; of a timer, histogram or distribution (ms, h, d) NAME.count, NAME.sum, NAME.min, NAME.max; of a set (s) the number of
// its different values. What a window did not receive is absent.
std::unique_ptr<DatagramProtocol> make_statsd(const StatsdLimits &limits = {});

}  // namespace atalaya::protocols
