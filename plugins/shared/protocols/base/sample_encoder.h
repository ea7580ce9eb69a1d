// SPDX-License-Identifier: Apache-2.0
// Requests that are made of whole samples: their parts refer to each other, so that a piece of a sample has no form of its own.
#pragma once

#include <atalaya/plugin.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/encode/flat.h"
#include "plugins/shared/protocols/base/message_encoder.h"

namespace atalaya::protocols {

// For one thread; reused for all batches.
class SampleEncoder {
 public:
  virtual ~SampleEncoder() = default;
  // Empty, or the reason why the sample has no form.
  virtual std::string_view why_not(const atalaya_sample &sample) const = 0;
  // The query of the address, such as "name=x&from=1". Samples with different ones are in different requests.
  virtual std::string query_of(const atalaya_sample & /*sample*/) const { return {}; }
  // The server may have lost the declarations of the metrics.
  virtual void forget() {}
  // Appends the body of a request. The samples have a form, and equal queries.
  virtual void encode(std::span<const atalaya_sample> samples, std::string &out) = 0;
  // As MessageEncoder::rejected.
  virtual MessageEncoder::Rejected rejected(std::string_view /*answer*/) const { return {}; }
};

// The flat encoding, for a hub.
std::unique_ptr<SampleEncoder> make_flat(const core::NameOf &name_of, const MetricOf &metric_of);

}  // namespace atalaya::protocols
