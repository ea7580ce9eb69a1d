// SPDX-License-Identifier: Apache-2.0
// Formats the overview of JVMs and functions as text and as JSON.
#pragma once

#include <cstddef>
#include <string>

#include "plugins/shared/analysis/jvms/gather.h"

namespace atalaya::jvms {

// `top`: maximum JVMs, and maximum functions per profile.
std::string overview_table(const Overview &overview, size_t top);
std::string overview_json(const Overview &overview, size_t top);
std::string detail_table(const Detail &detail, const Overview &overview, size_t top);
std::string detail_json(const Detail &detail, const Overview &overview, size_t top);

}  // namespace atalaya::jvms
