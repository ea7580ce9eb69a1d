// SPDX-License-Identifier: Apache-2.0
// Names of containers from what their runtimes keep on disk: no process is started, no socket is asked. One thread, never the
// engine's: a file system may hang.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "plugins/shared/containers/container.h"
#include "plugins/shared/cgroup/place.h"
#include "plugins/shared/containers/runtime_state.h"

namespace atalaya::containers {

class ContainerNames {
 public:
  struct Options {
    std::string root = "/";  // the folder that holds var, run and etc
    size_t capacity = 4096;  // containers kept; the one not asked for the longest goes first
  };
  // Told once of each reason for missing names that someone can do something about.
  using Tell = std::function<void(std::string_view)>;

  explicit ContainerNames(Options options, Tell tell = {});

  // The container that the place is in; without one, an empty name. Files are read only when it is new, when the turn of an unknown
  // one has come, and once a minute for a known one, as containers can be renamed. `now_ns`: of a clock that does not go back.
  // Valid until the next call.
  const Container &find(const Place &place, int64_t now_ns);

 private:
  struct Entry {
    Container container;
    int64_t first_ns = 0, next_ns = 0;
    uint64_t used = 0;
  };

  Entry &entry_of(const Place &place, int64_t now_ns);
  void look(const Place &place, int64_t now_ns, Entry &entry);
  void tell(const RuntimeState::Trouble &trouble);

  Options options_;
  Tell tell_;
  RuntimeState state_;
  std::unordered_map<std::string, Entry> entries_;
  Container in_path_;  // the one at hand when the path alone names it
  uint64_t uses_ = 0;
  std::set<std::string> told_;
};

}  // namespace atalaya::containers
