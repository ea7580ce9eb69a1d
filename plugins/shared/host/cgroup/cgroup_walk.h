// SPDX-License-Identifier: Apache-2.0
// Walks a tree of cgroup folders. A repeated walk allocates nothing for known folders.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"

namespace atalaya::cgroup {

class CgroupWalk {
 public:
  // Visits a cgroup, parents first, with its path ("/" for the top) and its open folder. Returns false to skip its children.
  using Visit = std::function<bool(std::string_view path, int folder)>;

  explicit CgroupWalk(int64_t depth) : depth_(depth) {}
  // Walks the folder `top` below `root`. Skips folders that are removed during the walk.
  void run(int root, const std::string &top, const Visit &visit);

 private:
  void enter(const core::Descriptor &folder, int64_t level, const Visit &visit);
  void list_folders(int folder);

  int64_t depth_;
  std::string path_;
  std::vector<char> entries_;  // a buffer for getdents64(2)
  std::string names_;          // a stack of the folders that are not visited yet, each terminated by NUL
};

}  // namespace atalaya::cgroup
