// SPDX-License-Identifier: Apache-2.0
// Protocols of datagrams without acknowledgement: they collect the values of a window.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "plugins/shared/protocols/base/record.h"

namespace atalaya::protocols {

// The contents of a window, to be read later by another thread.
struct DatagramWindow {
  uint64_t values = 0;  // received, for the count of losses
  std::function<Account(const Rules &, Taker &)> read;
};

// The state of one protocol. One thread.
class DatagramProtocol {
 public:
  virtual ~DatagramProtocol() = default;
  // Untrusted input.
  virtual void add(std::string_view datagram) = 0;
  // The window of these times (Unix ns), which is empty then; nothing if it received nothing.
  virtual std::optional<DatagramWindow> take(int64_t from_ns, int64_t to_ns) = 0;
  // Values that were refused since the last call: malformed, or beyond a limit.
  virtual uint64_t refused() = 0;
};

}  // namespace atalaya::protocols
