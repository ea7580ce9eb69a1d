// SPDX-License-Identifier: Apache-2.0
// What is known of JVMs, for people and for programs.
#pragma once

#include <cstddef>
#include <string>

#include "plugins/commands/jvms/gather.h"

namespace atalaya::jvms {

// At most `top` functions by each profile, and `top` JVMs.
std::string overview_table(const Overview &overview, size_t top);
std::string overview_json(const Overview &overview, size_t top);
std::string detail_table(const Detail &detail, const Overview &overview, size_t top);
std::string detail_json(const Detail &detail, const Overview &overview, size_t top);

}  // namespace atalaya::jvms
