// SPDX-License-Identifier: Apache-2.0
// The result of a body in the line protocol.
#pragma once

#include <string_view>

#include "plugins/shared/protocols/influx/influx_reader.h"
#include "tests/unit/protocols/records.h"

namespace atalaya::protocols::testing {

constexpr int64_t kNow = 77;

struct InfluxResult {
  Lines lines;
  Account account;
};

inline InfluxResult read_influx(std::string_view body, int64_t unit_ns = 1) {
  Records records;
  InfluxReader reader;
  Account account = reader.read(body, unit_ns, kNow, {.details = true}, records);
  return {records.lines, account};
}

}  // namespace atalaya::protocols::testing
