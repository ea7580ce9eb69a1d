// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/writer.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/text/json.h"
#include "core/base/text/json_writer.h"
#include "core/base/text/units.h"
#include "plugins/shared/store/sqlite/file/schema.h"
#include "plugins/shared/store/sqlite/rows/row_functions.h"

namespace atalaya::store {
namespace {

std::string path_of(const Options &options) {
  return options.path.empty() ? default_path() : options.path;
}

core::Descriptor take_place(const std::string &path) {
  prepare_folder(path);
  return lock_for_writing(path);
}

Database open_for_writing(const Options &options) {
  try {
    create_private(path_of(options));
    Database database(path_of(options), Access::read_write);
    check_is_store(database);
    if (sqlite3_db_readonly(database.handle(), "main") == 1) database.fail(SQLITE_READONLY);
    prepare_for_writing(database, options.full_sync);
    add_row_functions(database);
    return database;
  } catch (const Error &error) {
    throw Error(Cause::config, error.what());  // whatever it is: there is no store to write to
  }
}

// The rows that a step of retention may delete beyond twice the size of a batch.
constexpr int64_t kRowsAStep = 4096;
// A row costs a packer less than four such units, from reading to deletion: it keeps up with the input.
constexpr int64_t kPackingAStep = 512;
// Between two of them: a step is two or three transactions, which cost as much as some hundred samples.
constexpr int64_t kSamplesAStep = 4096;
constexpr int64_t kMaintainEvery = 10'000'000'000;
// A batch of this size may be an import; this number of samples of one entity is worth a chunk.
constexpr size_t kMany = 2048;
constexpr size_t kEnoughForAChunk = 300;

// Chunks are deleted, and rolled up, as a whole: of a short time only if they are short.
int64_t max_span_of(const Limits &limits) {
  int64_t span_ns = limits.max_joined_ns;
  if (limits.retain_ns > 0) span_ns = std::min(span_ns, limits.retain_ns / 8);
  if (!limits.rollup.empty()) span_ns = std::min(span_ns, limits.rollup.front().after_ns / 8);
  return span_ns;
}

}  // namespace

Writer::Writer(const Options &options, core::NameOf name_of, MetricOf metric_of)
    : lock_(take_place(path_of(options))),
      database_(open_for_writing(options)),
      place_(path_of(options)),
      reserve_(path_of(options)),
      arrivals_(database_, options.boot, options.warn),
      dictionary_(database_, name_of, std::move(metric_of), options.warn),
      collected_(database_, std::move(name_of)),
      stack_writer_(database_),
      packer_(database_, options.limits.rollup.empty(), options.warn),
      joiner_(database_, packer_, max_span_of(options.limits)),
      rollup_(database_, packer_, options.limits.rollup, options.warn),
      retention_(database_, options.limits),
      windows_(database_, packer_),
      row_writer_(database_, dictionary_, windows_),
      put_span_(database_,
                "INSERT INTO spans(start_ns, entity, name, duration_ns, arrived_ns, fields) VALUES(?1, ?2, ?3, ?4, ?5, ?6) "
                "ON CONFLICT DO UPDATE SET duration_ns = excluded.duration_ns, arrived_ns = excluded.arrived_ns, "
                "fields = excluded.fields") {}

Refused Writer::write(std::span<const atalaya_sample> samples, int64_t now_ns) {
  Refused refused;
  batch_size_ = static_cast<int64_t>(samples.size());
  waiting_samples_ += batch_size_;
  if (may_be_over_size_) check_size(now_ns);
  windows_.start_batch();
  packer_.start_batch();
  try {
    Transaction transaction(database_);
    dictionary_.complete_declarations(now_ns);
    put_all(samples, now_ns, refused);
    stack_writer_.flush();
    collected_.flush(now_ns);
    may_be_over_size_ = retention_.is_over_size();  // within the transaction it takes no locks of its own
    transaction.commit();
  } catch (const Error &error) {
    forget();
    if (error.cause() == Cause::full) make_room(now_ns);
    throw;
  } catch (...) {
    forget();
    throw;
  }
  return refused;
}

// Caches of a transaction that was rolled back are invalid.
void Writer::forget() {
  dictionary_.forget();
  stack_writer_.forget();
  collected_.forget();
  packer_.forget();
  rollup_.forget();
}

void Writer::maintain_when_due(int64_t now_ns) {
  const bool is_soon = now_ns >= maintained_ns_ && now_ns - kMaintainEvery < maintained_ns_;
  if (waiting_samples_ >= kSamplesAStep || !is_soon) maintain(now_ns);
}

bool Writer::maintain(int64_t now_ns) {
  const int64_t samples = std::min(std::exchange(waiting_samples_, 0), std::max(batch_size_, kSamplesAStep));
  maintained_ns_ = now_ns;
  reserve_.allocate();
  try {
    retention_.step(now_ns, kRowsAStep + 2 * samples, dictionary_, packer_);
    const int64_t work = kPackingAStep + 4 * samples;
    return packer_.step(now_ns, work) || joiner_.step(now_ns, work) || rollup_.step(now_ns, work);
  } catch (...) {  // memory may be short, too
    forget();
    throw;
  }
}

bool Writer::is_in_place() {
  if (place_.are_in_place()) return true;
  sqlite3_exec(database_.handle(), "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr);
  return false;
}

// Packing makes room, too.
void Writer::check_size(int64_t now_ns) {
  if (!retention_.is_over_size()) return;
  maintain(now_ns);
  if (!retention_.is_stuck() || !retention_.is_over_size()) return;
  const Limits &limits = retention_.limits();
  throw Error(Cause::full, "database " + database_.path() + " has reached its max_size of " + core::format_size(limits.max_bytes) +
                               ", and nothing in it is older than min_retain (" + core::format_duration(limits.min_retain_ns) +
                               "), so that nothing can be deleted: batches wait; raise max_size, or send less");
}

// Only retention can help a full disk, and it can write only where the log was emptied into the database before.
void Writer::make_room(int64_t now_ns) {
  constexpr const char *empty_log = "PRAGMA wal_checkpoint(TRUNCATE)";
  reserve_.release();
  try {
    database_.execute(empty_log);
    retention_.step(now_ns, kRowsAStep + 2 * batch_size_, dictionary_, packer_);
    database_.execute(empty_log);
  } catch (const std::exception &) {
    forget();  // the first error is reported
  }
  reserve_.allocate();
}

void Writer::put_all(std::span<const atalaya_sample> samples, int64_t now_ns, Refused &refused) {
  rows_.clear();
  for (const atalaya_sample &sample : samples) put(sample, now_ns, refused);
  if (rows_.size() >= kMany) put_imported(now_ns);
  row_writer_.write(rows_, now_ns);
}

void Writer::put(const atalaya_sample &sample, int64_t now_ns, Refused &refused) {
  if (sample.kind == ATALAYA_METRICS) return put_metrics(sample, now_ns, refused);
  refused.values += render_fields(sample);
  if (sample.kind == ATALAYA_STACK && fields_ != "{}" && sample.text.size > 0) {
    put_stack(sample, now_ns, refused);
  } else if (sample.kind == ATALAYA_SPAN) {
    put_span(sample, now_ns);
  } else {
    ++refused.samples;
  }
}

void Writer::put_metrics(const atalaya_sample &sample, int64_t now_ns, Refused &refused) {
  metrics_ = '[';
  for (uint32_t i = sample.field_count; i-- > 0;) {
    const int64_t metric = dictionary_.metric_of(sample.fields[i]);
    if (metric == 0) {
      ++refused.values;
      continue;
    }
    if (metrics_.size() > 1) metrics_ += ',';
    core::append_integer(metrics_, metric);
  }
  if (metrics_.size() == 1) {
    ++refused.samples;
    return;
  }
  metrics_ += ']';
  collected_.add(sample);
  rows_.push_back({sample.time_ns, dictionary_.entity(sample, metrics_, now_ns), &sample});
}

// An import brings many samples of the same entity at once: they become chunks without having been rows.
void Writer::put_imported(int64_t now_ns) {
  std::stable_sort(rows_.begin(), rows_.end(),
                   [](const auto &a, const auto &b) { return std::tie(a.entity, a.time_ns) < std::tie(b.entity, b.time_ns); });
  auto kept = rows_.begin();
  for (auto begin = rows_.begin(), end = begin; begin != rows_.end(); begin = end) {
    end = std::find_if(begin, rows_.end(), [&](const auto &one) { return one.entity != begin->entity; });
    if (can_be_chunks({begin, end})) {
      put_chunks({begin, end}, now_ns);
    } else {
      kept = std::copy(begin, end, kept);
    }
  }
  rows_.erase(kept, rows_.end());
}

bool Writer::can_be_chunks(Group group) {
  if (group.size() < kEnoughForAChunk) return false;
  // Rows would win over newer chunks.
  return packer_.rows_of(group.front().entity, group.front().time_ns, group.back().time_ns) == Packer::Rows::none;
}

void Writer::put_chunks(Group group, int64_t now_ns) {
  std::map<int64_t, Column> columns;
  for (const auto &[time_ns, entity, sample] : group) {
    for (const atalaya_field &field : std::span(sample->fields, sample->field_count)) {
      const int64_t metric = dictionary_.metric_of(field);
      if (metric == 0) continue;
      Number value;
      value.is_count = field.type == ATALAYA_I64;
      if (value.is_count) {
        value.count = field.value.i64;
      } else {
        value.real = field.value.f64;
      }
      columns[metric].add(time_ns, sample->duration_ns, value);
    }
  }
  std::vector<Column> all;
  all.reserve(columns.size());
  for (auto &[metric, column] : columns) {
    column.metric = metric;
    all.push_back(std::move(column));
  }
  packer_.put(group.front().entity, std::move(all), now_ns);
}

void Writer::put_stack(const atalaya_sample &sample, int64_t now_ns, Refused &refused) {
  const int64_t entity = dictionary_.entity(sample, {}, now_ns);
  const StackTree::Stack stack = dictionary_.stacks().put({sample.text.data, sample.text.size}, now_ns);
  if (!stack.is_whole) ++refused.stack_ends;
  const Window &window = windows_.find_or_add(sample.time_ns, sample.duration_ns, now_ns);
  for (const int64_t other : window.others) stack_writer_.remove(other, entity, stack.node, fields_);
  stack_writer_.add(window.id, entity, stack, fields_);
}

void Writer::put_span(const atalaya_sample &sample, int64_t now_ns) {
  const int64_t entity = dictionary_.entity(sample, {}, now_ns);
  const std::string_view name = valid_utf8({sample.text.data, sample.text.size}, scratch_);
  put_span_.run(sample.time_ns, entity, name, sample.duration_ns, now_ns, std::string_view(fields_));
}

uint64_t Writer::render_fields(const atalaya_sample &sample) {
  uint64_t refused = 0;
  ++sample_number_;
  fields_.clear();
  core::JsonWriter json(fields_);
  json.object();
  // From the back: of a field that a sample has twice the last one counts.
  for (uint32_t i = sample.field_count; i-- > 0;) {
    const atalaya_field &field = sample.fields[i];
    const int64_t metric = dictionary_.metric_of(field);
    if (metric == 0) {
      ++refused;
      continue;
    }
    if (is_given(field.name)) continue;
    if (json.key(metric); field.type == ATALAYA_I64)
      json.integer(field.value.i64);
    else
      json.real(field.value.f64);
  }
  json.end_object();
  return refused;
}

bool Writer::is_given(uint32_t name) {
  if (name >= last_seen_.size()) last_seen_.resize(name + size_t{1});
  return std::exchange(last_seen_[name], sample_number_) == sample_number_;
}

}  // namespace atalaya::store
