// SPDX-License-Identifier: Apache-2.0
// Parses /proc/PID/stat (proc(5)).
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

  // Parses the fields up to number `last`, as proc(5) counts them. Nothing if name or state are missing. The name may contain any
  // bytes, also ") (" and newlines: it ends at the last parenthesis, because only numbers follow.
  static std::optional<ProcessStat> parse(std::string_view text, size_t last = kLastField);

  std::string_view name() const { return name_; }  // within the text
  char state() const { return state_; }
  // Whether the field is present. A number at the end of the text is not, because it may be truncated.
  bool has(size_t field) const { return field <= fields_; }
  // The value of a field from number 4 on; 0 if it is missing. Negative numbers are in two's complement.
  uint64_t operator[](size_t field) const { return numbers_[field]; }

 private:
  std::string_view name_;
  char state_ = 0;
  size_t fields_ = 3;
  std::array<uint64_t, kLastField + 1> numbers_{};
};

}  // namespace atalaya::procfs
