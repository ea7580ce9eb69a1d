// SPDX-License-Identifier: Apache-2.0
// Encodes stacks for Pyroscope: one request per process and window, POST /ingest?name=...&from=...&until=..., with folded stacks.
// Source: grafana.com/docs/pyroscope, "Server HTTP API", and the ingest handler of Pyroscope 1.x. Pure.
#pragma once

#include <memory>

#include "plugins/shared/protocols/base/sample_encoder.h"

namespace atalaya::protocols {

// Profiles cpu (samples at `sample_rate` a second), offcpu and wall (time).
std::unique_ptr<SampleEncoder> make_pyroscope(const core::NameOf &name_of, int64_t sample_rate);

}  // namespace atalaya::protocols
