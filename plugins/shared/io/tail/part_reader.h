// SPDX-License-Identifier: Apache-2.0
// Reads the lines of a part of a file. Each read overlaps the previous one, so that a truncation between two reads is detected.
#pragma once

#include <string>
#include <string_view>

#include "plugins/shared/io/tail/followed_file.h"

namespace atalaya::tail {

struct Line {
  std::string_view text;  // without its newline; valid until the next call
  FileId file;
  bool first = false;  // the first line of its file
};

class PartReader {
 public:
  explicit PartReader(Context &context) : context_(context) {}

  // Starts a part, from the file's offset to `to`. With `last_line`, the text after the last newline is a line.
  void open(File &file, int64_t to, bool last_line);
  bool is_open() const { return file_ != nullptr; }
  // Reads the next line; false at the end of the part.
  bool next(Line &line);
  // Updates the file's marks for its offset.
  void mark();
  void close();

 private:
  bool read_more();
  bool next_line(Line &line);
  void skip(size_t bytes);
  void set_line(Line &line, size_t length, size_t consumed);

  Context &context_;
  File *file_ = nullptr;
  int64_t to_ = 0;
  bool last_line_ = false;
  bool unchanged_ = false;   // the file had the expected marks when the part was opened
  std::string first_bytes_;  // first bytes of the file, while its head mark is incomplete
  std::string buffer_;       // ends at the file offset buffered_to_; starts kMarkBytes before begin_, or at the file's start
  size_t begin_ = 0;         // index of the first unread byte in buffer_
  int64_t buffered_to_ = 0;
};

}  // namespace atalaya::tail
