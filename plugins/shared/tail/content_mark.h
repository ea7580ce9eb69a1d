// SPDX-License-Identifier: Apache-2.0
// What tells one file from another: a few bytes of its content. Inodes are used again, and truncated files keep theirs.
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

// A checksum of so many bytes.
struct Mark {
  uint32_t size = 0, crc = 0;
  bool operator==(const Mark &) const = default;
};

inline constexpr int64_t kMarkBytes = 256;
// A whole file that equals the begin of another is a copy if it is at least so long; short ones may be alike by chance.
inline constexpr int64_t kSurelyCopy = 1024;

// How far a file has been read, and the bytes by which that place is known again.
struct Position {
  FileId id;
  std::string path;
  int64_t offset = 0;     // all lines before it were handed on
  int64_t size = 0;       // when it was last looked at
  bool skipping = false;  // the offset lies within a line that is too long
  Mark head, tail;        // of the first bytes, and of those before the offset
  bool operator==(const Position &) const = default;
};

// A part of a file that was handed on, and the marks of its end.
struct Segment {
  FileId id;
  int64_t from = 0, to = 0;
  Mark head, tail;
  bool operator==(const Segment &) const = default;
};

// Up to `size` bytes from `offset` on; fewer where the file ends or cannot be read.
std::string bytes_at(int fd, int64_t offset, int64_t size);
// The marks of a position at `offset`. A file that is shorter gives smaller ones.
Mark head_of(int fd, int64_t offset);
Mark tail_of(int fd, int64_t offset);
Mark mark_of(std::string_view bytes);
// Whether the file still has the bytes that were there when the position was taken.
bool holds(int fd, const Position &position);
// gzip, bzip2, xz, zstd, lz4, compress or zip, by the first bytes.
bool is_compressed(int fd);
// Behind the last newline before `size`: where a line begins.
int64_t last_line_begin(int fd, int64_t size);

}  // namespace atalaya::tail
