// SPDX-License-Identifier: Apache-2.0
// Programs that were named when they started: for processes that end before a window shows them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "plugins/translators/names/resolve/known_processes.h"

namespace atalaya::names {

struct StartedProgram {
  uint32_t name = 0;     // hash of the kernel's name
  int64_t start_ns = 0;  // Unix time, to about a second
  uint64_t image = 0;
  uint32_t window = 0;  // in which it started
  Known known;
};

class StartedPrograms {
 public:
  explicit StartedPrograms(size_t capacity) : capacity_(capacity) {}

  // The last program of a process counts. At capacity, it is left out.
  void put(int32_t pid, StartedProgram program) {
    if (programs_.size() < capacity_ || programs_.contains(pid)) programs_.insert_or_assign(pid, std::move(program));
  }
  // Null when there is none.
  const StartedProgram *find(int32_t pid) const {
    const auto found = programs_.find(pid);
    return found == programs_.end() ? nullptr : &found->second;
  }
  // Removes those that started before that window.
  void forget(uint32_t window) {
    std::erase_if(programs_, [window](const auto &one) { return one.second.window < window; });
  }

 private:
  size_t capacity_;
  std::unordered_map<int32_t, StartedProgram> programs_;
};

}  // namespace atalaya::names
