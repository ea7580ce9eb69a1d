// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/window_list.h"

#include <algorithm>
#include <utility>

#include "plugins/shared/store/sqlite/file/schema.h"

namespace atalaya::store {
namespace {

// Newer ids than these were never used, where a page is damaged.
constexpr int64_t kLostIds = 1'000'000'000;

// The largest one that anything refers to.
int64_t last_id(Database &database) {
  int64_t last = 0;
  for (const char *sql : {"SELECT max(id) FROM windows", "SELECT max(window) FROM samples", "SELECT max(window) FROM stacks",
                          "SELECT max(window) FROM late_windows"}) {
    try {
      last = std::max(last, database.number(sql));
    } catch (const Error &error) {
      if (error.cause() != Cause::permanent) throw;
      last += kLostIds;
    }
  }
  return last;
}

}  // namespace

WindowList::WindowList(Database &database, Packer &packer)
    : packer_(packer),
      find_(database, select_windows("id, duration_ns, packed, arrived_ns", " AND time_ns = ?1")),
      add_(database, "INSERT INTO windows(id, time_ns, duration_ns, arrived_ns) VALUES(?1, ?2, ?3, ?4)"),
      note_late_(database,
                 "INSERT INTO late_windows(window, arrived_ns) VALUES(?1, ?2) "
                 "ON CONFLICT DO UPDATE SET arrived_ns = excluded.arrived_ns"),
      next_id_(last_id(database) + 1) {}

const Window &WindowList::find_or_add(int64_t time_ns, int64_t duration_ns, int64_t now_ns) {
  if (last_ && last_->time_ns == time_ns && last_->duration_ns == duration_ns) return *last_;
  Window window{time_ns, duration_ns, 0, false, {}};
  int64_t arrived_ns = now_ns;
  find_.each(
      [&](const Row &row) {
        if (row.integer(1) == duration_ns && row.integer(2) == 0) {
          window.id = row.integer(0);
          arrived_ns = row.integer(3);
        } else {
          window.others.push_back(row.integer(0));
        }
      },
      time_ns);
  if (window.id == 0) {
    window.id = next_id_++;
    add_.run(window.id, time_ns, duration_ns, now_ns);
    window.is_new = true;
  }
  if (now_ns - arrived_ns > kLateNs) note_late_.run(window.id, now_ns);
  packer_.mark_written(window.id, time_ns);
  for (const int64_t other : window.others) packer_.discard(other);
  return last_.emplace(std::move(window));
}

}  // namespace atalaya::store
