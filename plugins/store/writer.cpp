// SPDX-License-Identifier: Apache-2.0
#include "plugins/store/writer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/sample/json.h"
#include "plugins/store/schema.h"

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
    return database;
  } catch (const Error &error) {
    throw Error(Cause::config, error.what());  // whatever it is: there is no store to write to
  }
}

// The rows of a window that a step of retention may delete beyond twice what a batch brings.
constexpr int64_t kRowsAStep = 4096;
// A row costs a packer less than four such units, from reading to deletion: it keeps up with what comes.
constexpr int64_t kPackingAStep = 512;
// A batch of so many samples may be an import; so many of one entity are worth a chunk.
constexpr size_t kMany = 2048;
constexpr size_t kEnoughForAChunk = 300;

}  // namespace

Writer::Writer(const Options &options, core::NameOf name_of)
    : lock_(take_place(path_of(options))),
      reserve_(path_of(options)),
      database_(open_for_writing(options)),
      dictionary_(database_, std::move(name_of)),
      retention_(database_, options.limits),
      stack_writer_(database_),
      old_stacks_(database_, dictionary_.stacks(), stack_writer_),
      packer_(database_, options.warn),
      rollup_(database_, options.limits.rollup, options.warn),
      find_windows_(database_, "SELECT id, duration_ns, packed FROM windows WHERE time_ns = ?1"),
      add_window_(database_, "INSERT INTO windows(time_ns, duration_ns, arrived_ns) VALUES(?1, ?2, ?3)"),
      put_sample_(database_,
                  "INSERT INTO samples(window, entity, fields) VALUES(?1, ?2, ?3) "
                  "ON CONFLICT DO UPDATE SET fields = json_patch(fields, excluded.fields)"),
      put_span_(database_,
                "INSERT INTO spans(start_ns, entity, name, duration_ns, arrived_ns, fields) VALUES(?1, ?2, ?3, ?4, ?5, ?6) "
                "ON CONFLICT DO UPDATE SET duration_ns = excluded.duration_ns, arrived_ns = excluded.arrived_ns, "
                "fields = excluded.fields"),
      clear_sample_(database_, "UPDATE samples SET fields = json_patch(fields, ?3) WHERE window = ?1 AND entity = ?2") {}

