// SPDX-License-Identifier: Apache-2.0
// Writes stacks as a file of speedscope. Source: github.com/jlfwong/speedscope, src/lib/file-format-spec.ts. Pure.
#pragma once

#include <string>

#include "plugins/shared/analysis/flamegraph/files/pprof.h"

namespace atalaya::flamegraph {

// Writes the shown side of the tree: one profile for each process, and one list of frames for all.
std::string speedscope_of(const Tree &tree, const ProfileInfo &info);

}  // namespace atalaya::flamegraph
