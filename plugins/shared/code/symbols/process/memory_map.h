// SPDX-License-Identifier: Apache-2.0
// Parses the executable mappings of a process: /proc/PID/maps. Pure.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::symbols {

// A file as the kernel identifies it, independent of its name.
struct FileId {
  uint64_t device = 0;                               // major << 32 | minor
  uint64_t inode = 0;                                // 0: no file
  auto operator<=>(const FileId &) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 reads a 0 into it
};

// Identity and version of a file, read while it was mapped; all 0: unknown.
struct FileStamp {
  uint64_t device = 0, inode = 0;
  int64_t size = 0, changed_ns = 0;
  auto operator<=>(const FileStamp &) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 reads a 0 into it
  explicit operator bool() const { return inode != 0; }
};

struct Mapping {
  uint64_t begin = 0, end = 0;
  uint64_t offset = 0;  // offset of the mapping in the file
  FileId file;
  FileStamp stamp;
  std::string path;  // as the process sees it; "[vdso]"; empty for memory without a name

  // Whether the mapping is of a regular file, not of named memory such as /memfd:x or /dev/zero.
  bool is_file() const;
  std::string_view base_name() const { return std::string_view(path).substr(path.rfind('/') + 1); }
};

inline constexpr size_t kMaxMappings = 65536;

// The executable mappings in the text of /proc/PID/maps, sorted by address. Malformed lines are skipped.
std::vector<Mapping> parse_maps(std::string_view text);

// The mapping that contains the address; null if there is none.
const Mapping *find_mapping(const std::vector<Mapping> &mappings, uint64_t address);

}  // namespace atalaya::symbols
