// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/rollup/rollup.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/text/units.h"

namespace atalaya::store {
namespace {

constexpr int64_t kStepsAChunk = 360;   // long enough for good chunks
constexpr int64_t kChecksPerStep = 16;  // chunks that are checked per step
constexpr int64_t kValuesAUnit = 16;    // of work
constexpr int64_t kWorkADeletion = 4;   // of a chunk
constexpr int64_t kWorkACommit = 64;
constexpr int64_t kWorkAPool = 4096;  // of some hundred chunks
constexpr int64_t kFewValues = 512;   // may be smaller as they are

// Chunks that become one rolled chunk. The first one waits for the last one to be old enough: the wait is short.
int64_t stretch_of(const RollupLevel &level) {
  const int64_t steps = std::min(kStepsAChunk, level.after_ns / 2 / level.every_ns);
  return std::max(steps, int64_t{1}) * level.every_ns;
}

size_t size_of(const Chunk &chunk) {
  return chunk.head.size() + chunk.data.size();
}

// The maximum wait of a level: until the last of a stretch is old enough.
int64_t latest_of(const RollupLevel &level) {
  return level.after_ns + std::max(level.after_ns / 2, level.every_ns);
}

}  // namespace

std::optional<std::string> problem_of(const std::vector<RollupLevel> &levels, int64_t retain_ns) {
  for (size_t i = 0; i < levels.size(); ++i) {
    const RollupLevel &level = levels[i];
    const auto parameter = [&](size_t at, const char *name) {
      return "parameter \"rollup[" + std::to_string(at + 1) + "]." + name + "\"";
    };
    const std::string after = core::format_duration(level.after_ns), every = core::format_duration(level.every_ns);
    if (i > 0 && level.after_ns <= levels[i - 1].after_ns)
      return parameter(i, "after") + ": " + after + " is not longer than the " + core::format_duration(levels[i - 1].after_ns) +
             " of the level before; sort the levels by age";
    if (i > 0 && (level.every_ns <= levels[i - 1].every_ns || level.every_ns % levels[i - 1].every_ns != 0))
      return parameter(i, "every") + ": " + every + " is not twice, three times, ... the " +
             core::format_duration(levels[i - 1].every_ns) + " of the level before";
    const int64_t retained_ns = i > 0 ? levels[i - 1].retain_ns.value_or(retain_ns) : retain_ns;
    if (retained_ns != 0 && retained_ns < latest_of(level))
      return (i > 0 ? parameter(i - 1, "retain") : std::string("parameter \"retain\"")) + ": samples are deleted after " +
             core::format_duration(retained_ns) + ", which may be before their roll-up; " + parameter(i, "after") + " is " + after +
             ", and the roll-up is done within " + core::format_duration(latest_of(level)) + ": keep them until then";
  }
  return std::nullopt;
}

Rollup::Rollup(Database &database, Packer &packer, std::vector<RollupLevel> levels, Warn warn)
    : database_(database),
      packer_(packer),
      levels_(std::move(levels)),
      warn_(std::move(warn)),
      chunks_(database, RollupTable::RollupTableKind::chunks),
      rolled_(database, RollupTable::RollupTableKind::rolled),
      first_pool_(database, "SELECT id FROM chunks WHERE entity < 0 AND id NOT IN temp.damaged_chunks LIMIT 1"),
      next_every_(database, "SELECT min(every_ns) FROM rolled WHERE every_ns > ?1 AND every_ns < ?2"),
      add_chunk_(
          database,
          "INSERT INTO rolled(entity, every_ns, first_ns, last_ns, arrived_ns, head, data) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)") {}

bool Rollup::step(int64_t now_ns, int64_t work) {
  if (levels_.empty()) return false;
  while (work > 0) {
    if (!job_ && dissolve_pool(work)) continue;
    if (!job_ && !choose(now_ns, work)) return false;
    continue_job(work);
  }
  return true;
}

bool Rollup::dissolve_pool(int64_t &work) {
  const auto pool = first_pool_.number();
  if (!pool) return false;
  Transaction transaction(database_);
  if (!packer_.dissolve(*pool)) exclude({*pool});
  transaction.commit();
  work -= kWorkAPool;
  return true;
}

void Rollup::continue_job(int64_t &work) {
  while (work > 0 && job_->at_source < job_->sources.size()) {
    const StoredChunk &chunk = job_->sources[job_->at_source++];
    if (read(chunk, work)) continue;
    return forget();  // deleted meanwhile, or damaged and not chosen again
  }
  if (work > 0) finish(work);
}

// The longest steps first: chunks that are old enough for them skip the shorter ones.
bool Rollup::choose(int64_t now_ns, int64_t &work) {
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    if (choose_from(chunks_, 0, *level, now_ns, work)) return true;
    for (auto every = next_every_.number(int64_t{0}, level->every_ns); every; every = next_every_.number(*every, level->every_ns))
      if (choose_from(rolled_, *every, *level, now_ns, work)) return true;
  }
  return false;
}

