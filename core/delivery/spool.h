// SPDX-License-Identifier: Apache-2.0
// A durable queue of batches in a folder: segment files (segment.h) and the position of the reader (spool_state.h).
//
// Invariants
//  - First in, first out. A record is settled once, after the response of the sink. After a crash at most one record,
//    the one in flight, is delivered again.
//  - An appended record survives the end of the process immediately, and a power failure after the next `sync`.
//  - For every pipeline accepted = delivered + dropped + dead_letter + queued, at any time and after any crash: missing samples are
//    counted as dropped ("spool damaged").
//  - Acknowledged records are in files at their path: if someone removes the folder or a file, the next append creates it again.
//  - One process uses the folder, which it locks. Readers (atalaya spool) need no lock.
//  - The memory does not depend on the length of the queue, except for the list of segments.
//
// The folder
//   *.seg      segments
//   state      position and counters
//   reserve    disk space that is freed when the disk is full, so that records can be removed
//   damaged/   bytes that could not be read, up to an eighth of `max`
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

// Samples that the spool dropped, for the ledger.
struct SpoolDrop {
  std::string pipeline, reason;
  uint64_t samples = 0;
};
using SpoolDrops = std::vector<SpoolDrop>;

// The outcome of a record's samples.
struct Settlement {
  uint64_t delivered = 0, dead_letter = 0;
  std::vector<std::pair<std::string, uint64_t>> dropped;  // reason, samples
};

class Spool {
 public:
  // Opens the folder, which is created if it is missing. Returns an error if another process has it.
  static Result<std::unique_ptr<Spool>> open(const SpoolLimits &limits);
  Spool(const Spool &) = delete;
  Spool &operator=(const Spool &) = delete;
  ~Spool() { close(); }

  // One thread calls append, sync and expire; another one take and settle. Any thread calls `close` and `counts`.
  enum class Put {
    stored,
    dropped,  // dropped by the policy, or because it is too large; counted, and the last element of `drops`
    full,     // the spool is full and when_full = block
    failed,   // a disk error
    partial,  // the payload would be the first of a segment, but is not complete
  };
  struct Appended {
    Put put = Put::stored;
    std::string reason;  // set for dropped, full and failed
  };
  // Appends a record. The first payload of a segment must be `complete` (FlatEncoder::complete): it has the declarations of all
  // its metrics, so that a segment can be read alone.
  Appended append(std::string_view pipeline, uint32_t samples, std::string_view payload, SpoolDrops &drops, bool complete = true);
  // Sets a callback for segments of an earlier process: it receives each payload of such a segment before the first record is
  // taken from it, because the declarations of metrics may precede that record.
  void on_inherited(std::function<void(std::string_view payload)> callback) { inherited_ = std::move(callback); }
  // Writes all appended records to the disk. After an error, records since the last successful sync may be lost in a power
  // failure.
  Status sync();
  bool dirty() const;
  // Drops records older than max_age.
  void expire(int64_t now_ns, SpoolDrops &drops);
  // Counts samples that the sink accepted, but dropped before they were appended.
  void count_dropped(std::string_view pipeline, std::string_view reason, uint64_t samples);

  struct Entry {
    std::string pipeline, payload;
    uint32_t samples = 0;
  };
  // Reads the oldest record that is not settled. It is in flight until `settle` or `put_back`. Nothing if the spool is empty.
  std::optional<Entry> take(SpoolDrops &drops);
  // Counts the record in flight and removes it. False if the spool is closed: the record is then delivered again and counted
  // later.
  bool settle(const Settlement &settlement);
  // Copies the record in flight to damaged/, because it cannot be decoded.
  void quarantine_in_flight();
  void put_back(SpoolDrops &drops);

  uint64_t id() const { return state_.id; }
  uint64_t bytes() const;  // size of all segments
  std::vector<SpoolCounts> counts() const;
  // Syncs and unlocks the folder. Later calls do nothing.
  void close();

 private:
  struct Segment {
    uint64_t name = 0;  // sequence of its first record
    uint64_t size = 0;
  };
  struct InFlight {
    uint64_t segment = 0, offset = 0, size = 0;
    int64_t time_ns = 0;
    std::string pipeline;
    uint32_t samples = 0;
    bool kept = true;  // false: later records were dropped, so that a crash does not restore this one
  };

  explicit Spool(SpoolLimits limits);
  // in spool_open.cpp
  Status open_folder();
  Status find_segments();
  Status load();
  void find_position();
  void drop_delivered_segments();
  Status scan_end();
  void scan(const Segment &segment, SegmentReader &reader);
  void find_head();

  Status lock_folder();
  Status open_state();

  // in spool.cpp
  Status restore_removed_files();
  bool is_active_in_place() const;
  bool make_room(uint64_t size, SpoolDrops &drops);
  bool disk_is_low(uint64_t size) const;
  Appended refuse(std::string_view pipeline, std::string_view reason, uint32_t samples, SpoolDrops &drops);
  bool fits(uint64_t size) const;
  int write(std::string_view pipeline, uint32_t samples, std::string_view payload, uint64_t size);  // returns 0 or errno
  int begin_segment();
  void end_segment();
  void set_reserve(bool exists);

  // in spool_take.cpp
  SegmentReader *reader();
  void read_inherited(SegmentReader &from, const Segment &segment);
  SegmentReader::Found find_next(bool check_body, SpoolDrops &drops);
  bool at_end() const;
  void evict_segment(SpoolDrops &drops);
  void delete_front();
  void count_gap(const SegmentReader::Found &found, SpoolDrops &drops);
  void count_missing_at_end(SpoolDrops &drops);
  void quarantine_damage(const SegmentReader::Found &found);
  void drop(std::string_view pipeline, std::string_view reason, uint64_t samples, SpoolDrops &drops);
  uint64_t &cursor_of(std::string_view pipeline);
  void quarantine(uint64_t offset, uint64_t size);
  void store();

  SpoolLimits limits_;
  uint64_t segment_bytes_ = 0;
  Descriptor folder_;  // the folder, locked by this process
  StateFile state_file_;

  mutable std::mutex mutex_;  // guards the members below; locked during a sync only if a segment ends or is removed
  SpoolState state_;          // `segment` and `offset` are set when it is stored
  std::deque<Segment> segments_;
  Descriptor active_;  // the last segment, if it is open for appends
  uint64_t head_ = 0;  // offset of the oldest record in the front segment; 0: its first record
  std::optional<SegmentReader> reader_;
  std::optional<InFlight> in_flight_;
  std::vector<std::pair<std::string, uint64_t>> cursors_;  // by pipeline: samples read, as `before` counts them
  uint64_t bytes_ = 0, quarantined_ = 0;
  bool dirty_ = false, new_file_ = false, sync_failed_ = false, new_segment_ = false, reserve_ = false, closed_ = false;
  std::chrono::steady_clock::time_point next_state_sync_;
  std::string record_;
  std::function<void(std::string_view)> inherited_;
  uint64_t first_own_ = 0;  // sequence; segments with lower ones are of an earlier process
};

}  // namespace atalaya::core
