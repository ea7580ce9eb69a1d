// SPDX-License-Identifier: Apache-2.0
// The writing side of the store: samples in, a transaction a batch. Tables: schema.cpp and docs/store.md.
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/sample/names.h"
#include "core/util/files.h"
#include "plugins/store/dictionary.h"
#include "plugins/store/location.h"
#include "plugins/store/packer.h"
#include "plugins/store/retention.h"
#include "plugins/store/rollup.h"
#include "plugins/store/sqlite.h"
#include "plugins/store/stack_old.h"
#include "plugins/store/store.h"

namespace atalaya::store {

struct Options {
  std::string path;  // "": default_path()
  Limits limits;
  bool full_sync = false;  // true: a commit survives a power cut, not only the end of the process
  Warn warn = nullptr;     // is told what the operator should know, once each
};

// The only writer of a database. One thread at a time. Everything throws Error.
class Writer final : public StoreWriter {
 public:
  Writer(const Options &options, core::NameOf name_of);
  Writer(const Writer &) = delete;
  Writer &operator=(const Writer &) = delete;

  Refused write(std::span<const atalaya_sample> samples, int64_t now_ns) override;
  bool maintain(int64_t now_ns) override;

  const std::string &path() const { return database_.path(); }

 private:
  // The row of `windows` that samples of this time and duration refer to.
  struct Window {
    int64_t time_ns = 0, duration_ns = 0, id = 0;
    std::vector<int64_t> others;  // windows that end at the same time with another duration
  };

  // Samples of one entity in a batch, in their order.
  using Group = std::vector<const atalaya_sample *>;

  void put_all(std::span<const atalaya_sample> samples, int64_t now_ns, Refused &refused);
  void put_many(std::span<const atalaya_sample> samples, int64_t now_ns, Refused &refused);
  bool can_be_chunks(int64_t entity, const Group &group);
  void put_chunks(int64_t entity, Group &group, int64_t now_ns, Refused &refused);
  void put(const atalaya_sample &sample, int64_t now_ns, Refused &refused);
  void put_metrics(const atalaya_sample &sample, int64_t now_ns);
  void put_stack(const atalaya_sample &sample, int64_t now_ns, Refused &refused);
  void put_span(const atalaya_sample &sample, int64_t now_ns);
  // Makes the JSON texts of the fields, of the same with nulls, and of their metrics; returns how many values were refused.
  uint64_t render_fields(const atalaya_sample &sample);
  bool is_given(uint32_t name);
  const Window &window_of(const atalaya_sample &sample, int64_t now_ns);

  void forget();
  void make_room(int64_t now_ns);

  core::Descriptor lock_;
  Reserve reserve_;
  Database database_;
  Dictionary dictionary_;
  Retention retention_;
  StackWriter stack_writer_;
  OldStacks old_stacks_;
  Packer packer_;
  Rollup rollup_;
  Statement find_windows_, add_window_, put_sample_, put_span_, clear_sample_;

  std::optional<Window> window_;  // of the last sample of the running batch
  std::vector<uint64_t> given_;   // by name id: the number of the last sample that had the field
  uint64_t sample_number_ = 0;
  int64_t batch_size_ = 0;  // of the last batch
  std::string fields_, nulls_, metrics_, scratch_;
};

}  // namespace atalaya::store
