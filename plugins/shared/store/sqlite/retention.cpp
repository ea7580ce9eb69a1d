// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/retention.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>

#include "plugins/shared/store/sqlite/window_list.h"

namespace atalaya::store {
namespace {

constexpr int64_t kRest = 64 << 20;       // another program that fills the disk does not cost the whole history
constexpr int64_t kSlackBytes = 4 << 20;  // free pages that stay in the file for the next windows
constexpr int64_t kRowsAChunk = 16;       // cost of deleting a chunk
constexpr int64_t kBytesARow = 64;        // of a row of stacks, which may be very long
constexpr int64_t kSpansAtOnce = 256;     // deleted for space before the space is measured again
constexpr int64_t kMaxOpenSpans = 10'000;
constexpr const char *kOpen = "iif(duration_ns = -1, 9223372036854775807, start_ns + duration_ns) = 9223372036854775807";
constexpr const char *kVacuum = "PRAGMA incremental_vacuum(512)";

int64_t free_disk_bytes(const std::string &folder) {
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) return INT64_MAX;
  return static_cast<int64_t>(disk.f_bavail * disk.f_frsize);
}

// The oldest row that arrived before ?1.
std::string oldest_of(const std::string &table, const std::string &condition) {
  return "SELECT id, arrived_ns FROM " + table + " WHERE arrived_ns < ?1 AND " + condition + " ORDER BY arrived_ns, id LIMIT 1";
}

std::string delete_spans_where(const std::string &condition) {
  return "DELETE FROM spans WHERE (start_ns, entity, name) IN (SELECT start_ns, entity, name FROM spans WHERE arrived_ns < ?1" +
         condition + " ORDER BY arrived_ns LIMIT ?2)";
}

}  // namespace

Retention::Retention(Database &database, const Limits &limits)
    : database_(database),
      limits_(limits),
      folder_(std::filesystem::absolute(database.path()).parent_path()),
      page_size_(database.number("PRAGMA page_size")),
      pages_(database, "PRAGMA page_count"),
      free_pages_(database, "PRAGMA freelist_count"),
      // A window is as old as its last samples.
      oldest_window_(database, "SELECT * FROM (" + oldest_of("windows", "id NOT IN (SELECT window FROM late_windows)") +
                                   ") UNION ALL SELECT * FROM (SELECT window, arrived_ns FROM late_windows WHERE arrived_ns < ?1 "
                                   "ORDER BY arrived_ns LIMIT 1) ORDER BY 2, 1 LIMIT 1"),
      oldest_chunk_(database, oldest_of("chunks", "id < coalesce((SELECT min(chunk) FROM unfinished), 9223372036854775807)")),
      oldest_rolled_(database, oldest_of("rolled", "true")),
      oldest_arrival_(database,
                      "SELECT min(arrived_ns) FROM (SELECT min(arrived_ns) AS arrived_ns FROM windows UNION ALL "
                      "SELECT min(arrived_ns) FROM chunks UNION ALL SELECT min(arrived_ns) FROM rolled)"),
      oldest_window_arrival_(database, "SELECT min(arrived_ns) FROM windows"),
      waiting_window_(database, "SELECT 1 FROM windows WHERE arrived_ns < ?1 AND packed = 0 AND id NOT IN temp.damaged LIMIT 1"),
      expired_span_(database, "SELECT 1 FROM spans WHERE arrived_ns < ?1 LIMIT 1"),
      open_spans_(database, "SELECT count(*) FROM (SELECT 1 FROM spans WHERE " + std::string(kOpen) + " LIMIT ?1)"),
      next_every_(database, "SELECT min(every_ns) FROM rolled WHERE every_ns > ?1"),
      expired_rolled_(database, "SELECT id FROM rolled WHERE every_ns = ?1 AND arrived_ns < ?2 ORDER BY arrived_ns LIMIT 1"),
      delete_samples_(database,
                      // A row counts by its samples.
                      "DELETE FROM samples WHERE window = ?1 AND block = (SELECT min(block) FROM samples WHERE window = ?1) "
                      "RETURNING max(1, count_samples(fields))"),
      delete_stacks_(database,
                     "DELETE FROM stacks WHERE window = ?1 AND (entity, field) IN "
                     "(SELECT entity, field FROM stacks WHERE window = ?1 LIMIT 1) RETURNING length(numbers) / " +
                         std::to_string(kBytesARow) + " + 1"),
      delete_ended_spans_(database, delete_spans_where(" AND duration_ns <> -1")),
      delete_open_spans_(database, delete_spans_where(" AND duration_ns = -1")),
      delete_any_spans_(database, delete_spans_where("")),
      delete_window_(database, "DELETE FROM windows WHERE id = ?1"),
      delete_late_(database, "DELETE FROM late_windows WHERE window = ?1"),
      delete_chunk_(database, "DELETE FROM chunks WHERE id = ?1"),
      delete_rolled_(database, "DELETE FROM rolled WHERE id = ?1"),
      delete_collected_(database, "DELETE FROM collected WHERE arrived_ns < ?1") {}

