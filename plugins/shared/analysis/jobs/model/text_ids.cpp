// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/model/text_ids.h"

namespace atalaya::jobs {

TextIds::TextIds() {
  id_of("");
}

uint32_t TextIds::id_of(std::string_view text) {
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  const auto number = static_cast<uint32_t>(texts_.size());
  numbers_.emplace(texts_.emplace_back(text), number);
  return number;
}

}  // namespace atalaya::jobs
