// SPDX-License-Identifier: Apache-2.0
// A durable queue of batches in a folder: segment files (segment.h) and the reader's position (spool_state.h).
//
// Invariants
//  - First in, first out. A record is settled once, after the sink has answered; what a crash leaves unsettled, at most the one in
//    flight, comes again.
//  - An appended record survives the death of the process at once, and a power failure after the next `sync`.
//  - For every pipeline accepted = delivered + dropped + dead_letter + queued, at any moment and after any crash: what is found
//    missing is counted as dropped ("spool damaged").
//  - What is acknowledged is at its path: a folder or a file that someone removes is noticed with the next batch, and made again.
//  - One process has the folder: it holds a lock on it. Reading (atalaya spool) needs none.
//  - Memory does not depend on how much is queued, but for a list of segments.
//
// The folder: *.seg, state, reserve (room that is given up when the disk is full, so that deleting works), damaged/ (bytes that
// could not be read, up to an eighth of `max`).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/config/description.h"
#include "core/delivery/segment.h"
#include "core/delivery/spool_state.h"

namespace atalaya::core {

// Samples that left the spool undelivered, for the ledger.
struct SpoolDrop {
  std::string pipeline, reason;
  uint64_t samples = 0;
};
using SpoolDrops = std::vector<SpoolDrop>;

// The result of a record: its samples by outcome.
struct Settlement {
  uint64_t delivered = 0, dead_letter = 0;
  std::vector<std::pair<std::string, uint64_t>> dropped;  // reason, samples
};

class Spool {
 public:
  // Makes the folder when it is not there. The error says when another has it.
  static Result<std::unique_ptr<Spool>> open(const SpoolLimits &limits);
  Spool(const Spool &) = delete;
  Spool &operator=(const Spool &) = delete;
  ~Spool() { close(); }

  // One thread appends, syncs and expires; another takes. `close` and `counts`: any.
  enum class Put {
    stored,
    dropped,  // by the policy, or too large; counted, and last in `drops`
    full,     // when_full = block
    failed,   // the disk does not work
    partial,  // it would begin a segment and is not complete
  };
  struct Appended {
    Put put = Put::stored;
    std::string reason;  // of dropped, full and failed
  };
  // A payload that begins a segment has to be `complete`: it has the declarations of all its metrics, so that a segment can be read
  // alone.
  Appended append(std::string_view pipeline, uint32_t samples, std::string_view payload, SpoolDrops &drops, bool complete = true);
  // Called with each payload of a segment that another process wrote, when its reading begins: what is read may lie behind the
  // record that declares its metrics.
  void on_inherited(std::function<void(std::string_view payload)> take) { inherited_ = std::move(take); }
  // Everything appended before is on the disk, if it says so; else none of it since the last sync is sure to be.
  Status sync();
  bool dirty() const;
  // Drops records older than max_age.
  void expire(int64_t now_ns, SpoolDrops &drops);
  // Samples that were accepted for this spool and dropped before they were in it.
  void count_dropped(std::string_view pipeline, std::string_view reason, uint64_t samples);

  struct Entry {
    std::string pipeline, payload;
    uint32_t samples = 0;
  };
  // The oldest record that is not settled; it is in flight until `settle` or `put_back`. Nothing when there is none.
  std::optional<Entry> take(SpoolDrops &drops);
  // False when the spool was closed meanwhile: the record comes again, and is counted then.
  bool settle(const Settlement &settlement);
  // Copies the record in flight to damaged/: it could not be read.
  void quarantine_in_flight();
  void put_back(SpoolDrops &drops);

  uint64_t id() const { return state_.id; }
  uint64_t bytes() const;  // of all segments
  std::vector<SpoolCounts> counts() const;
  // Syncs and gives the folder up. Every later call does nothing.
  void close();

 private:
  struct Segment {
    uint64_t name = 0;  // its first sequence
    uint64_t size = 0;
  };
  struct InFlight {
    uint64_t segment = 0, offset = 0, size = 0;
    int64_t time_ns = 0;
    std::string pipeline;
    uint32_t samples = 0;
    bool kept = true;  // a crash brings it back; not once records behind it were dropped
  };

  explicit Spool(SpoolLimits limits);
  // spool_open.cpp
  Status open_folder();
  Status find_segments();
  Status load();
  void find_position();
  void drop_what_is_delivered();
  Status scan_end();
  void scan(const Segment &segment, SegmentReader &reader);
  void find_head();

  Status take_folder();
  Status open_state();

  // spool.cpp
  Status keep_place();
  bool is_active_in_place() const;
  bool make_room(uint64_t size, SpoolDrops &drops);
  bool disk_is_low(uint64_t size) const;
  Appended refuse(std::string_view pipeline, std::string_view reason, uint32_t samples, SpoolDrops &drops);
  bool fits(uint64_t size) const;
  int write(std::string_view pipeline, uint32_t samples, std::string_view payload, uint64_t size);  // errno
  int begin_segment();
  void end_segment();
  void set_reserve(bool there);

  // spool_take.cpp
  SegmentReader *reader();
  void read_inherited(SegmentReader &from, const Segment &segment);
  SegmentReader::Found find_next(bool check_body, SpoolDrops &drops);
  bool at_end() const;
  void evict_segment(SpoolDrops &drops);
  void delete_front();
  void note_gap(const SegmentReader::Found &found, SpoolDrops &drops);
  void note_missing_at_end(SpoolDrops &drops);
  void note_damage(const SegmentReader::Found &found);
  void drop(std::string_view pipeline, std::string_view reason, uint64_t samples, SpoolDrops &drops);
  uint64_t &cursor_of(std::string_view pipeline);
  void quarantine(uint64_t offset, uint64_t size);
  void store();

  SpoolLimits limits_;
  uint64_t segment_bytes_ = 0;
  Descriptor folder_;  // locked
  StateFile state_file_;

  mutable std::mutex mutex_;  // guards the members below; held in a sync only where a segment ends or goes
  SpoolState state_;          // segment and offset are filled in when it is stored
  std::deque<Segment> segments_;
  Descriptor active_;  // the last segment, when it is being written
  uint64_t head_ = 0;  // in the front segment; 0: its first record
  std::optional<SegmentReader> reader_;
  std::optional<InFlight> in_flight_;
  std::vector<std::pair<std::string, uint64_t>> cursors_;  // by pipeline: samples read, as `before` counts them
  uint64_t bytes_ = 0, quarantined_ = 0;
  bool dirty_ = false, new_file_ = false, sync_failed_ = false, new_segment_ = false, reserve_ = false, closed_ = false;
  std::chrono::steady_clock::time_point next_state_sync_;
  std::string record_;
  std::function<void(std::string_view)> inherited_;
  uint64_t first_own_ = 0;  // sequence: segments below are another process's
};

}  // namespace atalaya::core
