// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/sqlite/file/database.h"
#include "plugins/shared/store/sqlite/names/dictionary.h"
#include "plugins/shared/store/sqlite/rows/block.h"
#include "plugins/shared/store/sqlite/window_list.h"

namespace atalaya::store {

// Writes the metrics samples of a batch as rows of the table `samples`. A row has one or more blocks of neighbouring entities
// (block.h).
class RowWriter {
 public:
  RowWriter(Database &database, Dictionary &dictionary, WindowList &windows);

  struct Sample {
    int64_t time_ns = 0, entity = 0;
    const atalaya_sample *sample = nullptr;
  };
  // Writes all samples of a batch in its transaction and in their order. Sorts the list. Of samples of one series with the same
  // time the last one is stored, also if windows have different durations.
  void write(std::vector<Sample> &samples, int64_t now_ns);

 private:
  // A window of the time that is being written, and its row that is being filled.
  struct Open {
    Window window;
    int64_t block = -1, last_block = -1;
    int64_t entity = -1;  // entity of the sample that is being added, until its end
    BlockText text;
    size_t last_block_begin = 0;

    // Whether its rows are the only ones of their series and times.
    bool may_have_wide_rows() const { return window.is_new && window.others.empty(); }
  };

  void put_entity(std::span<const Sample> samples, int64_t now_ns);
  Open &open(const atalaya_sample &sample, int64_t now_ns);
  void start_entity(Open &open, int64_t entity);
  void put_field(Open &open, int64_t entity, int64_t metric, const atalaya_field &field);
  bool is_given(int64_t metric);
  static bool is_full(const Open &open);
  void flush(Open &open);
  void flush_all();
  // Reads the row of a block, which then has no other block. False: there is no row.
  bool read(int64_t window, int64_t block);
  // Divides the stored row that was read into one row per block.
  void split(int64_t window, int64_t first_block);
  [[noreturn]] void damaged(int64_t window, int64_t block) const;

  Database &database_;
  Dictionary &dictionary_;
  WindowList &windows_;
  Statement find_, put_, remove_;

  int64_t time_ns_ = 0;
  std::vector<Open> open_;  // some of them are in use
  size_t in_use_ = 0;
  std::vector<uint64_t> last_seen_;  // by metric: number of the last entity that had it
  uint64_t number_ = 0;
  std::string stored_;
  BlockText changed_;
};

}  // namespace atalaya::store
