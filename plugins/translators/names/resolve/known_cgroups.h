// SPDX-License-Identifier: Apache-2.0
// The cgroups of samples without a pid, which are samples of ended processes, and the tags to add to them.
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
  bool inherited = false;  // children have it, too
};

struct KnownCgroup {
  std::vector<ExtraTag> tags;
  uint32_t seen = 0;         // number of the last window with a sample of the cgroup
  uint64_t answered = 0;     // Names::response_rounds_ at its last answer
  uint32_t next_window = 0;  // number of the window of the next question; 0: an answer is pending
  uint8_t tries = 0;
  bool ask = true;            // a question must be sent
  bool unresponsive = false;  // the thread that read its files blocked: no further questions
};

class KnownCgroups {
 public:
  explicit KnownCgroups(size_t capacity) : capacity_(capacity) {}

  // Null if the path is unknown.
  KnownCgroup *find(std::string_view path);
  // Adds an unknown path; null at capacity.
  KnownCgroup *add(std::string_view path);
  // Removes the cgroups without a sample since that window.
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
