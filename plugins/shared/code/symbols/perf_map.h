// SPDX-License-Identifier: Apache-2.0
// Parses the perf map of a runtime, which lists its generated code: /tmp/perf-PID.map, lines "START SIZE NAME", with hexadecimal
// numbers, with or without 0x. Source: tools/perf/Documentation/jit-interface.txt. Runtimes append lines and reuse addresses: if
// two lines overlap, the later one is used. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::symbols {

inline constexpr size_t kMaxPerfMap = size_t{16} << 20;  // maximum bytes read
inline constexpr size_t kMaxPerfMapLines = 1 << 17;      // of a longer file, the last lines are used
inline constexpr size_t kMaxName = 1024;                 // bytes of a name; the rest is cut

class PerfMap {
 public:
  PerfMap() = default;
  explicit PerfMap(std::string_view text);

  // The name of the code at an address; "" if it is unknown. Valid as long as the map.
  std::string_view find(uint64_t address) const;
  size_t size() const { return entries_.size(); }
  size_t bytes() const { return entries_.capacity() * sizeof(Entry) + names_.capacity(); }

 private:
  struct Entry {
    uint64_t begin, end;
    uint32_t name, name_size;
  };
  void keep_latest();

  std::vector<Entry> entries_;  // by address, none overlaps
  std::string names_;
};

}  // namespace atalaya::symbols
