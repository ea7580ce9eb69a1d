// SPDX-License-Identifier: Apache-2.0
// The processes that have a derived name or may get one, sorted by pid: samples come in this order, so a window reads the memory
// sequentially.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugins/translators/names/resolve/known_cgroups.h"
#include "plugins/translators/names/rules.h"

namespace atalaya::names {

// Derived name and tags of a process. `process` is empty if the process keeps the kernel's name.
struct Known {
  std::string process;
  std::vector<ExtraTag> inherited_tags, program_tags, place_tags;  // of equal keys the last one counts
};

struct KnownProcess {
  int32_t pid = 0;
  uint32_t name = 0;         // hash of the kernel's name
  int64_t start_ns = 0;      // 0: unknown
  uint64_t image = 0;        // ProcessStat::image of the program that `known` describes
  uint32_t seen = 0;         // number of the last window with a sample of the process
  uint64_t answered = 0;     // Names::response_rounds_ at its last answer
  uint32_t next_window = 0;  // number of the window of the next question; 0: none
  uint8_t tries = 0;
  Rules::Kind kind = Rules::Kind::other;
  bool ask = true;            // a question must be sent
  bool suspect = false;       // it may now run another program with the same name
  bool unresponsive = false;  // the thread that read its files blocked: no further questions
  std::unique_ptr<Known> known;
};

class KnownProcesses {
 public:
  explicit KnownProcesses(size_t capacity) : capacity_(capacity) {}

  // Null if the pid is unknown. Fast when the pids of successive calls ascend.
  KnownProcess *find(int32_t pid);
  // Adds an unknown pid; null at capacity. The pointer is valid until the next call of add or settle.
  KnownProcess *add(int32_t pid);
  // Merges the added processes into the sorted ones.
  void settle();
  // Removes the processes without a sample since that window.
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
