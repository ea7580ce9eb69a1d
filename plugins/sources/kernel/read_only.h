// SPDX-License-Identifier: Apache-2.0
// Detects file systems that were writable and became read-only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/host/procfs/host_reader.h"

namespace atalaya::kernel {

struct ReadOnly {
  std::string mount;  // mount point; the first one in the list if the file system is mounted several times
  std::string disk;   // device of the file system, "/dev/sda1"
  bool is_new = false;
};

// Reads the mountinfo file of the host. Below a root other than "/" it is that of process 1, because /proc/self shows the mount
// namespace of this process. Absent if the file cannot be read.
std::optional<std::string> read_mountinfo(const std::string &root);

class ReadOnlyWatch {
 public:
  // Returns all file systems that are read-only now and were writable in an earlier update.
  std::vector<ReadOnly> update(const std::vector<procfs::Mount> &mounts);
  void clear() { states_.clear(); }

 private:
  struct State {
    bool was_writable = false, is_read_only = false, is_seen = false;
  };
  // Updates the state of a mount or file system. Returns true if it must be reported.
  bool update_state(const std::string &key, bool is_read_only, bool &is_new);

  std::map<std::string, State, std::less<>> states_;
};

}  // namespace atalaya::kernel
