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
  int64_t rotate_size = 0;      // bytes; 0: never by size
  int64_t rotate_every_ns = 0;  // counted from the epoch, so that "1d" is midnight UTC; 0: never by time
  int64_t keep = 5;             // rotated files PATH.1 (the newest) ... PATH.keep
  bool sync = false;            // every append is on the disk when it returns
};

// A file of whole lines that only this object appends to. It holds exactly the lines of successful appends: a failed append is
// undone, and a line torn by a killed process is cut when the file is opened.
class LineFile {
 public:
  // `notice` receives events that are no failures: a torn line was cut, the file was moved.
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
  std::optional<uint64_t> torn_at_;  // start of a failed append that could not be undone yet
  bool rotation_failed_ = false;     // retried when the file is opened again: retries would push out old files
};

}  // namespace atalaya::io