bool Rollup::choose_from(RollupTable &table, int64_t every_ns, const RollupLevel &level, int64_t now_ns, int64_t &work) {
  for (const StoredChunk &chunk : table.oldest(every_ns, now_ns - level.after_ns - stretch_of(level), kChecksPerStep)) {
    if (has_rows(chunk)) {
      // A window with a damaged row stays as rows, which still win over the chunk.
      if (packer_.rows_of(chunk.entity, chunk.first_ns, chunk.last_ns) == Packer::Rows::damaged) table.exclude(chunk.id);
      continue;
    }
    begin(chunk, level, now_ns);
    work -= static_cast<int64_t>(job_->sources.size());
    return true;
  }
  return false;
}

// Rows that came late may replace points of a chunk: they become one chunk first.
bool Rollup::has_rows(const StoredChunk &chunk) {
  return chunk.every_ns == 0 && packer_.rows_of(chunk.entity, chunk.first_ns, chunk.last_ns) != Packer::Rows::none;
}

void Rollup::begin(const StoredChunk &first, const RollupLevel &level, int64_t now_ns) {
  const int64_t interval_ns = stretch_of(level);
  const int64_t from_ns = end_of_step(first.first_ns, interval_ns) - interval_ns, to_ns = end_of_step(first.last_ns, interval_ns);
  Job job{first.entity, interval_ns, {}, 0, INT64_MIN, RolledColumns(level.every_ns), RolledColumns(1)};
  // Rolled points arrived before the chunks: of two samples of one time the last one wins.
  for (RollupTable *table : {&rolled_, &chunks_})
    for (const StoredChunk &chunk : table->inside(first.entity, level.every_ns, from_ns, to_ns, now_ns - level.after_ns))
      if (!has_rows(chunk)) job.sources.push_back(chunk);
  job_ = std::move(job);
}

bool Rollup::read(const StoredChunk &chunk, int64_t &work) {
  RolledColumns columns(job_->columns.every_ns());
  std::optional<RolledColumns> &without_rollup = job_->without_rollup;
  const auto add_to = [&](RolledColumns &to) { return chunk.every_ns == 0 ? to.add_chunk(reader_) : to.add_rolled(reader_); };
  bool is_good = false;
  const bool is_there = table_of(chunk).read(chunk.id, [&](std::string_view head, std::string_view data) {
    if (!reader_.open(head)) return;
    reader_.set_data(data);
    is_good = add_to(columns);
    if (without_rollup && without_rollup->values() + columns.values() > kFewValues) without_rollup.reset();
    if (is_good && without_rollup) add_to(*without_rollup);
  });
  work -= columns.values() / kValuesAUnit + 1;
  if (is_there && !is_good) exclude(chunk);
  if (!is_good) return false;
  job_->columns.add(columns);
  job_->arrived_ns = std::max(job_->arrived_ns, chunk.arrived_ns);
  return true;
}

