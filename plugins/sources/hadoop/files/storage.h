// SPDX-License-Identifier: Apache-2.0
// File access for history files: a local file system or WebHDFS.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::hadoop {

struct Entry {
  std::string path;
  uint64_t size = 0;
  int64_t changed_ms = 0;
  bool folder = false;
};

// Thrown if a file or folder cannot be read now; the text contains its path.
class Unreadable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
// Thrown if the path does not exist, for example because the file was moved after it was listed.
class Missing : public Unreadable {
 public:
  using Unreadable::Unreadable;
};

// Thrown if the path is a symbolic link, which is not followed.
class Linked : public Missing {
 public:
  using Missing::Missing;
};

class Storage {
 public:
  virtual ~Storage() = default;
  // Returns size, time and type of a path. Throws Unreadable.
  virtual Entry status_of(const std::string &path) = 0;
  // Lists the files and folders in a folder, without symbolic links. Throws Unreadable.
  virtual std::vector<Entry> list(const std::string &folder) = 0;
  // Reads `size` bytes at `offset`, fewer only at the file's end. Throws Unreadable.
  virtual std::string read(const std::string &path, uint64_t offset, size_t size) = 0;
  // Returns false if a read at the end of a file is an error, and the listed size of an open file is out of date.
  virtual bool reads_at_end() const = 0;
};

// roots: paths configured by the operator, which may contain links; below them no link is followed.
std::unique_ptr<Storage> make_local_storage(std::vector<std::string> roots);

}  // namespace atalaya::hadoop
