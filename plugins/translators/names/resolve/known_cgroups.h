// SPDX-License-Identifier: Apache-2.0
// The cgroups of samples without a pid: those of ended processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace atalaya::names {

struct ExtraTag {
  uint32_t key;
  std::string value;
};

struct KnownCgroup {
  std::vector<ExtraTag> tags;
  uint32_t seen = 0;         // the last window with a sample of it
  uint64_t answered = 0;     // the last taking of answers with one for it
  uint32_t next_window = 0;  // the window of the next question; 0: an answer is pending
  uint8_t tries = 0;
  bool ask = true;            // its question is due
  bool unresponsive = false;  // its reader hangs: no further questions
};

class KnownCgroups {
 public:
  explicit KnownCgroups(size_t capacity) : capacity_(capacity) {}

  // Null when there is none.
  KnownCgroup *find(std::string_view path);
  // Adds one that find has not found; null at capacity.
  KnownCgroup *add(std::string_view path);
  // Removes those not seen since that window.
  void forget(uint32_t window);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view path) const { return std::hash<std::string_view>{}(path); }
  };

  size_t capacity_;
  std::unordered_map<std::string, KnownCgroup, Hash, std::equal_to<>> cgroups_;
};

}  // namespace atalaya::names
