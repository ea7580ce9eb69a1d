// SPDX-License-Identifier: Apache-2.0
// The state of one followed file, and the context that the parts of a Tail share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/base/files.h"
#include "plugins/shared/io/tail/content_mark.h"
#include "plugins/shared/io/tail/file_names.h"

namespace atalaya::tail {

struct Options {
  std::string path;                    // a file, a folder, or a glob
  bool from_begin = true;              // files that exist at the first scan: read them, or only appended lines
  int64_t max_line = 65536;            // longer lines are counted and skipped
  int64_t linger_ns = 10'000'000'000;  // time without growth after which a renamed or deleted file is closed
  size_t max_files = 1000;             // maximum files that are open at the same time
};

// Losses since the start.
struct Losses {
  int64_t unseen_bytes = 0;  // truncated or deleted before they were read; a lower bound
  int64_t truncations = 0;
  int64_t long_lines = 0;
  bool operator==(const Losses &) const = default;
};

struct Context {
  const Options options;
  const std::function<void(const std::string &)> log;  // receives messages for the operator
  int64_t now_ns = 0, realtime_ns = 0;                 // CLOCK_MONOTONIC and CLOCK_REALTIME of the last scan
  Losses losses;
};

// A file's status; nothing on error.
struct FileStatus {
  FileId id;
  int64_t size = 0, written_ns = 0;
  bool regular = false;
};
std::optional<FileStatus> status_of(const std::string &path);
std::optional<FileStatus> status_of(int fd);

struct File {
  uint32_t number = 0;
  Found found;          // the file with its last known path
  bool listed = false;  // found by the last scan
  // CLOCK_MONOTONIC time since which no scan has found the file; 0: found. One scan proves nothing: a rename may happen during it.
  int64_t unlisted_ns = 0;
  FileStatus seen;        // its status at the last scan that found it
  bool restored = false;  // from a journal and not found since: its disk may not be mounted yet
  bool wanted = false;    // has lines to replay; reset after the first scan
  core::Descriptor fd;
  Position at;                  // marks: of the offset at the end of the last part
  int64_t segment = 0;          // start of the next segment of take_segments
  int64_t read_to = 0;          // the bytes from the offset to here are an incomplete line
  int64_t written_ns = 0;       // time of the last write (mtime)
  int64_t changed_ns = 0;       // monotonic time of the last change seen by a scan
  bool may_be_copy = false;     // may be a copy of another file; not read until this is known
  bool began_skipping = false;  // `skipping` at the start of the segment to replay
  FileId continues;             // the truncated file of which this is the copy, or its id before a restart
  uint32_t copy_of = 0;         // may_be_copy: the number of the file that it equalled at the last comparison
};

using Files = std::map<uint32_t, std::unique_ptr<File>>;

// Sets the offset at which the file is read next.
void place(File &file, int64_t offset);
// Whether the last write to the first file was before that to the second.
bool written_before(int64_t written_a, const Found &a, int64_t written_b, const Found &b);
// Whether the file is deleted or rotated, so that no program should write to it any more.
inline bool is_retired(const File &file) {
  return !file.listed || file.found.rotated();
}

}  // namespace atalaya::tail
