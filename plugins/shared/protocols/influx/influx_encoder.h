// SPDX-License-Identifier: Apache-2.0
// Samples in InfluxDB's line protocol. Source: docs.influxdata.com/influxdb/v1/write_protocols/line_protocol_reference.
//   MEASUREMENT[,TAG=VALUE...] FIELD=VALUE[,FIELD=VALUE...] [TIME in ns]
//   proc,host=vm,pid=8860,process=java cpu.user=99.4,threads=31i 1795219532000000000
#pragma once

#include <memory>

#include "core/base/encode/line_encoder.h"

namespace atalaya::protocols {

std::unique_ptr<core::Encoder> make_influx(const core::NameOf &name_of);

}  // namespace atalaya::protocols
