// SPDX-License-Identifier: Apache-2.0
// Datagrams of protocols without acknowledgement: a thread reads them and hands on one window at a time.
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

// Reads datagrams until it is destroyed; then it hands on the last window, with those that wait in the socket.
class DatagramReader {
 public:
  using Deliver = std::function<void(protocols::DatagramWindow window)>;  // from its thread
  using Dropped = std::function<void(std::string_view, uint64_t)>;        // reason, values; from its thread

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
  int64_t begin_ns_ = 0;  // of the current window
  uint32_t lost_ = 0;     // datagrams that the kernel has dropped so far
  std::thread thread_;    // last: it uses the other members
};

}  // namespace atalaya::receive
