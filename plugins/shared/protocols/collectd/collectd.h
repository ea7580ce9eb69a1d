// SPDX-License-Identifier: Apache-2.0
// collectd's network protocol. Source: the binary protocol in collectd's wiki, src/network.h of collectd 5.
#pragma once

#include <cstddef>
#include <memory>

#include "plugins/shared/protocols/base/datagram_protocol.h"

namespace atalaya::protocols {

// Each value is a sample at the time that collectd gives it, with its interval as the window of a gauge. The metric is
// PLUGIN.TYPE, or PLUGIN.TYPE.N for the N-th value (from 0) of a type with several; common types have names, such as
// interface.if_octets.rx and load.load.shortterm. Tags: host, instance (of the plugin), type_instance. Counters and derives are
// totals; an absolute value is a delta. Signed and encrypted parts are refused: this source has no keys.
std::unique_ptr<DatagramProtocol> make_collectd(size_t max_bytes = size_t{16} << 20);  // max_bytes: of the datagrams of a window

}  // namespace atalaya::protocols
