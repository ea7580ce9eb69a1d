// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace atalaya::core {

// CRC-32C (Castagnoli), as in iSCSI and ext4.
uint32_t crc32c(std::string_view bytes);

}  // namespace atalaya::core
