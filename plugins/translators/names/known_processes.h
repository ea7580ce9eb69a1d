// SPDX-License-Identifier: Apache-2.0
// The processes that have a name of their own, or may have one. Sorted by pid: samples come in that order, so that a window touches
// this memory once, from its begin to its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugins/translators/names/known_cgroups.h"
#include "plugins/translators/names/rules.h"

namespace atalaya::names {

// What a process is to be called. `process` is empty when it keeps its name.
struct Known {
  std::string process;
  std::vector<ExtraTag> program_tags, place_tags;
};

struct KnownProcess {
  int32_t pid = 0;
  uint32_t name = 0;     // hash of the kernel's name
  int64_t start_ns = 0;  // 0: no sample has said it
  uint64_t image = 0;    // of the program that `known` is about
  uint32_t seen = 0;     // the last window with a sample of it
  uint32_t again = 0;    // the window in which it is asked about again; 0: none
  uint8_t tries = 0;
  Rules::Kind kind = Rules::Kind::other;
  bool ask = true;       // its question has not been asked
  bool suspect = false;  // it may run another program of the same name
  bool hangs = false;    // who reads of it does not come back: it is left alone
  std::unique_ptr<Known> known;
};

class KnownProcesses {
 public:
  explicit KnownProcesses(size_t capacity) : capacity_(capacity) {}

  // Null when there is none. Quick when the pids of successive calls ascend.
  KnownProcess *find(int32_t pid);
  // One that find has not found; null when there are too many. It may move at the next call of add or settle.
  KnownProcess *add(int32_t pid);
  // Puts those that were added in their places.
  void settle();
  // Drops those not seen since that window.
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
