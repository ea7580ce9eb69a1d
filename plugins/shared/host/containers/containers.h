// SPDX-License-Identifier: Apache-2.0
// Names of containers from the files of their runtimes, without processes or sockets. For one thread, other than the engine's:
// a file system may hang.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "plugins/shared/host/cgroup/place.h"
#include "plugins/shared/host/containers/container.h"
#include "plugins/shared/host/containers/runtime_state.h"

namespace atalaya::containers {

class ContainerNames {
 public:
  struct Options {
    std::string root = "/";  // the folder that holds var, run and etc
    size_t capacity = 4096;  // containers kept; the least recently used is evicted first
  };
  // Called once for each reason for missing names that an operator can fix.
  using Warn = std::function<void(std::string_view)>;

  explicit ContainerNames(Options options, Warn warn = {});

  // The container that the place is in; without one, an empty name. Files are read only for a new container, at intervals for an
  // unknown one, and once a minute for a known one, because containers can be renamed. `now_ns`: monotonic.
  // Valid until the next call.
  const Container &find(const cgroup::Place &place, int64_t now_ns);

 private:
  struct Entry {
    Container container;
    int64_t first_ns = 0, next_ns = 0;
    uint64_t used = 0;
  };

  Entry &entry_of(const cgroup::Place &place, int64_t now_ns);
  void look(const cgroup::Place &place, int64_t now_ns, Entry &entry);
  void warn(const RuntimeState::Problem &problem);

  Options options_;
  Warn warn_;
  RuntimeState state_;
  std::unordered_map<std::string, Entry> entries_;
  Container in_path_;  // the current one, when the path alone names it
  uint64_t uses_ = 0;
  std::set<std::string> warned_;
};

}  // namespace atalaya::containers
