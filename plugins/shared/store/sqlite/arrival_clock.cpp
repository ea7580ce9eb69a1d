// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/arrival_clock.h"

#include <algorithm>
#include <fstream>
#include <utility>

namespace atalaya::store {
namespace {

// Changes with each boot of the machine; CLOCK_BOOTTIME begins again.
std::string running_boot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  return boot;
}

// The tables with arrivals, but for damaged ones, which do not stop the store.
template <class Action>
void for_each_table(Action &&action) {
  for (const std::string table : {"windows", "late_windows", "chunks", "rolled", "spans"}) {
    try {
      action(table);
    } catch (const Error &error) {
      if (error.cause() != Cause::permanent) throw;
    }
  }
}

std::optional<int64_t> newest_until(Database &database, int64_t until_ns) {
  std::optional<int64_t> newest;
  for_each_table([&](const std::string &table) {
    Statement statement(database, "SELECT max(arrived_ns) FROM " + table + " WHERE arrived_ns <= ?1");
    newest = std::max(newest, statement.number(until_ns));
  });
  return newest;
}

}  // namespace

ArrivalClock::ArrivalClock(Database &database, std::string boot, Warn warn)
    : database_(database), boot_(boot.empty() ? running_boot() : std::move(boot)), warn_(std::move(warn)) {}

int64_t ArrivalClock::at(const core::ClockReading &now) {
  if (!ahead_ns_) {
    begin(now);
  } else if (steps_.check(now)) {
    save_clock(now);  // so that the next writer does not report this step again
  }
  return now.boottime + *ahead_ns_;
}

void ArrivalClock::begin(const core::ClockReading &now) {
  const std::optional<StoredTime> kept = read();
  const bool is_same_boot = kept && kept->boot == boot_;
  if (is_same_boot) steps_.check({0, kept->realtime_ns, kept->boottime_ns});
  const auto step = steps_.check(now);
  const int64_t time_ns = kept ? next_time(*kept, now) : adopt(now.realtime);
  ahead_ns_ = time_ns - now.boottime;
  const bool is_kept = is_same_boot && !step && time_ns - now.boottime == kept->arrived_ns - kept->boottime_ns;
  if (!is_kept) save_clock(now);
  if (step && warn_)
    warn_(core::step_text(*step) + " while no agent wrote to " + database_.path() +
          "; the age of its data does not change by that");
}

std::optional<ArrivalClock::StoredTime> ArrivalClock::read() {
  std::optional<StoredTime> kept;
  Statement(database_, "SELECT boot, boottime_ns, realtime_ns, arrived_ns FROM arrival_clock").each([&](const Row &row) {
    kept = {std::string(row.text(0)), row.integer(1), row.integer(2), row.integer(3)};
  });
  return kept;
}

// Never before the newest arrival.
int64_t ArrivalClock::next_time(const StoredTime &kept, const core::ClockReading &now) {
  int64_t time_ns = kept.arrived_ns;
  if (kept.boot == boot_) time_ns += std::max<int64_t>(now.boottime - kept.boottime_ns, 0);
  return std::max(time_ns, newest_until(database_, INT64_MAX).value_or(time_ns));
}

// A store of a version whose arrivals are of the wall clock: those after now are of a clock that was set back since.
int64_t ArrivalClock::adopt(int64_t realtime_ns) {
  const int64_t time_ns = newest_until(database_, realtime_ns).value_or(realtime_ns);
  for_each_table([&](const std::string &table) {
    Statement(database_, "UPDATE " + table + " SET arrived_ns = ?1 WHERE arrived_ns > ?1").run(time_ns);
  });
  return time_ns;
}

void ArrivalClock::save_clock(const core::ClockReading &now) {
  Statement(database_,
            "INSERT OR REPLACE INTO arrival_clock(id, boot, boottime_ns, realtime_ns, arrived_ns) VALUES(1, ?1, ?2, ?3, ?4)")
      .run(std::string_view(boot_), now.boottime, now.realtime, now.boottime + *ahead_ns_);
}

}  // namespace atalaya::store
