// SPDX-License-Identifier: Apache-2.0
// collectd's network protocol. Source: the binary protocol in collectd's wiki, src/network.h and src/types.db of collectd 5.12.
//   PART...: TYPE (16 bits), LENGTH (16 bits, with this head), text with a NUL | 64 bits | values: COUNT, a type each, 64 bits each
#pragma once

#include <cstddef>
#include <memory>

#include "plugins/shared/protocols/base/datagram_protocol.h"

namespace atalaya::protocols {

// Each value is a sample at the time that collectd gives it, with its interval as the window of a gauge. The metric is
// PLUGIN.TYPE, or PLUGIN.TYPE.N for the N-th value (from 0) of a type with several; the types of collectd's types.db have names,
// such as interface.if_octets.rx and disk.disk_io_time.weighted_io_time. A malformed list of values is refused alone. Tags:
// host, instance (of the plugin), type_instance. Counters and derives are totals; an absolute value is a delta. Signed and
// encrypted parts are refused: this source has no keys.
// max_bytes: maximum bytes of the datagrams of a window
std::unique_ptr<DatagramProtocol> make_collectd(size_t max_bytes = size_t{16} << 20);

}  // namespace atalaya::protocols
