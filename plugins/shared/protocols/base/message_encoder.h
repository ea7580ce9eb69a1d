// SPDX-License-Identifier: Apache-2.0
// Encodes samples as pieces of a protobuf message. Pieces are repeated fields: any number of them, concatenated, is a request.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/sample/name_cache.h"

namespace atalaya::protocols {

// Host::metric: the declaration of a metric; nothing for an undeclared one.
using MetricOf = std::function<std::optional<MetricInfo>(uint32_t id)>;

// Encodes all batches of a sink. One thread.
class MessageEncoder {
 public:
  virtual ~MessageEncoder() = default;
  // Appends the sample's piece. Returns "", or the reason why the sample cannot be encoded.
  virtual std::string_view append(const atalaya_sample &sample, std::string &out) = 0;
  // Appends the markers of ended series, which are sent with the batch's last piece.
  virtual void end_batch(std::string & /*out*/) {}
  // The declarations of all metrics since the start, as a separate piece. "" for a format without declarations.
  virtual std::string_view declarations() const { return {}; }
  // The refused points that an answer with status 2xx reports, and the server's reason. The answer is untrusted input.
  struct Rejected {
    uint64_t points = 0;
    std::string why;
  };
  virtual Rejected rejected(std::string_view /*answer*/) const { return {}; }
};

}  // namespace atalaya::protocols
