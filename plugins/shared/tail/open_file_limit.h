// SPDX-License-Identifier: Apache-2.0
// How many files may still be opened. At the limit, those that are read to their end and have not grown for a while make room.
#pragma once

#include <vector>

#include "plugins/shared/tail/followed_file.h"

namespace atalaya::tail {

// Nothing is lost by closing it: it is opened again when it changes. Renamed ones end by themselves.
bool idle(const File &file, const Context &context);
// Whether more can be opened.
bool has_room(const Files &files, const Context &context);

// Of one scan, as of its begin.
class Room {
 public:
  Room(const Files &files, const Context &context);
  bool any() const { return open_ < max_open_ || !idle_.empty(); }
  // For one. If there is none it is one too many: for a file that must be opened.
  void take();

 private:
  const size_t max_open_;
  size_t open_ = 0;
  std::vector<File *> idle_;  // the longest unchanged last
};

}  // namespace atalaya::tail
