// SPDX-License-Identifier: Apache-2.0
#include "core/base/encode/line_encoder.h"

#include <algorithm>

namespace atalaya::core {

void append_all(Encoder &encoder, std::span<const atalaya_sample> samples, std::string &out, Refused &refused) {
  for (const atalaya_sample &sample : samples) {
    const std::string_view reason = encoder.append(sample, out);
    if (reason.empty()) continue;
    const auto known = std::find_if(refused.begin(), refused.end(), [&](const auto &entry) { return entry.first == reason; });
    if (known == refused.end()) {
      refused.emplace_back(reason, 1);
    } else {
      ++known->second;
    }
  }
}

}  // namespace atalaya::core
