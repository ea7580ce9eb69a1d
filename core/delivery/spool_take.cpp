// SPDX-License-Identifier: Apache-2.0
// The reader of a spool: takes records in their order, counts damaged or missing ones, drops records by the limits.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "core/base/log.h"
#include "core/delivery/spool.h"
#include "core/delivery/spool_view.h"

namespace atalaya::core {
namespace {

constexpr std::string_view kDamaged = "spool damaged";

}  // namespace

std::optional<Spool::Entry> Spool::take(SpoolDrops &drops) {
  const std::lock_guard lock(mutex_);
  if (closed_ || in_flight_) return std::nullopt;
  const SegmentReader::Found found = find_next(true, drops);
  if (found.kind != SegmentReader::Kind::record) {
    if (at_end()) count_missing_at_end(drops);
    return std::nullopt;
  }
  head_ = found.offset + found.size;
  in_flight_ = InFlight{.segment = segments_.front().name,
                        .offset = found.offset,
                        .size = found.size,
                        .time_ns = found.header.time_ns,
                        .pipeline = std::string(found.name),
                        .samples = found.header.samples};
  return Entry{in_flight_->pipeline, std::string(found.payload), found.header.samples};
}

bool Spool::settle(const Settlement &settlement) {
  const std::lock_guard lock(mutex_);
  if (closed_ || !in_flight_) return false;
  SpoolCounts &counts = state_.counts_of(in_flight_->pipeline);
  counts.consumed += in_flight_->samples;
  counts.delivered += settlement.delivered;
  counts.dead_letter += settlement.dead_letter;
  for (const auto &[reason, samples] : settlement.dropped) counts.drop(reason, samples);
  in_flight_.reset();
  dirty_ = true;
  store();
  return true;
}

void Spool::put_back(SpoolDrops &drops) {
  const std::lock_guard lock(mutex_);
  if (closed_ || !in_flight_) return;
  const InFlight back = *std::exchange(in_flight_, std::nullopt);
  if (back.kept) {
    head_ = back.offset;
    cursor_of(back.pipeline) -= back.samples;
  } else {
    drop(back.pipeline, "spool full", back.samples, drops);
  }
  store();
}

void Spool::quarantine_in_flight() {
  const std::lock_guard lock(mutex_);
  if (!closed_ && in_flight_ && in_flight_->kept) quarantine(in_flight_->offset, in_flight_->size);
}

void Spool::expire(int64_t now_ns, SpoolDrops &drops) {
  const std::lock_guard lock(mutex_);
  if (closed_ || limits_.max_age_ns == 0) return;
  const int64_t oldest = now_ns - limits_.max_age_ns;
  // The record in flight is the oldest. If it is too old, the sink may still accept it, but a crash does not restore it.
  if (in_flight_ && in_flight_->time_ns >= oldest) return;
  bool any = false;
  for (;;) {
    const SegmentReader::Found found = find_next(false, drops);
    if (found.kind != SegmentReader::Kind::record || found.header.time_ns >= oldest) break;
    if (in_flight_) in_flight_->kept = false;
    drop(found.name, "too old", found.header.samples, drops);
    head_ = found.offset + found.size;
    any = true;
  }
  if (any && at_end() && !in_flight_) count_missing_at_end(drops);
  if (any) store();
}

SegmentReader *Spool::reader() {
  if (reader_) return &*reader_;
  auto opened = SegmentReader::open(segment_path(limits_.dir, segments_.front().name), state_.id);
  if (!opened) {
    log_limited(LogLevel::error, "spool " + opened.error() + "; waiting for it", "spool " + limits_.dir + " segment");
    return nullptr;
  }
  reader_ = std::move(*opened);
  if (inherited_ && segments_.front().name < first_own_) read_inherited(*reader_, segments_.front());
  return &*reader_;
}

void Spool::read_inherited(SegmentReader &from, const Segment &segment) {
  for (uint64_t at = from.begin(); at < segment.size;) {
    const SegmentReader::Found found = from.at(at, segment.size, true);
    if (found.kind == SegmentReader::Kind::record) inherited_(found.payload);
    if (found.size == 0) break;
    at += found.size;
  }
}

// Finds the next record, or the end; skips damage before it. The position remains before the record.
SegmentReader::Found Spool::find_next(bool check_body, SpoolDrops &drops) {
  while (!segments_.empty()) {
    const Segment front = segments_.front();
    SegmentReader *from = reader();
    if (from == nullptr && ::access(segment_path(limits_.dir, front.name).c_str(), F_OK) != 0 && errno == ENOENT &&
        segments_.size() > 1) {
      delete_front();  // someone has removed the file; its records are counted as missing
      continue;
    }
    if (from == nullptr) return {};
    if (head_ == 0) head_ = from->begin();
    const SegmentReader::Found found = from->at(head_, front.size, check_body);
    if (found.kind == SegmentReader::Kind::record) {
      count_gap(found, drops);
      return found;
    }
    if (found.kind == SegmentReader::Kind::damage) {
      quarantine_damage(found);
      head_ += found.size;
    } else if (segments_.size() > 1) {
      delete_front();
    } else {
      return found;
    }
  }
  return {};
}

bool Spool::at_end() const {
  return segments_.empty() || (segments_.size() == 1 && head_ >= segments_.front().size);
}

// Drops the undelivered records of the oldest segment.
void Spool::evict_segment(SpoolDrops &drops) {
  if (segments_.size() == 1) end_segment();
  const Segment front = segments_.front();
  if (SegmentReader *from = reader()) {
    if (head_ == 0) head_ = from->begin();
    while (head_ < front.size) {
      const SegmentReader::Found found = from->at(head_, front.size, false);
      if (found.kind == SegmentReader::Kind::record) {
        count_gap(found, drops);
        drop(found.name, "spool full", found.header.samples, drops);
      }
      head_ += found.size;
    }
  }
  delete_front();
}

// Syncs the state before the file is removed: otherwise delivered records would count as missing after a power failure.
void Spool::delete_front() {
  const Segment gone = segments_.front();
  if (in_flight_ && in_flight_->segment == gone.name) in_flight_->kept = false;
  segments_.pop_front();
  bytes_ -= gone.size;
  reader_.reset();
  head_ = 0;
  store();
  static_cast<void>(state_file_.sync());
  ::unlink(segment_path(limits_.dir, gone.name).c_str());
}

// Counts the samples that are missing between the pipeline's previous record and this one.
void Spool::count_gap(const SegmentReader::Found &found, SpoolDrops &drops) {
  uint64_t &cursor = cursor_of(found.name);
  const uint64_t missing = found.header.before > cursor ? found.header.before - cursor : 0;
  cursor = found.header.before + found.header.samples;
  if (missing == 0) return;
  log_limited(LogLevel::error,
              "spool " + limits_.dir + ": " + std::to_string(missing) + " samples of pipeline \"" + std::string(found.name) +
                  "\" are lost; they are counted as dropped",
              "spool " + limits_.dir + " lost");
  drop(found.name, kDamaged, missing, drops);
}

void Spool::count_missing_at_end(SpoolDrops &drops) {
  bool any = false;
  for (size_t i = 0; i < state_.pipelines.size(); ++i) {
    SpoolCounts &counts = state_.pipelines[i];
    const uint64_t missing = counts.queued();
    if (missing == 0) continue;
    log_limited(LogLevel::error,
                "spool " + limits_.dir + ": the last " + std::to_string(missing) + " samples of pipeline \"" + counts.pipeline +
                    "\" are lost; they are counted as dropped",
                "spool " + limits_.dir + " lost");
    cursor_of(counts.pipeline) = counts.appended;
    drop(std::string(counts.pipeline), kDamaged, missing, drops);
    any = true;
  }
  if (any) store();
}

void Spool::quarantine_damage(const SegmentReader::Found &found) {
  const std::string where = "spool " + segment_path(limits_.dir, segments_.front().name) + ": ";
  if (found.has_header && found.header.size() > found.size) {
    log(LogLevel::info, where + "its last record was never finished; it is left out");
    return;
  }
  log_limited(LogLevel::error,
              where + std::to_string(found.size) + " bytes at " + std::to_string(found.offset) + " are damaged; they are kept in " +
                  limits_.dir + "/damaged",
              "spool " + limits_.dir + " damage");
  quarantine(found.offset, found.size);
}

void Spool::quarantine(uint64_t offset, uint64_t size) {
  if (quarantined_ + size > static_cast<uint64_t>(limits_.max_bytes) / 8) return;
  const SegmentReader *from = reader();
  if (from == nullptr) return;
  const std::string bytes = from->raw(offset, size);
  const std::string folder = limits_.dir + "/damaged";
  ::mkdir(folder.c_str(), 0700);
  char name[64];
  std::snprintf(name, sizeof(name), "/%016llx-%llu", static_cast<unsigned long long>(segments_.front().name),
                static_cast<unsigned long long>(offset));
  const Descriptor file(::open((folder + name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file && ::write(file.get(), bytes.data(), bytes.size()) > 0) quarantined_ += size;
}

void Spool::drop(std::string_view pipeline, std::string_view reason, uint64_t samples, SpoolDrops &drops) {
  SpoolCounts &counts = state_.counts_of(pipeline);
  counts.consumed += samples;
  counts.drop(reason, samples);
  dirty_ = true;
  if (!drops.empty() && drops.back().pipeline == pipeline && drops.back().reason == reason) {
    drops.back().samples += samples;
  } else {
    drops.push_back({std::string(pipeline), std::string(reason), samples});
  }
}

uint64_t &Spool::cursor_of(std::string_view pipeline) {
  for (auto &[name, cursor] : cursors_)
    if (name == pipeline) return cursor;
  return cursors_.emplace_back(pipeline, 0).second;
}

void Spool::store() {
  const bool back = in_flight_ && in_flight_->kept;
  state_.segment = back ? in_flight_->segment : segments_.empty() ? 0 : segments_.front().name;
  state_.offset = back ? in_flight_->offset : head_;
  if (segments_.empty()) state_.segment = state_.next_sequence;
  if (const Status stored = state_file_.store(state_); !stored)
    log_limited(LogLevel::error, "spool " + limits_.dir + ": " + stored.error(), "spool " + limits_.dir + " state");
}

}  // namespace atalaya::core
