// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "core/util/now.h"
#include "plugins/store/clickhouse/clickhouse_store.h"
#include "plugins/store/clickhouse/writer.h"
#include "plugins/store/location.h"
#include "plugins/store/span_writer.h"
#include "plugins/store/sqlite_store.h"
#include "plugins/store/store.h"

namespace atalaya::store {
namespace {

constexpr std::string_view kSqlite = "sqlite:";
constexpr std::string_view kClickHouse = "clickhouse:";

// What a command writes is little, and somebody waits for it.
constexpr std::chrono::seconds kPatience{30};

std::string resolved(std::string_view text) {
  return text.empty() || text == kSqlite ? default_path() : std::string(text);
}
std::string_view without(std::string_view prefix, std::string_view text) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

// Writes spans that are all kept: what the database refuses is an error, for there is nobody who would look at dead letters.
class SpansToClickHouse final : public StoreWriter {
 public:
  SpansToClickHouse(clickhouse::Location location, core::NameOf name_of)
      : writer_({{std::move(location), kPatience, kPatience}, {}}, std::move(name_of)) {
    writer_.prepare(core::realtime());
  }

  Refused write(std::span<const atalaya_sample> samples, int64_t now_ns) override {
    const Refused refused = writer_.write(samples, now_ns);
    if (!writer_.refused_rows().empty())
      throw Error(Cause::permanent, writer_.name() + " refused it: " + writer_.refused_rows().front().refusal.words);
    return refused;
  }
  bool maintain(int64_t /*now_ns*/) override { return false; }

 private:
  clickhouse::Writer writer_;
};

}  // namespace

std::unique_ptr<Store> open_store(std::string_view text) {
  const std::string store = resolved(text);
  if (store.starts_with(kClickHouse))
    return std::make_unique<clickhouse::ClickHouseStore>(clickhouse::parse_location(without(kClickHouse, store)));
  return std::make_unique<SqliteStore>(std::string(without(kSqlite, store)));
}

std::unique_ptr<StoreWriter> open_span_writer(std::string_view text, core::NameOf name_of) {
  const std::string store = resolved(text);
  if (store.starts_with(kClickHouse))
    return std::make_unique<SpansToClickHouse>(clickhouse::parse_location(without(kClickHouse, store)), std::move(name_of));
  return std::make_unique<SpanWriter>(std::string(without(kSqlite, store)), std::move(name_of));
}

}  // namespace atalaya::store
