// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <utility>

#include "plugins/shared/store/clickhouse/clickhouse_store.h"
#include "plugins/shared/store/clickhouse/writer.h"
#include "plugins/shared/store/joined_store.h"
#include "plugins/shared/store/location.h"
#include "plugins/shared/store/sqlite/span_writer.h"
#include "plugins/shared/store/sqlite/sqlite_store.h"
#include "plugins/shared/store/store.h"

namespace atalaya::store {
namespace {

constexpr std::string_view kClickHouse = "clickhouse:";

// Commands write little, and a person waits.
constexpr std::chrono::seconds kPatience{30};

bool is_clickhouse(std::string_view store) {
  return store.starts_with(kClickHouse);
}
clickhouse::Location clickhouse_of(std::string_view store) {
  return clickhouse::parse_location(store.substr(kClickHouse.size()));
}

// Writes all spans, or fails: a row that the database refuses is an error, because commands have no dead letters.
class SpansToClickHouse final : public StoreWriter {
 public:
  SpansToClickHouse(clickhouse::Location location, core::NameOf name_of)
      : writer_({.client = {std::move(location), kPatience, kPatience}, .corrects = true}, std::move(name_of)) {
    writer_.prepare();
  }

  Refused write(std::span<const atalaya_sample> samples, int64_t now_ns) override {
    const Refused refused = writer_.write(samples, now_ns);
    if (!writer_.refused_rows().empty())
      throw Error(Cause::permanent, writer_.name() + " refused it: " + writer_.refused_rows().front().refusal.server_message);
    return refused;
  }
  bool maintain(int64_t /*now_ns*/) override { return false; }

 private:
  clickhouse::Writer writer_;
};

}  // namespace

std::unique_ptr<Store> open_store(std::string_view text, std::chrono::nanoseconds response_timeout) {
  const std::string store = store_of(text);
  if (is_clickhouse(store)) return std::make_unique<clickhouse::ClickHouseStore>(clickhouse_of(store), response_timeout);
  return std::make_unique<SqliteStore>(store);
}

std::unique_ptr<Store> open_store(const std::vector<std::string> &texts, std::chrono::nanoseconds response_timeout) {
  if (texts.size() < 2) return open_store(texts.empty() ? std::string_view() : texts.front(), response_timeout);
  std::vector<std::unique_ptr<Store>> stores;
  std::set<std::string> names;
  for (const std::string &text : texts) {
    stores.push_back(open_store(text, response_timeout));
    if (!names.insert(stores.back()->name()).second)
      throw Error(Cause::config, stores.back()->name() + " is given twice; name each store once");
  }
  return std::make_unique<JoinedStore>(std::move(stores));
}

std::unique_ptr<StoreWriter> open_span_writer(std::string_view text, core::NameOf name_of) {
  const std::string store = store_of(text);
  if (is_clickhouse(store)) return std::make_unique<SpansToClickHouse>(clickhouse_of(store), std::move(name_of));
  return std::make_unique<SpanWriter>(store, std::move(name_of));
}

}  // namespace atalaya::store
