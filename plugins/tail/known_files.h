// SPDX-License-Identifier: Apache-2.0
// Which files there are: finds them, knows them again under other names and numbers, opens them, and forgets those that are gone.
#pragma once

#include <string>
#include <vector>

#include "plugins/tail/file.h"

namespace atalaya::tail {

class KnownFiles {
 public:
  explicit KnownFiles(Context &context) : context_(context) {}

  void restore(const std::vector<Position> &positions, int64_t began_ns, const std::vector<Segment> &segments);
  void look(int64_t realtime_ns);
  // Opens one that was closed and has changed since. False: it is still closed.
  bool reopen(File &file);
  void drop_gone();

  Files &all() { return files_; }
  const Files &all() const { return files_; }
  int64_t began_ns() const { return began_ns_; }

 private:
  File &add(const Found &found);
  File *by_id(const FileId &id);
  std::vector<std::string> families() const;
  size_t open_files() const;
  bool look_at(const Found &found);
  File *restored_as(const Found &found, int fd, const FileId &id);
  bool adopt(const Found &found, core::Descriptor &fd, const FileId &id);
  void meet(const Found &found);
  bool forgotten(File &file) const;

  Context &context_;
  Files files_;
  uint32_t last_number_ = 0;
  bool first_ = true;
  int64_t began_ns_ = 0;  // realtime
};

}  // namespace atalaya::tail
