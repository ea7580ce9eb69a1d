// SPDX-License-Identifier: Apache-2.0
// Follows files that programs write lines to. Renamed files are read to their end, in the order in which they were written; of a
// file that was copied and truncated the copy is read on from where the file was; what nobody can read any more is counted.
//
// Looks at the files when it is told to (scan) and waits for nothing: that works on every file system, costs a stat a file, and no
// queue of events can overflow between two looks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plugins/shared/tail/changes.h"
#include "plugins/shared/tail/known_files.h"
#include "plugins/shared/tail/part_reader.h"

namespace atalaya::tail {

class Tail {
 public:
  // `say`: for the operator.
  Tail(Options options, std::function<void(const std::string &)> say);
  Tail(const Tail &) = delete;
  Tail &operator=(const Tail &) = delete;

  // What an earlier Tail had read, when it began, and what it had handed on beyond that without hearing that it arrived. Before the
  // first scan, behind which replay must be called if there are such segments.
  void restore(const std::vector<Position> &positions, int64_t began_ns, const std::vector<Segment> &segments);
  // Looks at all files. Times: CLOCK_REALTIME and CLOCK_MONOTONIC.
  void scan(int64_t realtime_ns, int64_t monotonic_ns);
  // Only these parts are handed on by this look.
  void replay(const std::vector<Segment> &segments);
  // False: the look is over.
  bool next(Line &line);

  // When a look is over: the next one has something at once, and need not wait until more is written.
  bool behind() const;

  // Where each file is, behind the lines that were handed on.
  std::vector<Position> positions() const;
  // What was handed on since the last call.
  std::vector<Segment> take_segments();
  int64_t began_ns() const { return files_.began_ns(); }
  const Losses &losses() const { return context_.losses; }

 private:
  struct Part {
    File *file;
    int64_t from, to;
    bool whole = false;     // as much as there was
    bool finished = false;  // nothing will follow: behind the last newline is a line, too
    bool replayed = false;  // as it was handed on before
  };

  void begin_round();
  void make_round();

  Context context_;
  KnownFiles files_;
  Changes changes_;
  PartReader reader_;
  std::vector<Part> round_;
  size_t part_ = 0;
  bool more_ = false;              // there is more than the round had
  std::vector<uint32_t> touched_;  // since take_segments, in order
};

}  // namespace atalaya::tail
