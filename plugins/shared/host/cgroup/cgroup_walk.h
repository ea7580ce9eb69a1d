// SPDX-License-Identifier: Apache-2.0
// Walks a tree of cgroup folders, without allocation for known ones.
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
  // Called with each cgroup's path ("/" = the top) and folder, parents first. False: skip its children.
  using Visit = std::function<bool(std::string_view path, int folder)>;

  explicit CgroupWalk(int64_t depth) : depth_(depth) {}
  // A folder that is removed meanwhile is skipped.
  void run(int root, const std::string &top, const Visit &visit);

 private:
  void enter(const core::Descriptor &folder, int64_t level, const Visit &visit);
  void list_folders(int folder);

  int64_t depth_;
  std::string path_;
  std::vector<char> entries_;  // a buffer for getdents64(2)
  std::string names_;          // a stack of the folders still to enter, each terminated by NUL
};

}  // namespace atalaya::cgroup
