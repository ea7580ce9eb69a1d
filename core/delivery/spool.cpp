// SPDX-License-Identifier: Apache-2.0
#include "core/delivery/spool.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "core/base/log.h"
#include "core/base/now.h"
#include "core/delivery/spool_view.h"

namespace atalaya::core {
namespace {

constexpr off_t kReserve = off_t{256} << 10;

bool disk_is_full(int error) {
  return error == ENOSPC || error == EDQUOT;
}

// errno, or 0.
int write_all(int fd, std::string_view bytes, uint64_t at) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    if (put == 0) return EIO;
    bytes.remove_prefix(static_cast<size_t>(put));
    at += static_cast<uint64_t>(put);
  }
  return 0;
}

}  // namespace

Spool::Appended Spool::append(std::string_view pipeline, uint32_t samples, std::string_view payload, SpoolDrops &drops,
                              bool complete) {
  const std::lock_guard lock(mutex_);
  if (closed_) return {Put::failed, limits_.dir + ": the spool is closed"};
  if (const Status kept = restore_removed_files(); !kept) return {Put::failed, kept.error()};
  const uint64_t size = RecordHeader{.name_size = static_cast<uint32_t>(pipeline.size()),
                                     .payload_size = static_cast<uint32_t>(std::min<size_t>(payload.size(), kMaxPayloadSize))}
                            .size();
  if (payload.size() > kMaxPayloadSize || size > static_cast<uint64_t>(limits_.max_bytes))
    return refuse(pipeline, "larger than the spool", samples, drops);
  const bool room = make_room(size, drops);
  if (room && !complete && !fits(size)) return {Put::partial, {}};
  int failed = room ? write(pipeline, samples, payload, size) : ENOSPC;
  while (room && disk_is_full(failed) && limits_.when_full == WhenFull::drop_oldest && segments_.size() > 1) {
    set_reserve(false);  // some file systems need free space to remove a file
    evict_segment(drops);
    failed = write(pipeline, samples, payload, size);
  }
  if (failed == 0) return {};
  if (!disk_is_full(failed)) return {Put::failed, limits_.dir + ": " + error_text(failed)};
  if (limits_.when_full != WhenFull::block) return refuse(pipeline, "spool full", samples, drops);
  return {Put::full, limits_.dir + ": the spool is full" + (room ? ": " + error_text(failed) : "")};
}

bool Spool::is_active_in_place() const {
  return !active_ || is_at(active_.get(), segment_path(limits_.dir, segments_.back().name));
}

// Creates the folder and files again if someone has removed them. The samples of removed segments are counted as missing when the
// reader reaches them, unless it has the segment open.
Status Spool::restore_removed_files() {
  const bool has_folder = is_at(folder_.get(), limits_.dir);
  const bool has_state = has_folder && state_file_.is_at(limits_.dir + "/state");
  if (has_state && is_active_in_place()) return Done{};
  log_limited(LogLevel::error,
              "spool " + limits_.dir + ": " + (has_folder ? "files of it were" : "it was") +
                  " removed or replaced while the agent used it; batches in them may be lost, and the next ones go to new files. "
                  "Exclude the folder from programs that clean up",
              "spool " + limits_.dir + " removed");
  end_segment();
  sync_failed_ = sync_failed_ || dirty_;  // no record since the last sync is acknowledged
  if (has_state) return Done{};
  if (!has_folder) {
    if (Status taken = lock_folder(); !taken) return taken;
  }
  if (Status opened = open_state(); !opened) return opened;
  reserve_ = false;
  store();
  return Done{};
}

Spool::Appended Spool::refuse(std::string_view pipeline, std::string_view reason, uint32_t samples, SpoolDrops &drops) {
  state_.counts_of(pipeline).drop(reason, samples);
  drops.push_back({std::string(pipeline), std::string(reason), samples});
  dirty_ = true;
  return {Put::dropped, std::string(reason)};
}

void Spool::count_dropped(std::string_view pipeline, std::string_view reason, uint64_t samples) {
  const std::lock_guard lock(mutex_);
  state_.counts_of(pipeline).drop(reason, samples);
  dirty_ = true;
}

bool Spool::disk_is_low(uint64_t size) const {
  struct statvfs disk {};
  if (limits_.min_free_bytes == 0 || ::statvfs(limits_.dir.c_str(), &disk) != 0) return false;
  return uint64_t{disk.f_bavail} * disk.f_frsize < static_cast<uint64_t>(limits_.min_free_bytes) + size;
}

// Drops records by the policy until `size` bytes fit into the limits. False if they do not fit.
bool Spool::make_room(uint64_t size, SpoolDrops &drops) {
  const auto too_much = [&] { return bytes_ + size > static_cast<uint64_t>(limits_.max_bytes); };
  if ((too_much() || disk_is_low(size)) && at_end() && !in_flight_) {
    end_segment();  // all its records are delivered
    if (!segments_.empty()) delete_front();
  }
  const bool evicts = limits_.when_full == WhenFull::drop_oldest;
  while (too_much() && evicts && !segments_.empty()) evict_segment(drops);
  // Keeps one segment, because other programs may have filled the disk.
  while (disk_is_low(size) && evicts && segments_.size() > 1) evict_segment(drops);
  return !too_much() && !disk_is_low(size);
}

