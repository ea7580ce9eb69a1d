// SPDX-License-Identifier: Apache-2.0
// Encodes requests whose parts refer to each other, so that samples cannot be encoded as separate pieces (MessageEncoder).
#pragma once

#include <atalaya/plugin.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/encode/flat.h"
#include "plugins/shared/protocols/base/message_encoder.h"

namespace atalaya::protocols {

// Encodes all batches of a sink. One thread.
class SampleEncoder {
 public:
  virtual ~SampleEncoder() = default;
  // The reason why the sample cannot be encoded; "" if it can.
  virtual std::string_view refusal_reason(const atalaya_sample &sample) const = 0;
  // The query string of the request, such as "name=x&from=1". Samples with different queries are in different requests.
  virtual std::string query_of(const atalaya_sample & /*sample*/) const { return {}; }
  // Sends the declarations of metrics again, because the server may have lost them.
  virtual void forget() {}
  // Appends the body of a request. The samples must be encodable and have equal queries.
  virtual void encode(std::span<const atalaya_sample> samples, std::string &out) = 0;
  // As MessageEncoder::rejected.
  virtual MessageEncoder::Rejected rejected(std::string_view /*answer*/) const { return {}; }
};

// Encodes flat records (core/base/encode/flat.h), for a hub.
std::unique_ptr<SampleEncoder> make_flat(const core::NameOf &name_of, const MetricOf &metric_of);

}  // namespace atalaya::protocols
