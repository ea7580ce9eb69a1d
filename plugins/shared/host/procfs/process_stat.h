// SPDX-License-Identifier: Apache-2.0
// The one parser of /proc/PID/stat.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace atalaya::procfs {

class ProcessStat {
 public:
  static constexpr size_t kLastField = 52;

  // Numbers up to field `last`, as proc(5) counts fields. Nothing without name and state. The name may hold anything, ") (" and
  // newlines too: it ends at the last parenthesis, as all after it are numbers.
  static std::optional<ProcessStat> parse(std::string_view text, size_t last = kLastField);

  std::string_view name() const { return name_; }  // within the text
  char state() const { return state_; }
  // A number at the very end of the text does not count: it may be cut off.
  bool has(size_t field) const { return field <= fields_; }
  // From 4; 0 where the text ends before. Negative numbers as two's complement.
  uint64_t operator[](size_t field) const { return numbers_[field]; }

 private:
  std::string_view name_;
  char state_ = 0;
  size_t fields_ = 3;
  std::array<uint64_t, kLastField + 1> numbers_{};
};

}  // namespace atalaya::procfs
