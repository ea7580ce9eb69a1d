// SPDX-License-Identifier: Apache-2.0
// Encodes stacks for Pyroscope: one request per process and window, POST /ingest?name=...&from=...&until=..., with folded stacks.
// Source: grafana.com/docs/pyroscope, "Server HTTP API", and the ingest handler of Pyroscope 1.x. Pure.
//   name        PROCESS.TYPE{KEY=VALUE,...}, sorted; TYPE: cpu, block_duration, wall. { } = , are encoded, other bytes that a
//               name may not have are as in opentsdb_name.h
//   from, until nanoseconds      sampleRate  values a second      units  samples, lock_nanoseconds
//   aggregationType=sum, spyName=atalaya, format=folded
//   body        STACK BLANK VALUE a line, root first; a line end in a frame is a blank
// Refused: other profiles, samples without a stack or value, and stacks of more than 64 KiB, at which the server stops reading.
#pragma once

#include <memory>

#include "plugins/shared/protocols/base/sample_encoder.h"

namespace atalaya::protocols {

// Profiles cpu (samples at `sample_rate` a second), offcpu and wall (time).
std::unique_ptr<SampleEncoder> make_pyroscope(const core::NameOf &name_of, int64_t sample_rate);

}  // namespace atalaya::protocols
