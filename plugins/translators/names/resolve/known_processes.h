// SPDX-License-Identifier: Apache-2.0
// The processes with a derived name, and those that may get one. Sorted by pid: samples come in that order, so that a window reads
// this memory once, from start to end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugins/translators/names/resolve/known_cgroups.h"
#include "plugins/translators/names/rules.h"

namespace atalaya::names {

// Derived name and tags of a process. `process` is empty when it keeps its name.
struct Known {
  std::string process;
  std::vector<ExtraTag> program_tags, place_tags;
};

struct KnownProcess {
  int32_t pid = 0;
  uint32_t name = 0;         // hash of the kernel's name
  int64_t start_ns = 0;      // 0: unknown
  uint64_t image = 0;        // of the program that `known` describes
  uint32_t seen = 0;         // the last window with a sample of it
  uint64_t answered = 0;     // the last taking of answers with one for it
  uint32_t next_window = 0;  // the window of the next question; 0: none
  uint8_t tries = 0;
  Rules::Kind kind = Rules::Kind::other;
  bool ask = true;            // its question is due
  bool suspect = false;       // it may run another program of the same name
  bool unresponsive = false;  // its reader hangs: no further questions
  std::unique_ptr<Known> known;
};

class KnownProcesses {
 public:
  explicit KnownProcesses(size_t capacity) : capacity_(capacity) {}

  // Null when there is none. Fast when the pids of successive calls ascend.
  KnownProcess *find(int32_t pid);
  // Adds one that find has not found; null at capacity. The next call of add or settle may move it.
  KnownProcess *add(int32_t pid);
  // Sorts in the added ones.
  void settle();
  // Removes those not seen since that window.
  void forget(uint32_t window);

  std::vector<KnownProcess> &all() { return sorted_; }
  size_t size() const { return sorted_.size() + added_.size(); }

 private:
  size_t capacity_;
  std::vector<KnownProcess> sorted_, added_;
  size_t cursor_ = 0;
  int32_t last_pid_ = 0;
};

}  // namespace atalaya::names
