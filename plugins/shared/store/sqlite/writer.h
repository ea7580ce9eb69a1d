// SPDX-License-Identifier: Apache-2.0
// Writes samples to the store, with one transaction per batch. Tables: schema.cpp and docs/explanation/store.md.
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/sample/name_cache.h"
#include "plugins/shared/store/location.h"
#include "plugins/shared/store/sqlite/arrival_clock.h"
#include "plugins/shared/store/sqlite/chunks/chunk_joiner.h"
#include "plugins/shared/store/sqlite/collected_writer.h"
#include "plugins/shared/store/sqlite/file/database.h"
#include "plugins/shared/store/sqlite/names/dictionary.h"
#include "plugins/shared/store/sqlite/packing/packer.h"
#include "plugins/shared/store/sqlite/retention.h"
#include "plugins/shared/store/sqlite/rollup/rollup.h"
#include "plugins/shared/store/sqlite/rows/row_writer.h"
#include "plugins/shared/store/sqlite/stacks/stack_writer.h"
#include "plugins/shared/store/sqlite/window_list.h"
#include "plugins/shared/store/store.h"

namespace atalaya::store {

struct Options {
  std::string path;  // "": default_path()
  Limits limits;
  bool full_sync = false;  // true: committed data survives a power failure; false: only the end of the process
  Warn warn = nullptr;     // receives each warning for the operator once
  std::string boot = {};   // id of the current boot; "": the kernel's
};

// The only writer of a database. One thread at a time. All functions throw Error.
class Writer final : public StoreWriter {
 public:
  // If `metric_of` is null, all metrics are unknown.
  Writer(const Options &options, core::NameOf name_of, MetricOf metric_of = nullptr);
  Writer(const Writer &) = delete;
  Writer &operator=(const Writer &) = delete;

  int64_t arrival(const core::ClockReading &now) override { return arrivals_.at(now); }
  Refused write(std::span<const atalaya_sample> samples, int64_t now_ns) override;
  bool maintain(int64_t now_ns) override;
  // Calls `maintain` after enough samples, or after some seconds, because each step costs as much as a small batch.
  void maintain_when_due(int64_t now_ns);

  // Number of metrics whose declaration differs from the one in the store, which remains valid.
  uint64_t conflicts() const { return dictionary_.conflicts(); }
  const std::string &path() const { return database_.path(); }

  // False: the store's files were removed or replaced, so that data that is written now cannot be read. The pending data is
  // written to the old file if possible; then close this writer and open another one.
  bool is_in_place();

 private:
  // Samples of one entity in a batch, in order of time.
  using Group = std::span<const RowWriter::Sample>;

  void put_all(std::span<const atalaya_sample> samples, int64_t now_ns, Refused &refused);
  void put(const atalaya_sample &sample, int64_t now_ns, Refused &refused);
  void put_metrics(const atalaya_sample &sample, int64_t now_ns, Refused &refused);
  void put_stack(const atalaya_sample &sample, int64_t now_ns, Refused &refused);
  void put_span(const atalaya_sample &sample, int64_t now_ns);
  // Formats the fields as JSON text; returns the number of refused values.
  uint64_t render_fields(const atalaya_sample &sample);
  bool is_given(uint32_t name);
  void put_imported(int64_t now_ns);
  bool can_be_chunks(Group group);
  void put_chunks(Group group, int64_t now_ns);

  void forget();
  void make_room(int64_t now_ns);
  // Throws if the store is full and all of its data is younger than `min_retain`.
  void check_size(int64_t now_ns);

  core::Descriptor lock_;
  Database database_;
  Place place_;
  Reserve reserve_;  // declared after the database, so that a refused file gets no reserve
  ArrivalClock arrivals_;
  Dictionary dictionary_;
  CollectedWriter collected_;
  StackWriter stack_writer_;
  Packer packer_;
  ChunkJoiner joiner_;
  Rollup rollup_;
  Retention retention_;
  WindowList windows_;
  RowWriter row_writer_;
  Statement put_span_;

  std::vector<RowWriter::Sample> rows_;  // samples of the current batch
  std::vector<uint64_t> last_seen_;      // by name id: number of the last sample that had the field
  uint64_t sample_number_ = 0;
  int64_t batch_size_ = 0;        // bytes of the last batch
  bool may_be_over_size_ = true;  // the size must be checked: before the first batch, or after the last one
  int64_t waiting_samples_ = 0;   // samples that were written since the last step of `maintain`
  int64_t maintained_ns_ = INT64_MIN;
  std::string fields_, metrics_, scratch_;
};

}  // namespace atalaya::store
