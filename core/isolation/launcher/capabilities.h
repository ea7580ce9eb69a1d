// SPDX-License-Identifier: Apache-2.0
// Linux capabilities (capabilities(7)) as sets: bit n is the capability with number n.
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <string>

#include "core/base/result.h"

namespace atalaya::core {

// The capabilities that the component declares as needs.
uint64_t declared_capabilities(const atalaya_component &component);
// The subset of `available` that the component can use: a feature with a missing capability receives none of its others.
uint64_t usable_capabilities(const atalaya_component &component, uint64_t available);
uint64_t permitted_capabilities();  // capabilities of the calling thread
// "CAP_BPF, CAP_PERFMON"; "none".
std::string capability_names(uint64_t set);

// Restricts the thread's capabilities to `set`: permitted, effective, and for executed programs, also if the user is root.
// Irreversible.
Status keep_capabilities(uint64_t set);
// Retains the thread's capabilities, but executed programs receive none.
Status deny_capabilities_to_programs();

}  // namespace atalaya::core
