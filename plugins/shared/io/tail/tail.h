// SPDX-License-Identifier: Apache-2.0
// Follows files that programs write lines to. Renamed files are read to their end, in the order in which they were written. If a
// file is copied and truncated, its copy is read from the file's position. Lost bytes are counted.
//
// Checks the files only in scan() and never waits: this works on every file system, costs one stat per file, and has no event
// queue that could overflow between two scans.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plugins/shared/io/tail/changes.h"
#include "plugins/shared/io/tail/known_files.h"
#include "plugins/shared/io/tail/part_reader.h"

namespace atalaya::tail {

class Tail {
 public:
  // `log`: messages for the operator.
  Tail(Options options, std::function<void(const std::string &)> log);
  Tail(const Tail &) = delete;
  Tail &operator=(const Tail &) = delete;

  // Restores the state of an earlier Tail: its positions, its start, and the segments that were returned but not acknowledged.
  // Call it before the first scan; if there are such segments, call replay after that scan.
  void restore(const std::vector<Position> &positions, int64_t began_ns, const std::vector<Segment> &segments);
  // Checks all files. Times: CLOCK_REALTIME and CLOCK_MONOTONIC.
  void scan(int64_t realtime_ns, int64_t monotonic_ns);
  // Restricts this round (the lines between two scans) to these parts.
  void replay(const std::vector<Segment> &segments);
  // Reads the next line; false at the end of the round.
  bool next(Line &line);

  // After a round: whether a scan would find unread lines immediately.
  bool has_unread_lines() const;

  // The position of each file, after the returned lines.
  std::vector<Position> positions() const;
  // The segments that were returned since the last call.
  std::vector<Segment> take_segments();
  int64_t began_ns() const { return files_.began_ns(); }
  const Losses &losses() const { return context_.losses; }

 private:
  struct Part {
    File *file;
    int64_t from, to;
    bool to_file_end = false;  // read to the end of the file
    bool finished = false;     // nothing will follow: the text after the last newline is a line
    bool replayed = false;     // returned before the restart
  };

  void begin_round();
  void make_round();

  Context context_;
  KnownFiles files_;
  Changes changes_;
  PartReader reader_;
  std::vector<Part> round_;
  size_t part_ = 0;
  bool more_ = false;              // the files have more bytes than this round reads
  std::vector<uint32_t> touched_;  // numbers of the files read since take_segments, in their order
};

}  // namespace atalaya::tail
