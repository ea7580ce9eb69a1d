// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace atalaya::core::cli {

// Exit statuses of the command line.
constexpr int kDone = 0, kFailed = 1, kWrongUse = 2;

}  // namespace atalaya::core::cli
