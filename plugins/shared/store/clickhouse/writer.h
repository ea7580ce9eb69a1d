// SPDX-License-Identifier: Apache-2.0
// Batches into the tables. What was acknowledged may come again: the last row of a series and time wins.
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

#include "core/base/name_cache.h"
#include "plugins/shared/store/clickhouse/client.h"
#include "plugins/shared/store/clickhouse/rows.h"
#include "plugins/shared/store/store.h"

namespace atalaya::store::clickhouse {

// A row that the database will never take: a field of a sample of the batch, or all of it.
struct RefusedRow {
  size_t sample;
  uint32_t field;  // or kAllFields
  Refusal refusal;
};

struct WriterOptions {
  ClientOptions client;
  std::string cluster = {};  // empty: tables of one server
  size_t batch_rows = 100'000, batch_bytes = size_t{16} << 20;
  std::string version_file = {};  // remembers the version of the last batch; empty: nobody does
  // Beside the sinks: makes no tables, for it does not know of what cluster, and its spans win over those that they replace,
  // whatever the clocks of the hosts are.
  bool corrects = false;
};

// One thread at a time. Connects at the first write, and again after an error; throws Error, and then all of the batch has to come
// again.
class Writer final : public StoreWriter {
 public:
  Writer(const WriterOptions &options, core::NameOf name_of);

  // Connects, and makes the tables that are missing. write() does it where it was not done.
  void prepare();
  // What is refused for good is in refused_rows() afterwards; each of these rows was refused alone. Where nothing is taken at all
  // the table is to blame: that is an error, which can be mended while the batch waits.
  Refused write(std::span<const atalaya_sample> samples, int64_t now_ns) override;
  // The server merges by itself.
  bool maintain(int64_t /*now_ns*/) override { return false; }

  const std::vector<RefusedRow> &refused_rows() const { return refused_; }
  const std::string &name() const { return client_.name(); }

 private:
  struct Part {
    size_t first, last;  // rows
  };
  Refused put(std::span<const atalaya_sample> samples, int64_t now_ns);
  void next_version(std::span<const atalaya_sample> samples, int64_t now_ns);
  void send();
  void send_series();
  void send(const char *columns, const TableRows &all);
  std::optional<Refusal> insert(const char *columns, const TableRows &rows, Part part);
  bool takes_any(const char *columns, const TableRows &rows);
  void search(const char *columns, const TableRows &rows, Part part, const Refusal &refusal, size_t &requests);
  TableRows not_known(const char *columns, const TableRows &all);

  WriterOptions options_;
  Client client_;
  Rows rows_;
  bool ready_ = false;
  uint64_t version_ = 0;  // of the last batch
  std::vector<RefusedRow> refused_;
  // Rows of a batch that comes again which were refused alone when it came before, by what they hold.
  std::unordered_map<std::string, Refusal> known_;
};

}  // namespace atalaya::store::clickhouse
