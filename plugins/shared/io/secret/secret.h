// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace atalaya::io {

// Reads the single line of a file with credentials. Throws Failure (retry) if the file cannot be read, or if all users can read
// it: samples then wait in the queue until the operator fixes it.
std::string read_secret(const std::string &path);

}  // namespace atalaya::io
