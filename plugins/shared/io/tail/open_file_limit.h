// SPDX-License-Identifier: Apache-2.0
// The limit of open files. At the limit, files that are read to their end and have not grown for a while are closed.
#pragma once

#include <vector>

#include "plugins/shared/io/tail/followed_file.h"

namespace atalaya::tail {

// It can be closed without loss: it is opened again when it changes. Renamed files are closed when finished.
bool idle(const File &file, const Context &context);
// Whether more can be opened.
bool has_room(const Files &files, const Context &context);

// The free places during one scan.
class Room {
 public:
  Room(const Files &files, const Context &context);
  bool any() const { return open_ < max_open_ || !idle_.empty(); }
  // Takes a place for one file. Exceeds the limit if none is free: for a file that must be opened.
  void take();

 private:
  const size_t max_open_;
  size_t open_ = 0;
  std::vector<File *> idle_;  // the longest unchanged last
};

}  // namespace atalaya::tail
