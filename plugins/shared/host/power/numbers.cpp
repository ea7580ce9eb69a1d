// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/power/numbers.h"

#include <array>

#include "core/base/text/text.h"

namespace atalaya::power {

std::optional<int64_t> NumberFile::read(const procfs::Tree &tree) {
  std::array<char, 64> buffer{};
  const procfs::FileText text = file_.read(tree.folder(), buffer);
  return text.ok() ? core::parse_number(text.text) : std::nullopt;
}

std::optional<int32_t> number_after(std::string_view text, std::string_view prefix) {
  uint64_t value = 0;
  if (!text.starts_with(prefix) || !procfs::whole_number(text.substr(prefix.size()), value) || value > INT32_MAX)
    return std::nullopt;
  return static_cast<int32_t>(value);
}

}  // namespace atalaya::power
