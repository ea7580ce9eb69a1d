// SPDX-License-Identifier: Apache-2.0
// A list of integers as runs: equal integers, or integers in a narrow range, which are stored with the bits of that range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::store {

constexpr int kMaxRunBits = 56;  // maximum bits of an integer of a run, which is read with one load

// Appends the integers of a list. The greatest is less than 2^kMaxRunBits above the least.
class IntegerRuns {
 public:
  void append(std::span<const int64_t> integers, std::string &out);

 private:
  struct Run {
    size_t begin = 0, end = 0;
    int64_t minimum = 0, maximum = 0;
    uint64_t cost = 0;  // size in bits
  };

  void find_runs(std::span<const int64_t> integers);
  void push(std::span<const int64_t> integers, size_t begin, size_t end);

  std::vector<Run> runs_;
};

// Reads the complete list. False: the bytes are not such a list.
bool read_integer_runs(std::string_view bytes, std::span<uint64_t> out);

}  // namespace atalaya::store
