// SPDX-License-Identifier: Apache-2.0
// Follows files that programs write lines to. Renamed files are read to their end, in the order in which they were written; of a
// file that was copied and truncated the copy is read on from where the file was; what nobody can read any more is counted.
//
// Looks at the files when it is told to (scan) and waits for nothing: that works on every file system, costs a stat a file, and no
// queue of events can overflow between two looks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/util/files.h"
#include "plugins/tail/content.h"
#include "plugins/tail/names.h"

namespace atalaya::tail {

struct Options {
  std::string path;                    // a file, a folder, or a glob
  bool from_begin = true;              // files that are there at the first look: read them, or only what is appended
  int64_t max_line = 65536;            // longer lines are told of, not handed on
  int64_t linger_ns = 10'000'000'000;  // a renamed or deleted file that has not grown for so long is finished
  size_t max_files = 1000;             // open at the same time
};

// What could not be handed on, since the start.
struct Losses {
  int64_t unseen_bytes = 0;  // at least; they were truncated or deleted before they were read
  int64_t truncations = 0;
  int64_t long_lines = 0;
  bool operator==(const Losses &) const = default;
};

struct Line {
  std::string_view text;  // without its newline; valid until the next call
  FileId file;
  bool first = false;  // of its file
};

class Tail {
 public:
  // `say`: for the operator.
  Tail(Options options, std::function<void(const std::string &)> say);

  // What an earlier Tail had read, when it began, and what it had handed on beyond that without hearing that it arrived. Before the
  // first scan, behind which replay must be called if there are such segments.
  void restore(const std::vector<Position> &positions, int64_t began_ns, const std::vector<Segment> &segments);
  // Looks at all files. Times: CLOCK_REALTIME and CLOCK_MONOTONIC.
  void scan(int64_t realtime_ns, int64_t monotonic_ns);
  // Only these parts are handed on by this look.
  void replay(const std::vector<Segment> &segments);
  // False: the look is over.
  bool next(Line &line);

  // Where each file is, behind the lines that were handed on.
  std::vector<Position> positions() const;
  // What was handed on since the last call.
  std::vector<Segment> take_segments();
  int64_t began_ns() const { return began_ns_; }
  const Losses &losses() const { return losses_; }

 private:
  struct File {
    uint32_t number = 0;
    Found found;          // by its last known path
    bool listed = false;  // by the last scan
    // Monotonic, since when no scan has listed it; 0: it is listed. A rename may run while names are listed, so one scan says
    // little.
    int64_t unlisted_ns = 0;
    bool restored = false;  // and not seen since: its disk may not be there yet
    core::Descriptor fd;
    Position at;                  // marks: of the offset, as of the end of the last part
    int64_t segment = 0;          // from where on take_segments tells
    int64_t written_ns = 0;       // mtime
    int64_t changed_ns = 0;       // monotonic, when a scan last saw a change
    bool unjudged = false;        // may be a copy of another; nothing is read of it until that is known
    bool began_skipping = false;  // at the begin of the segment to replay
    FileId continues;             // the truncated file that this is the copy of, or what it was called before a restart
    uint32_t copy_of = 0;         // unjudged: the number of the file that it equalled when both were last compared
  };
  struct Part {
    File *file;
    int64_t to;
    bool last_line, close;  // last_line: what follows the last newline is one, too
  };

  File *by_id(const FileId &id);
  bool look_at(const Found &found);
  File *restored_as(const Found &found, int fd, const FileId &id);
  bool adopt(const Found &found, core::Descriptor &fd, const FileId &id);
  bool forgotten(File &file) const;
  void meet(const Found &found);
  void check(File &file);
  bool reopen(File &file);
  static void pass_hole(File &file);
  static void begin_anew(File &file);
  void truncated(File &file);
  File *original_of(const File &copy);
  static bool may_copy(const File &copy, const File &original);
  void judge(File &file);
  static void continue_in(File &copy, const Position &original);
  void drop_gone();
  void make_round();
  size_t open_files() const;
  static void mark(File &file);
  void mark_read();
  std::vector<std::string> families() const;

  bool open_part();
  bool read_more();
  bool next_line(Line &line);
  void skip(File &file, size_t bytes);
  void end_part();
  void give(Line &line, size_t length, size_t consumed);

  const Options options_;
  const std::function<void(const std::string &)> say_;
  std::map<uint32_t, std::unique_ptr<File>> files_;
  uint32_t last_number_ = 0;
  bool first_ = true;
  int64_t began_ns_ = 0, now_ns_ = 0;  // began: realtime; now: monotonic
  Losses losses_;
  std::vector<uint32_t> touched_;  // since take_segments, in order

  std::vector<Part> round_;
  size_t part_ = 0;
  bool opened_ = false;
  bool sound_ = false;       // the file was what it was when the part was opened
  std::string first_bytes_;  // of the part's file, where it has no whole head mark yet
  std::string buffer_;       // its end is at buffered_to_; begins kMarkBytes before begin_, or at the file's begin
  size_t begin_ = 0;         // of what was not handed on in it
  int64_t buffered_to_ = 0;
};

}  // namespace atalaya::tail
