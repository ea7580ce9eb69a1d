// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/tail/open_file_limit.h"

#include <algorithm>

namespace atalaya::tail {

// The age of a file: by its mtime if the clocks agree, otherwise by the time since a scan saw a change.
bool is_idle(const File &file, const Context &context) {
  if (!file.fd || file.may_be_copy || is_retired(file) || file.read_to < file.at.size) return false;
  if (file.seen.size != file.at.size || file.seen.written_ns != file.written_ns) return false;
  const int64_t linger_ns = context.options.linger_ns;
  return context.now_ns - file.changed_ns >= linger_ns || context.realtime_ns - file.written_ns >= linger_ns;
}

bool has_open_slot(const Files &files, const Context &context) {
  size_t open = 0;
  for (const auto &[number, file] : files) {
    if (is_idle(*file, context)) return true;
    if (file->fd) ++open;
  }
  return open < context.options.max_files;
}

OpenSlots::OpenSlots(const Files &files, const Context &context) : max_open_(context.options.max_files) {
  for (const auto &[number, file] : files) {
    if (file->fd) ++open_;
    if (is_idle(*file, context)) idle_.push_back(file.get());
  }
  std::sort(idle_.begin(), idle_.end(), [](const File *a, const File *b) { return a->written_ns > b->written_ns; });
}

void OpenSlots::reserve() {
  if (open_ < max_open_ || idle_.empty()) {
    ++open_;
  } else {
    idle_.back()->fd.reset();
    idle_.pop_back();
  }
}

}  // namespace atalaya::tail
