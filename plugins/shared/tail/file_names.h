// SPDX-License-Identifier: Apache-2.0
// Which files a path, folder or glob means, and what rotation calls the older ones: app.log.1, app.log-20261122.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace atalaya::tail {

struct Found {
  std::string path;
  std::string family;  // the path without what rotation added to it
  bool asked = false;  // the path, folder or glob means it; else it was found beside one that is meant
  bool rotated() const { return path != family; }
};

// Files that are there now: those that are meant, and in their folders those that rotation made of them. Compressed ones, by their
// name, and hidden ones are left out. `known`: paths that were meant before, whose rotated files count though they are gone.
// An error when a folder cannot be read.
core::Result<std::vector<Found>> find_files(const std::string &path, const std::vector<std::string> &known);

// The begin of `name` that is one of `bases`, when something that rotation adds follows; else empty.
std::string_view family_of(std::string_view name, const std::vector<std::string> &bases);

// Of two files of a family that were written last at the same moment: whether the first is the older one.
bool older_name(const Found &a, const Found &b);

}  // namespace atalaya::tail
