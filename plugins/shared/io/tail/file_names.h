// SPDX-License-Identifier: Apache-2.0
// Finds the files of a path, folder or glob, and their rotated files: app.log.1, app.log-20261122.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace atalaya::tail {

struct Found {
  std::string path;
  std::string family;    // the path without the suffix of rotation
  bool matched = false;  // the file matches the path, folder or glob; false: a rotated file of a matched one
  bool rotated() const { return path != family; }
};

// The existing files: the matched ones and their rotated files in the same folders. Compressed files (by name)
// and hidden files are excluded. `known`: paths matched before, whose rotated files are included even if the path was deleted.
// An error if a folder cannot be read.
core::Result<std::vector<Found>> find_files(const std::string &path, const std::vector<std::string> &known);

// The prefix of `name` that is one of `bases`, if a suffix of rotation follows; else empty.
std::string_view family_of(std::string_view name, const std::vector<std::string> &bases);

// For two files of a family with the same modification time: whether the first is older.
bool older_name(const Found &a, const Found &b);

}  // namespace atalaya::tail