void Retention::step(int64_t now_ns, int64_t rows, Dictionary &dictionary, Packer &packer) {
  is_stuck_ = false;
  Need need = this->need(now_ns - kLateNs);  // arrivals may have been that much later
  if (!need.any()) return release_space();
  const int64_t entities = rows;
  Transaction transaction(database_);
  if (need.spans) rows -= delete_any_spans(need.expired_ns, rows);
  bool deleted = need.rolled && delete_rolled(now_ns - kLateNs, rows);
  if (need.missing_bytes > 0) rows -= delete_surplus_spans(need.young_ns);
  while (rows > 0 && delete_oldest(need, rows, packer)) {
    deleted = true;
    need.missing_bytes = missing_bytes();
  }
  const bool is_full = need.missing_bytes > 0;
  int64_t expired = 0;
  if (deleted || is_full) {
    const int64_t oldest_ns = oldest_arrival_.number().value_or(now_ns);
    expired = dictionary.expire(oldest_ns, entities);
    delete_collected_.run(oldest_ns);
    // No stack is older than the windows, however long rolled points are kept.
    expired += dictionary.stacks().expire(oldest_window_arrival_.number().value_or(now_ns));
  }
  if (is_full && rows > 0 && expired == 0) expired = dictionary.delete_unused_names(now_ns);
  transaction.commit();
  is_stuck_ = is_full && rows > 0 && expired == 0;
  release_space();
}

// Of rows and chunks of the same arrival the rows are deleted first: they may be the same samples.
bool Retention::delete_oldest(const Need &need, int64_t &rows, Packer &packer) {
  const bool is_full = need.missing_bytes > 0;
  const auto before = [&](bool expires) { return is_full ? need.young_ns : expires ? need.expired_ns : INT64_MIN; };
  const auto window = first_of(oldest_window_, before(need.windows)), chunk = first_of(oldest_chunk_, before(need.chunks)),
             rolled = first_of(oldest_rolled_, before(false));
  const auto arrival_of = [](const std::optional<Arrived> &one) { return one ? one->arrived_ns : INT64_MAX; };
  const int64_t oldest_ns = std::min({arrival_of(window), arrival_of(chunk), arrival_of(rolled)});
  if (window && window->arrived_ns == oldest_ns) {
    packer.discard(window->id);
    delete_window(*window, rows);
    return true;
  }
  if (chunk && chunk->arrived_ns == oldest_ns) {
    delete_chunk_.run(chunk->id);
  } else if (rolled) {
    delete_rolled_.run(rolled->id);
  } else {
    const int64_t spans = is_full ? delete_any_spans(need.young_ns, std::min(rows, kSpansAtOnce)) : 0;
    rows -= spans;
    return spans > 0;
  }
  rows -= kRowsAChunk;
  if (rows > 0) rows -= delete_ended_spans(oldest_ns + 1, rows);
  return true;
}

// The level with the longest steps that are not longer says how long; points of steps that no level has any more are kept as
// everything.
int64_t Retention::retain_of(int64_t every_ns) const {
  int64_t retain_ns = limits_.retain_ns;
  for (const RollupLevel &level : limits_.rollup)
    if (level.every_ns <= every_ns) retain_ns = level.retain_ns.value_or(limits_.retain_ns);
  return retain_ns;
}

std::optional<int64_t> Retention::expired_rolled(int64_t now_ns) {
  for (auto every = next_every_.number(int64_t{0}); every; every = next_every_.number(*every)) {
    const int64_t retain_ns = retain_of(*every);
    const bool is_rolled_further = !limits_.rollup.empty() && limits_.rollup.back().every_ns > *every;
    if (retain_ns == 0 || is_rolled_further) continue;
    if (const auto id = expired_rolled_.number(*every, now_ns - retain_ns)) return id;
  }
  return std::nullopt;
}

