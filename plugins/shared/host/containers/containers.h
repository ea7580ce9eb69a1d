// SPDX-License-Identifier: Apache-2.0
// Reads the names of containers from the files of their runtimes; starts no processes and opens no sockets. One thread, not the
// engine's, because a file system may hang.
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
    std::string root = "/";  // the folder with var, run and etc
    size_t capacity = 4096;  // maximum number of cached containers; the least recently used is evicted first
  };
  // Receives each problem that an operator can fix, once.
  using Warn = std::function<void(std::string_view)>;

  explicit ContainerNames(Options options, Warn warn = {});

  // The container of a place; its name is empty if the place is in no container. Reads files for a new container, at intervals for
  // an unknown one, and once per minute for a known one, because containers can be renamed. `now_ns`: CLOCK_MONOTONIC. Valid until
  // the next call.
  const Container &find(const cgroup::Place &place, int64_t now_ns);

 private:
  struct Entry {
    Container container;
    int64_t first_ns = 0, next_ns = 0;
    uint64_t used = 0;
  };

  Entry &entry_of(const cgroup::Place &place, int64_t now_ns);
  void search(const cgroup::Place &place, int64_t now_ns, Entry &entry);
  void warn(const RuntimeState::Problem &problem);

  Options options_;
  Warn warn_;
  RuntimeState state_;
  std::unordered_map<std::string, Entry> entries_;
  Container in_path_;  // the returned container, if its name is from the path
  uint64_t uses_ = 0;
  std::set<std::string> warned_;
};

}  // namespace atalaya::containers
