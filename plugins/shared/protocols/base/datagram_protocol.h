// SPDX-License-Identifier: Apache-2.0
// Protocols of datagrams without acknowledgement, whose values are collected for a window.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "plugins/shared/protocols/base/record.h"

namespace atalaya::protocols {

// The contents of a window, to be read later by another thread.
struct DatagramWindow {
  uint64_t values = 0;  // number of received values, for the count of losses
  std::function<Account(const Rules &, RecordReceiver &)> read;
};

// Numbers of values by the reason of their refusal. The reasons are constants.
using Refusals = std::map<std::string_view, uint64_t>;

// The state of one protocol. One thread.
class DatagramProtocol {
 public:
  virtual ~DatagramProtocol() = default;
  // Adds the values of a datagram, which is untrusted input.
  virtual void add(std::string_view datagram) = 0;
  // Returns the received values as the window of these times (Unix ns) and removes them. Nothing if there are none.
  virtual std::optional<DatagramWindow> take(int64_t from_ns, int64_t to_ns) = 0;
  // The values refused since the last call, by reason.
  virtual Refusals refused() = 0;
};

}  // namespace atalaya::protocols
