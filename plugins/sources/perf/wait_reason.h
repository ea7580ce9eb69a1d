// SPDX-License-Identifier: Apache-2.0
// The reason of a wait, by its stack. Pure.
#pragma once

#include <string_view>

namespace atalaya::perf {

inline constexpr std::string_view kRunQueue = "run queue";

// Of a folded stack, root first, with "_[k]" after each frame of the kernel: "disk", "memory", "network", "pipe", "futex",
// "kernel lock", "sleep", "child", "poll", "stopped", "quota", "safepoint"; "other": none of its functions is known.
std::string_view reason_of(std::string_view folded);

}  // namespace atalaya::perf
