// SPDX-License-Identifier: Apache-2.0
// Capabilities of the calling thread, as bits by their number.
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <string>

#include "core/base/result.h"

namespace atalaya::core {

// Those that the component declares as needs.
uint64_t declared_capabilities(const atalaya_component &component);
// Those of the given ones that it can use: a feature that lacks one of its needs gets none.
uint64_t usable_capabilities(const atalaya_component &component, uint64_t given);
uint64_t permitted_capabilities();
// "CAP_BPF, CAP_PERFMON"; "none".
std::string capability_names(uint64_t set);

// Keeps no more than these: permitted, effective, and for the program that is executed next, whoever the user is. Cannot be undone.
Status keep_capabilities(uint64_t set);
// Those of now remain, but no program that is executed gets any.
Status keep_capabilities_here();

}  // namespace atalaya::core