// It stays, so that its content may be recovered.
void Rollup::exclude(const StoredChunk &chunk) {
  table_of(chunk).exclude(chunk.id);
  if (std::exchange(has_warned_, true) || !warn_) return;
  warn_((chunk.every_ns == 0 ? "chunk " : "rolled chunk ") + std::to_string(chunk.id) + " of database " + database_.path() +
        " is damaged: such chunks stay as they are, not rolled up; end the agent, and run `atalaya store repair`");
}

// Batches may come between the steps: a chunk is deleted only if it is unchanged.
bool Rollup::is_unchanged() {
  return std::all_of(job_->sources.begin(), job_->sources.end(),
                     [&](const StoredChunk &chunk) { return table_of(chunk).has(chunk.id) && !has_rows(chunk); });
}

// Adds the points of rolled chunks that the new ones would overlap; returns those.
std::vector<StoredChunk> Rollup::join() {
  std::vector<StoredChunk> joined;
  int64_t unlimited = INT64_MAX;
  while (true) {
    RolledColumns &columns = job_->columns;
    const int64_t from_ns = minus(columns.end_after(INT64_MIN), columns.every_ns());
    std::vector<StoredChunk> found = rolled_.overlapping(job_->entity, from_ns, columns.last_end());
    const auto is_known = [&](const StoredChunk &chunk) {
      const auto is_it = [&](const StoredChunk &one) { return one.every_ns != 0 && one.id == chunk.id; };
      return std::any_of(joined.begin(), joined.end(), is_it) || std::any_of(job_->sources.begin(), job_->sources.end(), is_it);
    };
    std::erase_if(found, is_known);
    if (found.empty()) return joined;
    job_->without_rollup.reset();
    int64_t every_ns = columns.every_ns();
    for (const StoredChunk &chunk : found) every_ns = std::max(every_ns, chunk.every_ns);
    const RolledColumns later = std::exchange(columns, RolledColumns(every_ns));
    for (const StoredChunk &chunk : found)
      if (read(chunk, unlimited)) joined.push_back(chunk);
    columns.add(later);
  }
}

void Rollup::finish(int64_t &work) {
  Transaction transaction(database_);
  if (is_unchanged()) {
    const std::vector<StoredChunk> joined = join();
    add_chunks();
    for (const StoredChunk &chunk : job_->sources) table_of(chunk).remove(chunk.id);
    for (const StoredChunk &chunk : joined) rolled_.remove(chunk.id);
    work -= kWorkADeletion * static_cast<int64_t>(job_->sources.size() + joined.size());
  }
  transaction.commit();
  work -= kWorkACommit;
  forget();
}

void Rollup::encode(const std::vector<Column> &columns, Chunk &chunk) {
  if (columns.empty()) throw Error(Cause::permanent, "rolled points of database " + database_.path() + " have impossible times");
  encoder_.encode(columns, chunk);
}

void Rollup::add_chunks() {
  const RolledColumns &columns = job_->columns;
  const int64_t interval_ns = std::max(job_->interval_ns, columns.every_ns());
  constexpr int64_t none = INT64_MAX;
  for (int64_t end_ns = columns.end_after(INT64_MIN); end_ns != none;) {
    const int64_t to_ns = end_of_step(end_ns, interval_ns);
    encode(columns.columns(to_ns - interval_ns, to_ns), chunk_);
    if (job_->without_rollup) {
      encode(job_->without_rollup->columns(to_ns - interval_ns, to_ns), unchanged_);
      if (size_of(unchanged_) <= size_of(chunk_)) std::swap(chunk_, unchanged_);
    }
    add_chunk_.run(job_->entity, columns.every_ns(), columns.first_after(to_ns - interval_ns), chunk_.last_ns, job_->arrived_ns,
                   Blob{chunk_.head}, Blob{chunk_.data});
    end_ns = columns.end_after(to_ns);
  }
}

}  // namespace atalaya::store
