// SPDX-License-Identifier: Apache-2.0
// Classifies a wait by the functions of its stack. Pure.
#pragma once

#include <string_view>

namespace atalaya::perf {

inline constexpr std::string_view kRunQueue = "run queue";

// Returns "disk", "memory", "network", "pipe", "futex", "kernel lock", "sleep", "child", "poll", "stopped", "quota" or "safepoint";
// "other" if no function is known. `folded`: root first, with "_[k]" after each kernel frame.
std::string_view reason_of(std::string_view folded);

}  // namespace atalaya::perf
