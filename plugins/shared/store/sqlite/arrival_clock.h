// SPDX-License-Identifier: Apache-2.0
// The time of arrivals: a clock of the store, which does not step. Ages are computed with it, so that a wrong wall clock makes
// no data older. It advances with CLOCK_BOOTTIME. The time between two boots does not count, because only the wall clock
// measured it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/clock_steps.h"
#include "core/base/now.h"
#include "plugins/shared/store/catalogue.h"
#include "plugins/shared/store/sqlite/file/database.h"

namespace atalaya::store {

class ArrivalClock {
 public:
  // `boot`: the name of the running boot; "": the kernel's. `warn` receives a line if the wall clock was stepped since the last
  // use.
  ArrivalClock(Database &database, std::string boot, Warn warn);

  // Returns the current arrival time. The first call reads the clock of the store, or starts it. Throws Error.
  int64_t at(const core::ClockReading &now);

 private:
  struct StoredTime {
    std::string boot;
    int64_t boottime_ns = 0, realtime_ns = 0, arrived_ns = 0;
  };
  void begin(const core::ClockReading &now);
  std::optional<StoredTime> read();
  int64_t next_time(const StoredTime &kept, const core::ClockReading &now);
  int64_t adopt(int64_t realtime_ns);
  void save_clock(const core::ClockReading &now);

  Database &database_;
  const std::string boot_;
  const Warn warn_;
  std::optional<int64_t> ahead_ns_;  // difference to CLOCK_BOOTTIME
  core::ClockSteps steps_;
};

}  // namespace atalaya::store
