// SPDX-License-Identifier: Apache-2.0
// What is known of one file that is followed, and what all who follow it share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/base/files.h"
#include "plugins/shared/tail/content_mark.h"
#include "plugins/shared/tail/file_names.h"

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

struct Context {
  const Options options;
  const std::function<void(const std::string &)> say;  // for the operator
  int64_t now_ns = 0, realtime_ns = 0;                 // of the last scan; now: monotonic
  Losses losses;
};

// What the file system says of a file; nothing where it cannot.
struct About {
  FileId id;
  int64_t size = 0, written_ns = 0;
  bool regular = false;
};
std::optional<About> about(const std::string &path);
std::optional<About> about(int fd);

struct File {
  uint32_t number = 0;
  Found found;          // by its last known path
  bool listed = false;  // by the last scan
  // Monotonic, since when no scan has listed it; 0: it is listed. A rename may run while names are listed, so one scan says little.
  int64_t unlisted_ns = 0;
  About seen;             // by the last scan that listed it
  bool restored = false;  // and not seen since: its disk may not be there yet
  bool wanted = false;    // until the first look is over: it has lines to replay
  core::Descriptor fd;
  Position at;                  // marks: of the offset, as of the end of the last part
  int64_t segment = 0;          // from where on take_segments tells
  int64_t read_to = 0;          // what is between the offset and here is a line that has no end yet
  int64_t written_ns = 0;       // mtime
  int64_t changed_ns = 0;       // monotonic, when a scan last saw a change
  bool unjudged = false;        // may be a copy of another; nothing is read of it until that is known
  bool began_skipping = false;  // at the begin of the segment to replay
  FileId continues;             // the truncated file that this is the copy of, or what it was called before a restart
  uint32_t copy_of = 0;         // unjudged: the number of the file that it equalled when both were last compared
};

using Files = std::map<uint32_t, std::unique_ptr<File>>;

// It is read on from this offset.
void place(File &file, int64_t offset);
// Whether the first was written last before the second was.
bool written_before(int64_t written_a, const Found &a, int64_t written_b, const Found &b);
// No program writes to it any more, or its name is another's now.
inline bool leaves(const File &file) {
  return !file.listed || file.found.rotated();
}

}  // namespace atalaya::tail
