// SPDX-License-Identifier: Apache-2.0
// The protocol of statsd, with the tags and packed values of DogStatsD, one metric a line.
// Source: github.com/statsd/statsd, docs/metric_types.md; docs.datadoghq.com/developers/dogstatsd/datagram_shell.
//   NAME:VALUE[:VALUE...]|TYPE[|@RATE][|#KEY:VALUE,...][:VALUE|TYPE[|@RATE]...]
// Several values share a type and its sections (DogStatsD 1.1), and behind a type or a rate another value with a type of its own
// may follow (statsd). A value of a set may contain colons. Other sections, such as the container, are ignored. The order of tags
// is without meaning. Each value is accepted or refused for itself.
#pragma once

#include <cstdint>
#include <memory>

#include "plugins/shared/protocols/base/datagram_protocol.h"

namespace atalaya::protocols {

struct StatsdLimits {
  size_t series = 100'000;  // maximum series in a window
  size_t bytes = size_t{64} << 20;
  size_t members = 100'000;  // maximum distinct values of all sets in a window
};

// A window has these values for each name and tags; a value that was not received in the window is absent.
//   counter (c)                                  the sum of its values divided by their rates, as a delta
//   gauge (g)                                    its last value
//   timer, histogram, distribution (ms, h, d)    NAME.count, NAME.sum, NAME.min, NAME.max
//   set (s)                                      the number of its distinct values
std::unique_ptr<DatagramProtocol> make_statsd(const StatsdLimits &limits = {});

}  // namespace atalaya::protocols
