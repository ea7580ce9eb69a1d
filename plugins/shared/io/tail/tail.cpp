// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/tail/tail.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace atalaya::tail {
namespace {

// Maximum bytes per file and round, so that a backlog of one file delays neither other files nor the next scan.
constexpr int64_t kPartBytes = 16 << 20;

}  // namespace

Tail::Tail(Options options, std::function<void(const std::string &)> log)
    : context_{.options = std::move(options), .log = std::move(log), .losses = {}},
      files_(context_),
      changes_(context_, files_),
      reader_(context_) {}

void Tail::restore(const std::vector<Position> &positions, int64_t began_ns, const std::vector<Segment> &segments) {
  files_.restore(positions, began_ns, segments);
}

void Tail::scan(int64_t realtime_ns, int64_t monotonic_ns) {
  reader_.close();
  context_.now_ns = monotonic_ns;
  context_.realtime_ns = realtime_ns;
  files_.scan();
  changes_.scan();
  files_.drop_deleted();
  make_round();
}

void Tail::begin_round() {
  round_.clear();
  part_ = 0;
  more_ = false;
}

void Tail::make_round() {
  begin_round();
  std::vector<File *> ready;
  for (auto &[number, file] : files_.all())
    if (file->fd && !file->may_be_copy) ready.push_back(file.get());
  std::sort(ready.begin(), ready.end(),
            [](const File *a, const File *b) { return written_before(a->written_ns, a->found, b->written_ns, b->found); });
  std::set<std::string_view> waiting;  // families with an older file that is not read completely
  for (File *file : ready) {
    if (waiting.count(file->found.family) > 0) continue;
    const int64_t to = std::min(file->at.size, file->at.offset + kPartBytes);
    const bool to_file_end = to == file->at.size;
    if (!to_file_end) waiting.insert(file->found.family);
    const bool finished = is_retired(*file) && to_file_end && context_.now_ns - file->changed_ns >= context_.options.linger_ns;
    if (to > file->read_to || finished)
      round_.push_back({.file = file, .from = file->at.offset, .to = to, .to_file_end = to_file_end, .finished = finished});
  }
}

void Tail::replay(const std::vector<Segment> &segments) {
  begin_round();
  more_ = true;  // the scan found new lines
  for (const Segment &segment : segments) {
    const auto has = [&](const File &file) { return file.fd && file.at.offset == segment.to && file.at.tail == segment.tail; };
    const auto found = std::find_if(files_.all().begin(), files_.all().end(), [&](const auto &entry) {
      const File &file = *entry.second;
      return has(file) && (file.at.id == segment.id || file.continues == segment.id);
    });
    if (found == files_.all().end()) {
      context_.log("cannot read the last lines before the restart again (" + std::to_string(segment.to - segment.from) +
                   " bytes): their file was deleted or truncated; lines that no sink holds are lost");
      continue;
    }
    File &file = *found->second;
    place(file, segment.from);
    file.at.skipping = file.began_skipping;
    round_.push_back({.file = &file, .from = segment.from, .to = segment.to, .replayed = true});
  }
}

bool Tail::next(Line &line) {
  for (; part_ < round_.size(); ++part_) {
    const Part &part = round_[part_];
    if (!reader_.is_open()) {
      touched_.push_back(part.file->number);
      reader_.open(*part.file, part.to, part.finished || part.replayed);
    }
    if (reader_.next(line)) return true;
    reader_.close();
    if (!part.to_file_end && part.file->at.offset > part.from) more_ = true;
    if (part.finished) part.file->fd.reset();
  }
  return false;
}

bool Tail::has_unread_lines() const {
  return more_ || (files_.waiting() > 0 && has_open_slot(files_.all(), context_));
}

std::vector<Position> Tail::positions() const {
  std::vector<Position> result;
  for (const auto &[number, file] : files_.all())
    if (!file->may_be_copy) result.push_back(file->at);
  return result;
}

std::vector<Segment> Tail::take_segments() {
  std::vector<Segment> result;
  if (reader_.is_open()) reader_.mark();
  for (const uint32_t number : touched_) {
    const auto found = files_.all().find(number);
    if (found == files_.all().end()) continue;
    File &file = *found->second;
    if (file.at.offset <= file.segment) continue;
    result.push_back({file.at.id, file.segment, file.at.offset, file.at.head, file.at.tail});
    file.segment = file.at.offset;
  }
  touched_.clear();
  if (reader_.is_open()) touched_.push_back(round_[part_].file->number);
  return result;
}

}  // namespace atalaya::tail
