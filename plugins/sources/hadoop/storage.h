// SPDX-License-Identifier: Apache-2.0
// Where histories lie.
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

// What is said of a file or folder that cannot be read now: a sentence with its path.
class Unreadable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
// It is not there: a file may have been moved since it was listed.
class Missing : public Unreadable {
 public:
  using Unreadable::Unreadable;
};

// A link is there, and is not followed.
class Linked : public Missing {
 public:
  using Missing::Missing;
};

class Storage {
 public:
  virtual ~Storage() = default;
  // What is at the path: one entry for a file. Throws Unreadable.
  virtual Entry look(const std::string &path) = 0;
  // What a folder holds: files and folders, no links. Throws Unreadable.
  virtual std::vector<Entry> list(const std::string &folder) = 0;
  // So many bytes from there on, fewer only at the file's end. Throws Unreadable.
  virtual std::string read(const std::string &path, uint64_t offset, size_t size) = 0;
  // False: reading at a file's end is an error, and what is written into an open file is not listed.
  virtual bool reads_at_end() const = 0;
};

// roots: paths that the operator named, which may be links or lie behind some; below them none is followed.
std::unique_ptr<Storage> make_local_storage(std::vector<std::string> roots);

}  // namespace atalaya::hadoop
