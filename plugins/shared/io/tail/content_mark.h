// SPDX-License-Identifier: Apache-2.0
// Identifies files by a few bytes of their content, because inodes are reused and truncated files keep theirs.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace atalaya::tail {

struct FileId {
  uint64_t device = 0, inode = 0;
  bool operator==(const FileId &) const = default;
  bool operator<(const FileId &other) const { return device < other.device || (device == other.device && inode < other.inode); }
};

// A checksum of `size` bytes.
struct Mark {
  uint32_t size = 0, crc = 0;
  bool operator==(const Mark &) const = default;
};

inline constexpr int64_t kMarkBytes = 256;
// Minimum size of a file to count as a copy of another; shorter files may be equal by chance.
inline constexpr int64_t kMinCopyBytes = 1024;

// The position up to which a file has been read, with marks to recognise it.
struct Position {
  FileId id;
  std::string path;
  int64_t offset = 0;     // all lines before it were returned
  int64_t size = 0;       // size of the file at the last scan
  bool skipping = false;  // the offset is within a line that is too long
  Mark head, tail;        // marks of the first bytes, and of the bytes before the offset
  bool operator==(const Position &) const = default;
};

// A part of a file that was returned, with the marks at its end.
struct Segment {
  FileId id;
  int64_t from = 0, to = 0;
  Mark head, tail;
  bool operator==(const Segment &) const = default;
};

// Reads up to `size` bytes at `offset`; fewer if the file ends or cannot be read.
std::string bytes_at(int fd, int64_t offset, int64_t size);
// The marks of a position at `offset`; smaller for a shorter file.
Mark head_of(int fd, int64_t offset);
Mark tail_of(int fd, int64_t offset);
Mark mark_of(std::string_view bytes);
// Whether the bytes of the file still match the marks of the position.
bool matches(int fd, const Position &position);
// Whether the first bytes are those of gzip, bzip2, xz, zstd, lz4, compress or zip.
bool is_compressed(int fd);
// The offset after the last newline before `size`.
int64_t last_line_begin(int fd, int64_t size);

}  // namespace atalaya::tail