Refused Writer::write(std::span<const atalaya_sample> samples, int64_t now_ns) {
  Refused refused;
  batch_size_ = static_cast<int64_t>(samples.size());
  window_.reset();
  packer_.begin_batch();
  try {
    Transaction transaction(database_);
    put_all(samples, now_ns, refused);
    stack_writer_.flush();
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

// What was remembered of a transaction that was rolled back is not true.
void Writer::forget() {
  dictionary_.forget();
  stack_writer_.forget();
  packer_.forget();
  rollup_.forget();
}

bool Writer::maintain(int64_t now_ns) {
  reserve_.hold();
  try {
    retention_.step(now_ns, kRowsAStep + 2 * batch_size_, dictionary_, packer_);
    const int64_t work = kPackingAStep + 4 * batch_size_;
    return packer_.step(now_ns, work) || rollup_.step(now_ns, work);
  } catch (...) {  // memory may be short, too
    forget();
    throw;
  }
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
    forget();  // the error that is being answered says what there is to say
  }
  reserve_.hold();
}

void Writer::put_all(std::span<const atalaya_sample> samples, int64_t now_ns, Refused &refused) {
  if (samples.size() >= kMany) return put_many(samples, now_ns, refused);
  for (const atalaya_sample &sample : samples) put(sample, now_ns, refused);
}

// An import brings many samples of the same entity at once: they become chunks without having been rows.
void Writer::put_many(std::span<const atalaya_sample> samples, int64_t now_ns, Refused &refused) {
  std::map<int64_t, Group> groups;
  for (const atalaya_sample &sample : samples) {
    if (sample.kind != ATALAYA_METRICS) {
      put(sample, now_ns, refused);
      continue;
    }
    render_fields(sample);
    groups[dictionary_.entity(sample, fields_ == "{}" ? std::string_view{} : metrics_, now_ns)].push_back(&sample);
  }
  for (auto &[entity, group] : groups) {
    if (can_be_chunks(entity, group)) {
      put_chunks(entity, group, now_ns, refused);
    } else {
      for (const atalaya_sample *sample : group) put(*sample, now_ns, refused);
    }
  }
}

bool Writer::can_be_chunks(int64_t entity, const Group &group) {
  if (group.size() < kEnoughForAChunk) return false;
  const auto [first, last] =
      std::minmax_element(group.begin(), group.end(), [](const auto *a, const auto *b) { return a->time_ns < b->time_ns; });
  return !packer_.has_rows(entity, (*first)->time_ns, (*last)->time_ns);  // rows would win over what is newer
}

void Writer::put_chunks(int64_t entity, Group &group, int64_t now_ns, Refused &refused) {
  std::stable_sort(group.begin(), group.end(), [](const auto *a, const auto *b) { return a->time_ns < b->time_ns; });
  std::map<int64_t, Column> columns;
  for (const atalaya_sample *sample : group) {
    bool is_kept = false;
    for (uint32_t i = 0; i < sample->field_count; ++i) {
      const atalaya_field &field = sample->fields[i];
      Number value;
      value.is_count = field.type == ATALAYA_I64;
      if (value.is_count) {
        value.count = field.value.i64;
      } else {
        value.real = field.value.f64;
      }
      const int64_t metric = value.is_count || std::isfinite(value.real) ? dictionary_.metric(field.name) : 0;
      if (metric == 0) {
        ++refused.values;
        continue;
      }
      columns[metric].add(sample->time_ns, sample->duration_ns, value);
      is_kept = true;
    }
    if (!is_kept) ++refused.samples;
  }
  std::vector<Column> all;
  for (auto &[metric, column] : columns) {
    column.metric = metric;
    all.push_back(std::move(column));
  }
  packer_.put(entity, std::move(all), now_ns);
}

void Writer::put(const atalaya_sample &sample, int64_t now_ns, Refused &refused) {
  refused.values += render_fields(sample);
  switch (sample.kind) {
    case ATALAYA_METRICS:
      if (fields_ == "{}") break;
      return put_metrics(sample, now_ns);
    case ATALAYA_STACK:
      if (fields_ == "{}" || sample.text.size == 0) break;
      return put_stack(sample, now_ns, refused);
    case ATALAYA_SPAN:
      return put_span(sample, now_ns);
    default:
      break;
  }
  ++refused.samples;
}

void Writer::put_metrics(const atalaya_sample &sample, int64_t now_ns) {
  const int64_t entity = dictionary_.entity(sample, metrics_, now_ns);
  const Window &window = window_of(sample, now_ns);
  for (const int64_t other : window.others) clear_sample_.run(other, entity, std::string_view(nulls_));
  put_sample_.run(window.id, entity, std::string_view(fields_));
}

void Writer::put_stack(const atalaya_sample &sample, int64_t now_ns, Refused &refused) {
  const int64_t entity = dictionary_.entity(sample, {}, now_ns);
  const StackTree::Stack stack = dictionary_.stacks().put({sample.text.data, sample.text.size}, now_ns);
  if (!stack.is_whole) ++refused.stack_ends;
  const Window &window = window_of(sample, now_ns);
  old_stacks_.move(window.id, now_ns);
  for (const int64_t other : window.others) old_stacks_.move(other, now_ns);
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
  fields_ = nulls_ = "{";
  metrics_ = "[";
  // From the back: of a field that a sample has twice the last one counts.
  for (uint32_t i = sample.field_count; i-- > 0;) {
    const atalaya_field &field = sample.fields[i];
    const bool is_count = field.type == ATALAYA_I64;
    const int64_t metric = is_count || std::isfinite(field.value.f64) ? dictionary_.metric(field.name) : 0;
    if (metric == 0) {
      ++refused;
      continue;
    }
    if (is_given(field.name)) continue;
    if (fields_.size() > 1) fields_ += ',', nulls_ += ',', metrics_ += ',';
    const size_t begin = fields_.size();
    fields_ += '"';
    core::append_integer(fields_, metric);
    metrics_.append(fields_, begin + 1);
    fields_ += "\":";
    nulls_.append(fields_, begin).append("null");
    if (is_count) {
      core::append_integer(fields_, field.value.i64);
    } else {
      core::append_real(fields_, field.value.f64);
    }
  }
  fields_ += '}';
  nulls_ += '}';
  metrics_ += ']';
  return refused;
}

bool Writer::is_given(uint32_t name) {
  if (name >= given_.size()) given_.resize(name + size_t{1});
  return std::exchange(given_[name], sample_number_) == sample_number_;
}

const Writer::Window &Writer::window_of(const atalaya_sample &sample, int64_t now_ns) {
  if (window_ && window_->time_ns == sample.time_ns && window_->duration_ns == sample.duration_ns) return *window_;
  Window window{sample.time_ns, sample.duration_ns, 0, {}};
  find_windows_.each(
      [&](const Row &row) {
        if (row.integer(1) == window.duration_ns && row.integer(2) == 0) {
          window.id = row.integer(0);
        } else {
          window.others.push_back(row.integer(0));
        }
      },
      window.time_ns);
  if (window.id == 0) {
    add_window_.run(window.time_ns, window.duration_ns, now_ns);
    window.id = database_.last_id();
  }
  packer_.touch(window.id, window.time_ns);
  for (const int64_t other : window.others) packer_.lose(other);
  return window_.emplace(std::move(window));
}

}  // namespace atalaya::store
