// SPDX-License-Identifier: Apache-2.0
// Receives datagrams of protocols without acknowledgement (statsd, collectd).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "core/base/files.h"
#include "plugins/shared/protocols/base/datagram_protocol.h"

namespace atalaya::receive {

// A thread reads datagrams and calls `deliver` once per window. The destructor reads the datagrams that the socket still has and
// delivers the last window.
class DatagramReader {
 public:
  // Both are called on the thread of the reader.
  using Deliver = std::function<void(protocols::DatagramWindow window)>;
  using Dropped = std::function<void(std::string_view reason, uint64_t values)>;

  DatagramReader(core::Descriptor socket, std::unique_ptr<protocols::DatagramProtocol> protocol, int64_t window_ns, Deliver deliver,
                 Dropped dropped);
  DatagramReader(const DatagramReader &) = delete;
  DatagramReader &operator=(const DatagramReader &) = delete;
  ~DatagramReader();

 private:
  void run();
  bool read_all();
  void end_window(int64_t now_ns);
  void add_losses(uint32_t lost);

  const core::Descriptor socket_, wake_;
  const std::unique_ptr<protocols::DatagramProtocol> protocol_;
  const int64_t window_ns_;
  const Deliver deliver_;
  const Dropped dropped_;
  int64_t start_ns_ = 0;  // start of the current window
  uint32_t lost_ = 0;     // datagrams that the kernel has dropped since the socket was opened
  std::thread thread_;    // declared last, because it uses the other members
};

}  // namespace atalaya::receive