bool Spool::fits(uint64_t size) const {
  return active_ && !new_segment_ && segments_.back().size + size <= segment_bytes_;
}

int Spool::write(std::string_view pipeline, uint32_t samples, std::string_view payload, uint64_t size) {
  if (!fits(size)) {
    end_segment();
    if (const int failed = begin_segment(); failed != 0) return failed;
  }
  SpoolCounts &counts = state_.counts_of(pipeline);
  Segment &segment = segments_.back();
  record_.clear();
  append_record(
      {.id = state_.id, .sequence = state_.next_sequence, .time_ns = realtime(), .before = counts.appended, .samples = samples},
      pipeline, payload, record_);
  if (const int failed = write_all(active_.get(), record_, segment.size); failed != 0) {
    // Removes the part of the record that was written.
    if (::ftruncate(active_.get(), static_cast<off_t>(segment.size)) != 0) new_segment_ = true;
    return failed;
  }
  ++state_.next_sequence;
  counts.appended += samples;
  segment.size += record_.size();
  bytes_ += record_.size();
  dirty_ = true;
  return 0;
}

int Spool::begin_segment() {
  SegmentHeader header{.id = state_.id, .first_sequence = state_.next_sequence, .time_ns = realtime(), .totals = {}};
  for (const SpoolCounts &counts : state_.pipelines) header.totals.push_back({counts.pipeline, counts.appended});
  record_.clear();
  append_segment_header(header, record_);
  const std::string path = segment_path(limits_.dir, header.first_sequence);
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return errno;
  if (const int failed = write_all(file.get(), record_, 0); failed != 0) {
    ::unlink(path.c_str());
    return failed;
  }
  ++state_.next_sequence;  // the names of segments differ, even if this one receives no record
  active_ = std::move(file);
  segments_.push_back({header.first_sequence, record_.size()});
  bytes_ += record_.size();
  new_segment_ = false;
  new_file_ = dirty_ = true;
  return 0;
}

void Spool::end_segment() {
  if (active_ && ::fdatasync(active_.get()) != 0) sync_failed_ = true;
  active_.reset();
}

Status Spool::sync() {
  int segment = -1;
  bool new_file = false;
  bool state_too = false, in_place = true;
  int failed = 0;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || !dirty_) return Done{};
    dirty_ = false;
    new_file = std::exchange(new_file_, false);
    if (std::exchange(sync_failed_, false)) failed = EIO;
    segment = active_.get();
    in_place = is_at(folder_.get(), limits_.dir) && is_active_in_place();
    store();
    // The state can be restored from the segments except for deliveries, which may be repeated after a power failure.
    const auto now = std::chrono::steady_clock::now();
    state_too = now >= next_state_sync_;
    if (state_too) next_state_sync_ = now + std::chrono::seconds(1);
  }
  // Only this thread closes the active segment.
  if (segment >= 0 && ::fdatasync(segment) != 0) failed = errno;
  if (new_file && ::fsync(folder_.get()) != 0) failed = errno;
  const Status state = state_too ? state_file_.sync() : Status(Done{});
  const std::lock_guard lock(mutex_);
  if (!reserve_) set_reserve(true);
  if (failed == 0 && state && in_place) return Done{};
  if (failed == 0 && state) return Error{limits_.dir + ": its files were removed"};
  new_segment_ = true;  // the kernel discards pages that it could not write (fsync(2)), so the file is not used any more
  return Error{limits_.dir + ": " + (failed != 0 ? error_text(failed) : state.error())};
}

bool Spool::dirty() const {
  const std::lock_guard lock(mutex_);
  return dirty_;
}

uint64_t Spool::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::vector<SpoolCounts> Spool::counts() const {
  const std::lock_guard lock(mutex_);
  return state_.pipelines;
}

void Spool::set_reserve(bool there) {
  const std::string path = limits_.dir + "/reserve";
  if (!there) {
    if (reserve_) ::unlink(path.c_str());
    reserve_ = false;
    return;
  }
  if (disk_is_low(static_cast<uint64_t>(kReserve))) return;
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  reserve_ = file && ::posix_fallocate(file.get(), 0, kReserve) == 0;
  if (!reserve_) ::unlink(path.c_str());
}

void Spool::close() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || !folder_) return;
    dirty_ = true;
    next_state_sync_ = {};
  }
  if (const Status synced = sync(); !synced) log(LogLevel::error, "spool " + synced.error());
  const std::lock_guard lock(mutex_);
  closed_ = true;
  active_.reset();
  reader_.reset();
  folder_.reset();
}

}  // namespace atalaya::core
