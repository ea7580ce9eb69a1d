// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/procfs/process_stat.h"

#include "plugins/shared/host/procfs/files.h"

namespace atalaya::procfs {
namespace {

bool take_field(std::string_view &text, uint64_t &value) {
  int64_t number = 0;
  if (!next_number(text, number)) return next_number(text, value);  // large limits exceed int64: the kernel prints unsigned numbers
  value = static_cast<uint64_t>(number);
  return true;
}

}  // namespace

std::optional<ProcessStat> ProcessStat::parse(std::string_view text, size_t last) {
  const size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  ProcessStat stat;
  stat.name_ = text.substr(open + 1, close - open - 1);
  text.remove_prefix(close + 1);
  const std::string_view state = next_word(text);
  if (state.size() != 1) return std::nullopt;
  stat.state_ = state[0];
  for (size_t field = 4; field <= last; ++field) {
    uint64_t value = 0;
    if (!take_field(text, value) || text.empty()) break;
    stat.numbers_[field] = value;
    stat.fields_ = field;
  }
  return stat;
}

}  // namespace atalaya::procfs
