// SPDX-License-Identifier: Apache-2.0
// The limit of open files. At the limit, files that are read to their end and have not grown for a while are closed.
#pragma once

#include <vector>

#include "plugins/shared/io/tail/followed_file.h"

namespace atalaya::tail {

// Whether a file can be closed without loss, because it is opened again when it changes. Renamed files are closed when they are
// finished.
bool is_idle(const File &file, const Context &context);
// Whether another file can be opened.
bool has_open_slot(const Files &files, const Context &context);

// The number of files that one scan can still open.
class OpenSlots {
 public:
  OpenSlots(const Files &files, const Context &context);
  bool any() const { return open_ < max_open_ || !idle_.empty(); }
  // Reserves a slot for one file; closes an idle file if necessary. Exceeds the limit if no slot is free.
  void reserve();

 private:
  const size_t max_open_;
  size_t open_ = 0;
  std::vector<File *> idle_;  // the file that is unchanged for the longest time is the last
};

}  // namespace atalaya::tail
