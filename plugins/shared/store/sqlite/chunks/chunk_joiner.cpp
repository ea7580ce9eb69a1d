// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/chunks/chunk_joiner.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>

namespace atalaya::store {
namespace {

constexpr int64_t kOldNs = int64_t{12} * 3600 * 1'000'000'000;  // since its arrival: what is there is joined
// A row of less than this size lies in one page with others. A larger one fills pages of its own, and has only a rest beside
// others. Of the aim this rest is small, so that no page has a gap: two pages, and 10 % of one.
constexpr int64_t kSmallBytes = 4062;
constexpr int64_t kEnoughBytes = 8800;
constexpr size_t kMaxJoined = 96;
constexpr size_t kMaxWaiting = 100'000;      // entities
constexpr int64_t kMaxPoints = 60'000;       // of a series; less than kMaxChunkPoints
constexpr size_t kMaxAllPoints = 256 << 10;  // of all series of a chunk: 8 MB in memory
constexpr int64_t kChunksALook = 64;
constexpr int64_t kWorkALook = 4;     // at those before one
constexpr int64_t kPointsAUnit = 16;  // of work
constexpr int64_t kWorkAJoin = 64;
static_assert(kMaxPoints < static_cast<int64_t>(kMaxChunkPoints));

constexpr const char *kCandidate =
    "SELECT id, entity, first_ns, last_ns, arrived_ns, length(head), length(data) FROM chunks WHERE ";

size_t points_of(const std::vector<Column> &columns) {
  size_t points = 0;
  for (const Column &column : columns) points += column.size();
  return points;
}

}  // namespace

ChunkJoiner::ChunkJoiner(Database &database, Packer &packer, int64_t max_span_ns)
    : database_(database),
      packer_(packer),
      max_span_ns_(max_span_ns),
      next_(database, std::string(kCandidate) + "id > ?1 ORDER BY id LIMIT ?2"),
      before_(database, std::string(kCandidate) + "entity = ?1 AND last_ns <= ?2 ORDER BY last_ns DESC LIMIT ?3"),
      after_(database, std::string(kCandidate) + "entity = ?1 AND last_ns > ?2 ORDER BY last_ns LIMIT ?3"),
      read_(database, "SELECT head, data FROM chunks WHERE id = ?1"),
      add_(database, "INSERT INTO chunks(entity, first_ns, last_ns, arrived_ns, head, data) VALUES(?1, ?2, ?3, ?4, ?5, ?6)"),
      remove_(database, "DELETE FROM chunks WHERE id = ?1") {}

bool ChunkJoiner::step(int64_t now_ns, int64_t work) {
  if (max_span_ns_ == 0) return false;
  std::optional<Transaction> transaction;
  const bool has_more = look(checked_new_id_, false, INT64_MAX, work, transaction) ||
                        (now_ns >= next_old_ns_ && look(old_, true, minus(now_ns, kOldNs), work, transaction));
  if (transaction) transaction->commit();
  return has_more;
}

// True: the work is used up.
bool ChunkJoiner::look(int64_t &walk, bool is_final, int64_t arrived_before_ns, int64_t &work,
                       std::optional<Transaction> &transaction) {
  std::vector<Candidate> found;
  do {
    found.clear();
    next_.each([&](const Row &row) { found.push_back(candidate_of(row)); }, walk, kChunksALook);
    for (const Candidate &one : found) {
      if (one.arrived_ns >= arrived_before_ns) {
        next_old_ns_ = plus(one.arrived_ns, kOldNs);
        return false;
      }
      if (work <= 0) return true;
      walk = one.id;
      --work;
      if (one.entity < 0) continue;  // a pool
      if (!is_small(one) || (!is_final && !is_enough(one))) continue;
      const std::vector<Candidate> group = group_of(one, is_final);
      work -= kWorkALook;
      if (group.size() < 2) continue;
      // Joins of a step share it: neighbours in a page are chunks of other entities.
      if (!transaction) transaction.emplace(database_);
      join(group, is_final, work);
    }
  } while (!found.empty());
  return false;
}

bool ChunkJoiner::is_enough(const Candidate &chunk) {
  if (waiting_.size() >= kMaxWaiting) waiting_.clear();
  Waiting &waiting = waiting_[chunk.entity];
  waiting.bytes += chunk.joined_bytes();
  ++waiting.chunks;
  if (static_cast<double>(waiting.bytes) * shrink_ratio_ < kEnoughBytes && waiting.chunks < kMaxJoined) return false;
  waiting_.erase(chunk.entity);
  return true;
}

bool ChunkJoiner::is_small(const Candidate &chunk) const {
  return chunk.head + chunk.data < kSmallBytes && !damaged_.contains(chunk.id);
}

ChunkJoiner::Candidate ChunkJoiner::candidate_of(const Row &row) {
  return {row.integer(0), row.integer(1), row.integer(2), row.integer(3), row.integer(4), row.integer(5), row.integer(6)};
}

std::vector<ChunkJoiner::Candidate> ChunkJoiner::group_of(const Candidate &one, bool with_next) {
  std::deque<Candidate> group;
  bool is_over = false;
  int64_t bytes = 0;
  const auto can_take = [&](const Candidate &next) {
    if (is_over) return false;
    const int64_t first_ns = group.empty() ? next.first_ns : std::min(next.first_ns, group.front().first_ns);
    const int64_t last_ns = group.empty() ? next.last_ns : std::max(next.last_ns, group.back().last_ns);
    const int64_t span_ns = minus(last_ns, first_ns);
    // Rows next to a chunk become one with it first, or keep it from being rolled up.
    is_over = static_cast<double>(bytes) * shrink_ratio_ >= kEnoughBytes || group.size() >= kMaxJoined || !is_small(next) ||
              span_ns > max_span_ns_ || span_ns < 0 ||
              packer_.rows_of(next.entity, next.first_ns, next.last_ns) != Packer::Rows::none;
    if (!is_over) bytes += next.joined_bytes();
    return !is_over;
  };
  const auto read = [&](Statement &list, auto &&take) {
    std::vector<Candidate> found;
    list.each([&](const Row &row) { found.push_back(candidate_of(row)); }, one.entity, one.last_ns,
              static_cast<int64_t>(kMaxJoined));
    is_over = false;
    for (const Candidate &next : found)
      if (can_take(next)) take(next);
  };
  read(before_, [&](const Candidate &next) { group.push_front(next); });
  // It was joined meanwhile, or cannot be.
  if (group.empty() || group.back().id != one.id) return {};
  if (with_next) read(after_, [&](const Candidate &next) { group.push_back(next); });
  return {group.begin(), group.end()};
}

void ChunkJoiner::join(std::span<const Candidate> group, bool is_final, int64_t &work) {
  columns_.clear();
  std::vector<int64_t> joined;
  int64_t arrived_ns = INT64_MIN, expected = 0;
  for (size_t i = 0; i < group.size(); ++i) {
    const Candidate &part = group[i];
    if (!append(part, work)) {
      if (joined.size() != 1) break;
      // The first chunk is too large to be joined, or this one is damaged: the others are joined without it.
      return join(group.subspan(damaged_.contains(part.id) ? i + 1 : i), is_final, work);
    }
    arrived_ns = std::max(arrived_ns, part.arrived_ns);
    expected += part.joined_bytes();
    joined.push_back(part.id);
  }
  if (joined.size() < 2) return;
  std::sort(columns_.begin(), columns_.end(), [](const Column &a, const Column &b) { return a.metric < b.metric; });
  encoder_.encode(columns_, chunk_);
  const double bytes = static_cast<double>(chunk_.head.size() + chunk_.data.size());
  if (is_final) {
    waiting_.erase(group.front().entity);
  } else {
    shrink_ratio_ = std::clamp(0.9 * shrink_ratio_ + 0.1 * bytes / static_cast<double>(expected), 0.3, 1.0);
  }
  for (const int64_t part : joined) remove_.run(part);
  add_.run(group.front().entity, chunk_.first_ns, chunk_.last_ns, arrived_ns, Blob{chunk_.head}, Blob{chunk_.data});
  work -= kWorkAJoin;
}

// False: it is damaged, would make the new chunk too large, or has points before the last ones.
bool ChunkJoiner::append(const Candidate &chunk, int64_t &work) {
  std::string head, data;
  read_.each(
      [&](const Row &row) {
        head = row.blob(0);
        data = row.blob(1);
      },
      chunk.id);
  if (!reader_.open(head)) return damaged_.insert(chunk.id), false;
  reader_.set_data(data);
  auto fresh = columns_of(reader_);
  if (!fresh) return damaged_.insert(chunk.id), false;
  work -= static_cast<int64_t>(points_of(*fresh)) / kPointsAUnit + static_cast<int64_t>(fresh->size());
  if (points_of(columns_) + points_of(*fresh) > kMaxAllPoints) return false;
  const auto place_of = [&](const Column &column) {
    return std::find_if(columns_.begin(), columns_.end(), [&](const Column &one) { return one.metric == column.metric; });
  };
  for (const Column &column : *fresh) {
    const auto to = place_of(column);
    if (to == columns_.end()) continue;
    if (static_cast<int64_t>(to->size() + column.size()) > kMaxPoints || to->times_ns.back() >= column.times_ns.front())
      return false;
  }
  for (Column &column : *fresh) {
    const auto to = place_of(column);
    if (to == columns_.end()) {
      columns_.push_back(std::move(column));
      continue;
    }
    to->times_ns.insert(to->times_ns.end(), column.times_ns.begin(), column.times_ns.end());
    to->durations_ns.insert(to->durations_ns.end(), column.durations_ns.begin(), column.durations_ns.end());
    to->values.insert(to->values.end(), column.values.begin(), column.values.end());
  }
  return true;
}

}  // namespace atalaya::store
