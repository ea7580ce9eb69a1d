// SPDX-License-Identifier: Apache-2.0
// File systems that could be written and became read-only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/host/procfs/host_reader.h"

namespace atalaya::kernel {

struct ReadOnly {
  std::string mount;  // a file system that is mounted several times: the first one in the list of mounts
  std::string disk;   // its source, "/dev/sda1"
  bool is_new = false;
};

// The mounts of the host below the root: below another root those of process 1, because /proc/self is in the namespaces of this
// process. Absent if the file cannot be read.
std::optional<std::string> read_mountinfo(const std::string &root);

class ReadOnlyWatch {
 public:
  // All that are read-only now and could be written in an earlier update.
  std::vector<ReadOnly> update(const std::vector<procfs::Mount> &mounts);
  void clear() { states_.clear(); }

 private:
  struct State {
    bool was_writable = false, is_read_only = false, is_seen = false;
  };
  // The new state of a mount or file system. True: it is to be reported.
  bool step(const std::string &key, bool is_read_only, bool &is_new);

  std::map<std::string, State, std::less<>> states_;
};

}  // namespace atalaya::kernel
