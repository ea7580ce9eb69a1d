// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/tail/part_reader.h"

#include <algorithm>

#include "core/base/text/text.h"

namespace atalaya::tail {
namespace {

constexpr int64_t kReadBytes = 256 << 10;

}  // namespace

// Reads the bytes before the offset in the same call, so that the file cannot change between two reads.
void PartReader::open(File &file, int64_t to, bool last_line) {
  file_ = &file;
  to_ = to;
  last_line_ = last_line;
  begin_ = file.at.tail.size;
  buffered_to_ = file.at.offset - file.at.tail.size;
  buffer_ = bytes_at(file.fd.get(), buffered_to_, std::min(kReadBytes, to - buffered_to_));
  buffered_to_ += static_cast<int64_t>(buffer_.size());
  if (file.at.head.size < kMarkBytes) first_bytes_ = buffer_.substr(0, kMarkBytes);
  const Mark head = mark_of(bytes_at(file.fd.get(), 0, file.at.head.size));
  unchanged_ = head == file.at.head && mark_of(std::string_view(buffer_).substr(0, begin_)) == file.at.tail;
}

void PartReader::close() {
  if (!is_open()) return;
  mark();
  if (unchanged_ && buffered_to_ >= to_) file_->read_to = to_;
  file_ = nullptr;
}

// Computes the marks from the bytes that were read, not from the file: it may have been truncated since, which the marks must
// detect.
void PartReader::mark() {
  if (!unchanged_) return;
  Position &at = file_->at;
  if (at.head.size < kMarkBytes) at.head = mark_of(std::string_view(first_bytes_).substr(0, static_cast<size_t>(at.offset)));
  const auto bytes = static_cast<size_t>(std::min(at.offset, kMarkBytes));
  at.tail = mark_of(std::string_view(buffer_).substr(begin_ - bytes, bytes));
}

bool PartReader::next(Line &line) {
  if (!unchanged_) return false;
  do {
    if (next_line(line)) return true;
  } while (read_more());
  const size_t rest = buffer_.size() - begin_;
  if (!last_line_ || rest == 0 || buffered_to_ < to_) return false;
  set_line(line, rest, rest);
  return true;
}

// Reads the last bytes again together with the new ones: they differ if the file was truncated and has grown since.
bool PartReader::read_more() {
  const int64_t left = to_ - buffered_to_;
  if (left <= 0) return false;
  const auto again = static_cast<int64_t>(std::min<size_t>(buffer_.size(), kMarkBytes));
  const std::string more = bytes_at(file_->fd.get(), buffered_to_ - again, again + std::min(left, kReadBytes));
  if (static_cast<int64_t>(more.size()) <= again ||
      !buffer_.ends_with(std::string_view(more).substr(0, static_cast<size_t>(again))))
    return false;
  const size_t done = begin_ > kMarkBytes ? begin_ - kMarkBytes : 0;
  buffer_.erase(0, done);
  begin_ -= done;
  buffer_.append(more, static_cast<size_t>(again));
  buffered_to_ += static_cast<int64_t>(more.size()) - again;
  return true;
}

void PartReader::skip(size_t bytes) {
  begin_ += bytes;
  file_->at.offset += static_cast<int64_t>(bytes);
}

void PartReader::set_line(Line &line, size_t length, size_t consumed) {
  line.text = std::string_view(buffer_).substr(begin_, length);
  line.text.remove_prefix(std::min(line.text.find_first_not_of('\0'), line.text.size()));  // skips the bytes of a hole
  line.file = file_->at.id;
  line.first = file_->at.offset == 0;
  skip(consumed);
}

// Returns the next line; false if no complete line is buffered. Lines that are too long are skipped.
bool PartReader::next_line(Line &line) {
  Position &at = file_->at;
  const auto max_length = static_cast<size_t>(context_.options.max_line);
  for (;;) {
    const std::string_view rest = std::string_view(buffer_).substr(begin_);
    const size_t newline = rest.find('\n');
    const bool whole = newline != std::string_view::npos;
    if (whole && !at.skipping && newline <= max_length) return set_line(line, newline, newline + 1), true;
    if (!at.skipping && std::min(newline, rest.size()) > max_length) {
      ++context_.losses.long_lines;
      context_.log(core::in_quotes(at.path) + ": a line is longer than max_line = " + std::to_string(max_length) +
                   " bytes and is skipped");
      at.skipping = true;
    }
    if (!at.skipping) return false;
    skip(whole ? newline + 1 : rest.size());
    if (!whole) return false;
    at.skipping = false;
  }
}

}  // namespace atalaya::tail
