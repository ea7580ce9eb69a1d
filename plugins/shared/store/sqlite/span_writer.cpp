// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/span_writer.h"

#include <cmath>
#include <utility>

#include "core/base/text/json_writer.h"
#include "plugins/shared/store/location.h"
#include "plugins/shared/store/sqlite/file/schema.h"

namespace atalaya::store {
namespace {

Database open_beside(const std::string &path) {
  prepare_folder(path);
  create_private(path);
  Database database(path, Access::read_write);
  check_is_store(database);
  if (database.number("PRAGMA user_version") == kSchemaVersion) {
    add_missing_tables(database);
    return database;
  }
  const auto lock = lock_for_writing(path);
  prepare_for_writing(database, false);
  return database;
}

}  // namespace

SpanWriter::SpanWriter(const std::string &path, core::NameOf name_of)
    : database_(open_beside(path.empty() ? default_path() : path)),
      arrivals_(database_, {}, nullptr),
      dictionary_(database_, std::move(name_of)) {}

Refused SpanWriter::write(std::span<const atalaya_sample> spans, int64_t now_ns) {
  Statement statement(database_,
                      "INSERT INTO spans(start_ns, entity, name, duration_ns, arrived_ns, fields) VALUES(?1, ?2, ?3, ?4, ?5, ?6) "
                      "ON CONFLICT DO UPDATE SET duration_ns = excluded.duration_ns, arrived_ns = excluded.arrived_ns, "
                      "fields = excluded.fields");
  Transaction transaction(database_);
  try {
    for (const atalaya_sample &span : spans) put(statement, span, now_ns);
    transaction.commit();
  } catch (...) {
    dictionary_.forget();  // it knows numbers that are not in the store
    throw;
  }
  return {};
}

void SpanWriter::put(Statement &statement, const atalaya_sample &span, int64_t now_ns) {
  const int64_t entity = dictionary_.entity(span, {}, now_ns);
  core::JsonWriter fields;
  fields.object();
  for (uint32_t i = 0; i < span.field_count; ++i) {
    const atalaya_field &field = span.fields[i];
    const int64_t metric = dictionary_.metric(field.name);
    if (metric == 0 || (field.type == ATALAYA_F64 && !std::isfinite(field.value.f64))) continue;
    if (fields.key(metric); field.type == ATALAYA_F64)
      fields.real(field.value.f64);
    else
      fields.integer(field.value.i64);
  }
  std::string scratch;
  const std::string_view name = valid_utf8({span.text.data, span.text.size}, scratch);
  statement.run(span.time_ns, entity, name, span.duration_ns, now_ns, std::string_view(fields.end_object().take()));
}

}  // namespace atalaya::store