bool Retention::delete_rolled(int64_t now_ns, int64_t &rows) {
  bool deleted = false;
  for (auto id = expired_rolled(now_ns); id && rows > 0; id = expired_rolled(now_ns)) {
    delete_rolled_.run(*id);
    rows -= kRowsAChunk;
    deleted = true;
  }
  return deleted;
}

std::optional<Retention::Arrived> Retention::first_of(Statement &statement, int64_t before_ns) {
  std::optional<Arrived> first;
  statement.each([&](const Row &row) { first = Arrived{row.integer(0), row.integer(1)}; }, before_ns);
  return first;
}

// `retain` is the operator's word: it may be shorter.
int64_t Retention::young_since(int64_t now_ns) const {
  const int64_t min_ns = limits_.retain_ns > 0 ? std::min(limits_.min_retain_ns, limits_.retain_ns) : limits_.min_retain_ns;
  return min_ns == 0 ? INT64_MAX : now_ns - min_ns;
}

Retention::Need Retention::need(int64_t now_ns) {
  Need need;
  need.young_ns = young_since(now_ns);
  if (limits_.retain_ns > 0) {
    need.expired_ns = now_ns - limits_.retain_ns;
    // Samples that are overdue for a roll-up, because the agent did not run, are rolled up before they are deleted.
    const bool is_rolled_up = !limits_.rollup.empty();
    need.windows = first_of(oldest_window_, need.expired_ns) && !(is_rolled_up && waiting_window_.number(need.expired_ns));
    need.chunks = !is_rolled_up && first_of(oldest_chunk_, need.expired_ns);
    need.spans = expired_span_.number(need.expired_ns).has_value();
  }
  need.rolled = expired_rolled(now_ns).has_value();
  need.missing_bytes = missing_bytes();
  return need;
}

int64_t Retention::used_bytes() {
  return (pages_.number().value_or(0) - free_pages_.number().value_or(0)) * page_size_;
}

int64_t Retention::missing_bytes() {
  const int64_t unused = free_pages_.number().value_or(0) * page_size_;
  const int64_t used = used_bytes();
  int64_t missing = limits_.max_bytes > 0 ? used - limits_.max_bytes : 0;
  if (limits_.min_free_bytes > 0) {
    const int64_t wanted = limits_.min_free_bytes - free_disk_bytes(folder_) - unused;
    missing = std::max(missing, std::min(wanted, used - kRest));
  }
  return missing;
}

bool Retention::delete_window(const Arrived &window, int64_t &rows) {
  if (!delete_rows(delete_samples_, window.id, rows) || !delete_rows(delete_stacks_, window.id, rows)) return false;
  rows -= delete_ended_spans(window.arrived_ns + 1, rows);
  if (rows <= 0) return false;
  delete_window_.run(window.id);
  delete_late_.run(window.id);
  --rows;
  return true;
}

bool Retention::delete_rows(Statement &statement, int64_t window, int64_t &rows) {
  for (int64_t cost = 1; cost > 0 && rows > 0; rows -= cost) {
    cost = 0;
    statement.each([&](const Row &row) { cost = row.integer(0); }, window);
  }
  return rows > 0;
}

int64_t Retention::delete_ended_spans(int64_t before_ns, int64_t rows) {
  delete_ended_spans_.run(before_ns, rows);
  return database_.changes();
}

int64_t Retention::delete_surplus_spans(int64_t before_ns) {
  const int64_t surplus = open_spans_.number(kMaxOpenSpans + kSpansAtOnce).value_or(0) - kMaxOpenSpans;
  if (surplus <= 0) return 0;
  delete_open_spans_.run(before_ns, surplus);
  return database_.changes();
}

int64_t Retention::delete_any_spans(int64_t before_ns, int64_t rows) {
  delete_any_spans_.run(before_ns, rows);
  return database_.changes();
}

void Retention::release_space() {
  const int64_t unused = free_pages_.number().value_or(0) * page_size_;
  // Rows that become chunks leave their pages to the next rows.
  const int64_t used = used_bytes();
  const bool disk_is_short = limits_.min_free_bytes > 0 && free_disk_bytes(folder_) < limits_.min_free_bytes;
  if (unused > std::max(kSlackBytes, used / 2) || (disk_is_short && unused > 0)) database_.execute(kVacuum);
}

}  // namespace atalaya::store
