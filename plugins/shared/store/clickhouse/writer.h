// SPDX-License-Identifier: Apache-2.0
// Writes batches into the tables. A batch may be written again: of rows of a series with one time, the last one is valid.
#pragma once

#include <atalaya/plugin.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/sample/name_cache.h"
#include "plugins/shared/store/clickhouse/declarations.h"
#include "plugins/shared/store/clickhouse/rows.h"
#include "plugins/shared/store/clickhouse/wire/client.h"
#include "plugins/shared/store/store.h"

namespace atalaya::store::clickhouse {

// A row that the database will never accept: one field of a sample of the batch, or the complete sample.
struct RefusedRow {
  size_t sample;
  uint32_t field;  // index of the field, or kAllFields
  Refusal refusal;
};

struct WriterOptions {
  ClientOptions client;
  std::string cluster = {};  // empty: tables of one server
  size_t batch_rows = 100'000, batch_bytes = size_t{16} << 20;
  std::string version_file = {};  // file that stores the version of the last batch; empty: none
  Warn warn = nullptr;            // receives warnings for the operator, once each
  // For writers other than sinks: creates no tables, because the cluster is unknown. Its spans replace older ones, independent
  // of the clocks of the hosts.
  bool corrects = false;
};

// One thread at a time. Connects at the first write, and again after an error. If one of several servers does not accept a
// batch, the next one receives it. After an Error, write the complete batch again.
class Writer final : public StoreWriter {
 public:
  // If `metric_of` is null, all metrics are unknown.
  Writer(const WriterOptions &options, core::NameOf name_of, MetricOf metric_of = nullptr);

  // Connects, and creates missing tables. write() calls it if needed.
  void prepare();
  // Writes a batch. Then refused_rows() has the rows that are refused permanently, each after an insertion without other rows.
  // If the database accepts no row, the table is the cause: that is an error, which can be fixed while the batch waits.
  Refused write(std::span<const atalaya_sample> samples, int64_t now_ns) override;
  // Does nothing, because the server merges.
  bool maintain(int64_t /*now_ns*/) override { return false; }

  const std::vector<RefusedRow> &refused_rows() const { return refused_; }
  uint64_t conflicts() const { return declarations_.conflicts(); }
  const std::string &name() const { return client_.name(); }

 private:
  struct Part {
    size_t first, last;  // indices of the first and the last row
  };
  Refused write_to_server(std::span<const atalaya_sample> samples, int64_t now_ns);
  Refused put(std::span<const atalaya_sample> samples, int64_t now_ns);
  void next_version(std::span<const atalaya_sample> samples, int64_t now_ns);
  void send();
  void send_declarations(std::span<const atalaya_sample> samples, int64_t now_ns);
  void send_series();
  void send(const char *columns, const TableRows &all);
  std::optional<Refusal> insert(const char *columns, const TableRows &rows, Part part);
  bool accepts_any(const char *columns, const TableRows &rows);
  void search(const char *columns, const TableRows &rows, Part part, const Refusal &refusal, size_t &requests);
  TableRows not_known(const char *columns, const TableRows &all);

  WriterOptions options_;
  Client client_;
  Rows rows_;
  Declarations declarations_;
  bool ready_ = false;
  uint64_t version_ = 0;  // version of the last batch
  std::vector<RefusedRow> refused_;
  // By content: rows that the database refused without other rows in the last attempt to write the batch.
  std::unordered_map<std::string, Refusal> known_;
};

}  // namespace atalaya::store::clickhouse
