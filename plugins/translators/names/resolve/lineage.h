// SPDX-License-Identifier: Apache-2.0
// The tags that processes inherit: each has, for each inherited tag, the value of its nearest ancestor with one. A process keeps
// the tags when its ancestors end. A pid that has another process now, which started later than the child, is no ancestor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/translators/names/rules.h"

namespace atalaya::names {

using Tags = std::vector<Naming::Tag>;

// One process at one time. Pid and start time identify the process; name and image identify the program that it runs.
struct Relative {
  int32_t pid = 0, parent = 0;
  uint64_t start_ticks = 0;
  uint64_t image = 0;  // ProcessStat::image; 0: unknown
  uint32_t name = 0;   // hash of the kernel's name
};

class Lineage {
 public:
  struct Program {
    Tags tags;            // by its rule
    bool settled = true;  // false: the tags may change
  };
  // Read processes now: nothing for one that has ended.
  struct Reader {
    std::function<std::optional<Relative>(int32_t pid)> find;
    std::function<Program(int32_t pid)> program;
  };
  struct Inherited {
    Tags tags;
    bool settled = true;
  };

  Lineage(Reader reader, size_t capacity) : reader_(std::move(reader)), half_(capacity / 2 + 1) {}

  // The tags that a process, which was read just now, has from its ancestors. Reads the ancestors that are unknown or run another
  // program now.
  Inherited of(const Relative &process);
  // Stores the program of that process. Returns whether its children inherit tags.
  bool learn(const Relative &process, const Program &program);

 private:
  struct Member {
    Relative last;
    Tags inherited, passed;  // from its ancestors; to its children
    bool inherited_settled = true, settled = false;
  };
  Member *find(const Relative &process);
  Member &member(const Relative &process);
  // The ancestors of which nothing is known, the nearest one first; adds the tags of the first known one.
  std::vector<Relative> climb(const Relative &process, Inherited &known);
  static bool is_current(const Member &member, const Relative &now);
  static void add(Member &member, const Relative &now, const Program &program);

  Reader reader_;
  size_t half_;
  // When the young ones fill half of the capacity, the old ones are removed, and the young ones become the old ones.
  std::unordered_map<int32_t, Member> young_, old_;
};

}  // namespace atalaya::names
