// SPDX-License-Identifier: Apache-2.0
// The overview of JVMs and functions as text and as JSON.
#pragma once

#include <cstddef>
#include <string>

#include "plugins/shared/analysis/jvms/gather.h"

namespace atalaya::jvms {

// At most `top` functions per profile, and `top` JVMs.
std::string overview_table(const Overview &overview, size_t top);
std::string overview_json(const Overview &overview, size_t top);
std::string detail_table(const Detail &detail, const Overview &overview, size_t top);
std::string detail_json(const Detail &detail, const Overview &overview, size_t top);

}  // namespace atalaya::jvms
