// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/files.h"

namespace atalaya::io {

struct FileOptions {
  std::string path;
  std::string header;           // first line of an empty file; "" for none
  int64_t rotate_size = 0;      // bytes at which the file is rotated; 0: never by size
  int64_t rotate_every_ns = 0;  // interval of rotations, counted from the epoch, so that "1d" is midnight UTC; 0: never by time
  int64_t keep = 5;             // number of rotated files: PATH.1 (the newest) ... PATH.keep
  bool sync = false;            // append syncs the file before it returns
};

// A file of complete lines to which only this object appends. It contains exactly the lines of successful appends: a failed append
// is undone, and an incomplete line of a killed process is removed when the file is opened.
class LineFile {
 public:
  // `notice` receives messages about events that are not failures: an incomplete line was removed, the file was moved.
  using Notice = std::function<void(const std::string &)>;
  LineFile(FileOptions options, Notice notice);

  // Throws Failure: bad_config if the operator must act, retry for temporary errors.
  void open();
  // Appends all of the lines or nothing (throws Failure, retry).
  void append(std::string_view lines, int64_t now_ns);
  void close() { file_.reset(); }

 private:
  struct Problem {
    Code code;
    std::string text;
  };
  std::optional<Problem> try_open();
  std::optional<Problem> cut_torn_line(uint64_t size);
  uint64_t ready(std::string_view lines, int64_t now_ns);
  bool was_moved() const;
  bool rotation_due(uint64_t size, uint64_t more, int64_t now_ns) const;
  bool rotate();
  void undo(uint64_t size);
  void must_open();
  uint64_t size() const;

  FileOptions options_;
  Notice notice_;
  core::Descriptor file_;
  int64_t last_write_ns_ = 0;
  std::optional<uint64_t> torn_at_;  // start of a failed append that is not undone yet
  bool rotation_failed_ = false;     // no retry before the file is opened again: each retry would remove an old file
};

}  // namespace atalaya::io
