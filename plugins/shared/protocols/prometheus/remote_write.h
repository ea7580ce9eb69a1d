// SPDX-License-Identifier: Apache-2.0
// Encodes Prometheus remote write 1.0: pieces of a message "WriteRequest".
// Source: prometheus.io/docs/specs/prw/remote_write_spec, prompb/remote.proto and types.proto. Pure.
#pragma once

#include <memory>

#include "plugins/shared/protocols/base/message_encoder.h"
#include "plugins/shared/protocols/prometheus/metric.h"

namespace atalaya::protocols {

struct RemoteWriteOptions {
  size_t max_series = 200'000;  // series whose end is detected; other series end after the server's timeout
  // shared by all encoders of a sink
  std::shared_ptr<prometheus::ExposedNames> names = std::make_shared<prometheus::ExposedNames>();
};

// Names, labels and types are those of the sink "prometheus". A series that is missing in two windows of its host and family
// gets a staleness marker. The second metric of an exposed name is refused; the other fields of its sample are written.
std::unique_ptr<MessageEncoder> make_remote_write(const core::NameOf &name_of, const MetricOf &metric_of,
                                                  const RemoteWriteOptions &options = {});

}  // namespace atalaya::protocols
