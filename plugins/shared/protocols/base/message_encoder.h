// SPDX-License-Identifier: Apache-2.0
// Samples as pieces of a protobuf message. A request is any number of pieces, concatenated: repeated fields of one message.
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/sample/name_cache.h"

namespace atalaya::protocols {

// The declaration of a metric; false when there is none.
using MetricOf = std::function<bool(uint32_t id, atalaya_metric_info &info)>;

// For one thread; reused for all batches.
class MessageEncoder {
 public:
  virtual ~MessageEncoder() = default;
  // Appends the sample's piece. The result is empty, or the reason why the sample has no piece.
  virtual std::string_view append(const atalaya_sample &sample, std::string &out) = 0;
  // Appends the ends of series, to be sent with the batch's last piece.
  virtual void end_batch(std::string & /*out*/) {}
  // The declarations of all metrics since the start, as a piece of their own; it only grows. Empty if the format has none.
  virtual std::string_view declarations() const { return {}; }
  // The number of points that an answer with status 2xx reports as refused, and the server's reason. Untrusted input.
  struct Rejected {
    uint64_t points = 0;
    std::string why;
  };
  virtual Rejected rejected(std::string_view /*answer*/) const { return {}; }
};

}  // namespace atalaya::protocols
