// SPDX-License-Identifier: Apache-2.0
// An empty store of each engine, behind their common interface: tests with these hold for all engines.
#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/store/clickhouse/writer.h"
#include "tests/unit/store/engines/clickhouse_server.h"
#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::test {

// Common parts.
class Engine {
 public:
  Engine(std::string location, std::string state) : location_(std::move(location)), state_(std::move(state)) {}

  core::NameOf names() {
    return [this](uint32_t id) { return symbols_.name(id); };
  }
  Samples samples() { return Samples(symbols_); }
  testing::Declarations declared = usual_declarations();
  std::unique_ptr<Store> open() const { return open_store(location_); }
  std::vector<std::vector<Point>> scan(const Selection &selection) const { return test::scan(*open(), selection); }

 protected:
  std::string location_, state_;

 private:
  core::Symbols symbols_;
};

class Sqlite : private Folder, public Engine {
 public:
  static const char *missing() { return nullptr; }
  Sqlite() : Engine(path() + "/atalaya.db", path()) {}
  std::unique_ptr<StoreWriter> writer() {
    return std::make_unique<Writer>(Options{location_, {}, false}, names(), declared.metric_of(names()));
  }
};

class ClickHouse : private Folder, public Engine {
 public:
  static const char *missing() { return ClickHouseServer::missing(); }
  ClickHouse() : Engine(ClickHouseServer::get().make_database(), path()) {}
  void execute(const char *sql) const { ClickHouseServer::execute(location_, sql); }
  // As the sink makes it: its state folder knows the version of the last batch.
  std::unique_ptr<StoreWriter> writer() {
    constexpr std::chrono::seconds kPatience{60};
    const std::string url = location_.substr(location_.find(':') + 1);
    clickhouse::WriterOptions options{.client = {clickhouse::parse_location(url), kPatience, kPatience},
                                      .version_file = state_ + "/version"};
    auto writer = std::make_unique<clickhouse::Writer>(options, names(), declared.metric_of(names()));
    writer->prepare();
    return writer;
  }
};

}  // namespace atalaya::store::test

TYPE_TO_STRING_AS("SQLite", atalaya::store::test::Sqlite);
TYPE_TO_STRING_AS("ClickHouse", atalaya::store::test::ClickHouse);

// At the beginning of a test of any engine.
#define SKIP_WHERE_MISSING(Type)                 \
  if (const char *reason = Type::missing()) {    \
    MESSAGE("skipped: " << std::string(reason)); \
    return;                                      \
  }
