// SPDX-License-Identifier: Apache-2.0
// Numbers in the kernel's files and file names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/shared/host/procfs/files.h"
#include "plugins/shared/host/procfs/host_counters.h"
#include "plugins/shared/host/procfs/tree.h"

namespace atalaya::power {

// A file with one number that is read repeatedly.
class NumberFile {
 public:
  explicit NumberFile(std::string path) : file_(std::move(path)) {}
  std::optional<int64_t> read(const procfs::Tree &tree);

 private:
  procfs::PersistentFile file_;
};

// The scaled value; absent if the value is absent.
inline std::optional<double> scaled(std::optional<int64_t> value, double scale) {
  return value ? std::optional(static_cast<double>(*value) * scale) : std::nullopt;
}
inline procfs::Count count_of(std::optional<int64_t> value) {
  return value && *value >= 0 ? procfs::Count(static_cast<uint64_t>(*value)) : std::nullopt;
}
inline void add_to_sum(std::optional<double> &sum, double more) {
  sum = sum.value_or(0) + more;
}

// The number after the prefix: 3 in "package-3".
std::optional<int32_t> number_after(std::string_view text, std::string_view prefix);

}  // namespace atalaya::power
