// SPDX-License-Identifier: Apache-2.0
// Stacks as a file of speedscope. Source: github.com/jlfwong/speedscope, src/lib/file-format-spec.ts. Pure.
#pragma once

#include <string>

#include "plugins/shared/analysis/flamegraph/files/pprof.h"

namespace atalaya::flamegraph {

// The shown side of the tree: one profile for each process, frames shared.
std::string speedscope_of(const Tree &tree, const ProfileInfo &info);

}  // namespace atalaya::flamegraph
