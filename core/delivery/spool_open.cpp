// SPDX-License-Identifier: Apache-2.0
// Opens a spool: locks the folder, finds the segments and the reader's position, reads records that are newer than the state.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>

#include "core/base/log.h"
#include "core/delivery/spool.h"
#include "core/delivery/spool_view.h"

namespace atalaya::core {
namespace {

constexpr uint64_t kSmallestSegment = uint64_t{64} << 10, kMaxSegmentSize = uint64_t{16} << 20;

uint64_t random_id() {
  std::random_device device;
  return (uint64_t{device()} << 32 | device()) | 1;  // 0 means "any spool"
}

}  // namespace

Spool::Spool(SpoolLimits limits) : limits_(std::move(limits)) {
  segment_bytes_ = std::clamp(static_cast<uint64_t>(limits_.max_bytes) / 8, kSmallestSegment, kMaxSegmentSize);
}

Result<std::unique_ptr<Spool>> Spool::open(const SpoolLimits &limits) {
  std::unique_ptr<Spool> spool(new Spool(limits));
  for (const auto step : {&Spool::open_folder, &Spool::find_segments, &Spool::load})
    if (const Status done = (*spool.*step)(); !done) {
      spool->folder_.reset();  // close() then does nothing
      return Error{"spool " + done.error()};
    }
  return spool;
}

Status Spool::open_folder() {
  std::string &dir = limits_.dir;
  while (dir.size() > 1 && dir.back() == '/') dir.pop_back();
  const std::string parent = std::filesystem::path(dir).parent_path();
  if (!parent.empty())
    if (Status made = make_folders(parent); !made) return made;
  if (Status taken = lock_folder(); !taken) return taken;
  return open_state();
}

// Locks the folder, which is created if it is missing.
Status Spool::lock_folder() {
  const std::string &dir = limits_.dir;
  if (::mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) return Error{dir + ": " + error_text(errno)};
  Descriptor folder(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return Error{dir + ": " + error_text(errno)};
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0)
    return Error{dir + ": " +
                 (errno == EWOULDBLOCK ? "another sink or agent has it; each needs a folder of its own" : error_text(errno))};
  folder_ = std::move(folder);
  return Done{};
}

Status Spool::open_state() {
  auto state = StateFile::open(limits_.dir + "/state", true);
  if (!state) return Error{state.error()};
  state_file_ = std::move(*state);
  return Done{};
}

Status Spool::find_segments() {
  for (const SpoolView::File &file : list_segments(limits_.dir)) segments_.push_back({file.name, file.size});
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(limits_.dir + "/damaged", error))
    quarantined_ += entry.file_size(error);
  return Done{};
}

Status Spool::load() {
  bool damaged = false;
  if (!state_file_.load(state_, damaged)) {
    state_.id = random_id();
    if (damaged || !segments_.empty()) {
      log(LogLevel::error,
          "spool " + limits_.dir + ": its state is damaged; all its batches are sent again, and its counters restart at zero");
      find_position();
    }
  }
  drop_delivered_segments();
  if (Status scanned = scan_end(); !scanned) return scanned;
  find_head();
  for (const Segment &segment : segments_) bytes_ += segment.size;
  for (const SpoolCounts &counts : state_.pipelines) cursor_of(counts.pipeline) = counts.consumed;
  first_own_ = state_.next_sequence;
  set_reserve(true);
  store();
  return Done{};
}

// Sets the counters without a state file: all records are queued, and each pipeline starts at its first record.
void Spool::find_position() {
  std::vector<std::string> known;
  const auto begin_at = [&](std::string_view pipeline, uint64_t samples) {
    if (std::find(known.begin(), known.end(), pipeline) != known.end()) return;
    known.emplace_back(pipeline);
    SpoolCounts &counts = state_.counts_of(pipeline);
    counts.appended = counts.consumed = samples;
  };
  uint64_t id = 0;
  for (const Segment &segment : segments_) {
    auto reader = SegmentReader::open(segment_path(limits_.dir, segment.name), id);
    if (!reader) continue;
    if (reader->header()) {
      state_.id = reader->header()->id;
      for (const PipelineTotal &total : reader->header()->totals) begin_at(total.name, total.samples);
    }
    for (uint64_t at = reader->begin(); at < segment.size;) {
      const auto found = reader->at(at, segment.size, false);
      if (found.kind == SegmentReader::Kind::record) begin_at(found.name, found.header.before);
      if (found.has_header) id = state_.id = found.header.id;
      at += found.size;
    }
    if (reader->header()) return;  // its table has all earlier pipelines, its records were read for the others
  }
}

// Removes all segments if the state says that all their records are delivered. Another version may have written them, so that this
// one could not read them.
void Spool::drop_delivered_segments() {
  if (segments_.empty() || state_.segment != segments_.back().name || state_.offset != segments_.back().size) return;
  state_.next_sequence = std::max(state_.next_sequence, state_.segment + 1);
  for (const Segment &segment : segments_) ::unlink(segment_path(limits_.dir, segment.name).c_str());
  segments_.clear();
}

// Counts the records that were appended after the state was stored. The header of the last segment has the totals of all earlier
// segments, so only that one is read; if its header is missing or damaged, earlier segments are read too.
Status Spool::scan_end() {
  for (auto segment = segments_.rbegin(); segment != segments_.rend(); ++segment) {
    auto reader = SegmentReader::open(segment_path(limits_.dir, segment->name), state_.id);
    if (!reader) return Error{reader.error()};
    scan(*segment, *reader);
    if (reader->header()) break;
  }
  return Done{};
}

void Spool::scan(const Segment &segment, SegmentReader &reader) {
  state_.next_sequence = std::max(state_.next_sequence, segment.name + 1);
  const auto appended = [&](std::string_view pipeline, uint64_t samples) {
    SpoolCounts &counts = state_.counts_of(pipeline);
    counts.appended = std::max(counts.appended, samples);
  };
  if (reader.header())
    for (const PipelineTotal &total : reader.header()->totals) appended(total.name, total.samples);
  for (uint64_t at = reader.begin(); at < segment.size;) {
    const auto found = reader.at(at, segment.size, false);
    if (found.kind == SegmentReader::Kind::record) appended(found.name, found.header.before + found.header.samples);
    if (found.has_header) state_.next_sequence = std::max(state_.next_sequence, found.header.sequence + 1);
    at += found.size;
  }
}

// Moves to the reader's position; removes the segments before it, which a crash may have left.
void Spool::find_head() {
  while (!segments_.empty() && segments_.front().name < state_.segment) {
    ::unlink(segment_path(limits_.dir, segments_.front().name).c_str());
    segments_.pop_front();
  }
  const bool there = !segments_.empty() && segments_.front().name == state_.segment;
  head_ = there ? std::min(state_.offset, segments_.front().size) : 0;
}

}  // namespace atalaya::core
