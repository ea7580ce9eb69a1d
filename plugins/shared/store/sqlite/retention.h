// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/store/sqlite/file/database.h"
#include "plugins/shared/store/sqlite/names/dictionary.h"
#include "plugins/shared/store/sqlite/packing/packer.h"
#include "plugins/shared/store/sqlite/rollup/rollup.h"

namespace atalaya::store {

struct Limits {
  int64_t retain_ns = 0;                 // maximum age by arrival; 0: no limit
  int64_t max_bytes = 0;                 // the oldest arrivals are deleted while the data is larger; 0: no such limit
  int64_t min_free_bytes = 0;            // the same while the disk has less free space, down to a rest of 64 MiB; 0: no such limit
  std::vector<RollupLevel> rollup = {};  // in ascending order, each with its own `retain`
  int64_t min_retain_ns = 0;             // limits of size delete nothing that arrived later than this time ago
  int64_t max_joined_ns = int64_t{86'400} * 1'000'000'000;  // of the times of points in a joined chunk
};

// Deletes in the order of arrival, a bounded number of rows a step, and gives the space back to the file system. Young data, which
// arrived less than `min_retain` ago, stays whatever the size is: what a sender was promised can be read back. Times are those of
// ArrivalClock.
class Retention {
 public:
  Retention(Database &database, const Limits &limits);

  // One step: deletes at most `rows` samples and stacks, or chunks that cost as much, if anything is over a limit. Throws Error.
  void step(int64_t now_ns, int64_t rows, Dictionary &dictionary, Packer &packer);
  // The data is larger than max_bytes.
  bool is_over_size() { return limits_.max_bytes > 0 && used_bytes() > limits_.max_bytes; }
  // The last step found the data too large, and nothing to delete.
  bool is_stuck() const { return is_stuck_; }
  const Limits &limits() const { return limits_; }

 private:
  struct Need {
    int64_t young_ns = INT64_MAX;                         // arrivals from then on stay
    int64_t expired_ns = INT64_MIN;                       // those before are past their time
    bool windows = false, chunks = false, spans = false;  // there are such
    bool rolled = false;                                  // there are rolled chunks past the time of their level
    int64_t missing_bytes = 0;                            // so much is to be freed inside the file
    bool any() const { return windows || chunks || spans || rolled || missing_bytes > 0; }
  };
  int64_t young_since(int64_t now_ns) const;
  Need need(int64_t now_ns);
  int64_t used_bytes();
  int64_t missing_bytes();
  struct Arrived {
    int64_t id = 0, arrived_ns = 0;
  };
  static std::optional<Arrived> first_of(Statement &statement, int64_t before_ns);
  // Deletes the oldest data over a limit, or a part of it; false: no data is over a limit.
  bool delete_oldest(const Need &need, int64_t &rows, Packer &packer);
  // Deletes the window, or as much of it as `rows` allows; true when the whole window is gone.
  bool delete_window(const Arrived &window, int64_t &rows);
  // Rolled points that are past the time of their level; returns whether there were any.
  bool delete_rolled(int64_t now_ns, int64_t &rows);
  int64_t retain_of(int64_t every_ns) const;
  std::optional<int64_t> expired_rolled(int64_t now_ns);
  // The same for a table of samples or stacks, whose statement deletes a row and returns how many it counts for. A row of stacks
  // counts by its size: it has a number for each stack.
  static bool delete_rows(Statement &statement, int64_t window, int64_t &rows);
  // Deletes ended spans that arrived before this time; returns their count.
  int64_t delete_ended_spans(int64_t before_ns, int64_t rows);
  // Returns how many were deleted. Open ones have no samples to go with: those over a number go first, the rest goes last.
  int64_t delete_surplus_spans(int64_t before_ns);
  int64_t delete_any_spans(int64_t before_ns, int64_t rows);
  void give_space_back();

  Database &database_;
  Limits limits_;
  std::string folder_;
  int64_t page_size_;
  Statement pages_, free_pages_;
  Statement oldest_window_, oldest_chunk_, oldest_rolled_, oldest_arrival_, oldest_window_arrival_, waiting_window_, expired_span_,
      open_spans_;
  Statement next_every_, expired_rolled_;
  Statement delete_samples_, delete_stacks_, delete_ended_spans_, delete_open_spans_, delete_any_spans_, delete_window_,
      delete_late_, delete_chunk_, delete_rolled_, delete_collected_;
  bool is_stuck_ = false;
};

}  // namespace atalaya::store
