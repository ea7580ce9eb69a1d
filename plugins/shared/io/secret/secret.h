// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace atalaya::io {

// The single line of a file with credentials. Throws Failure (retry) if the file cannot be read, or if everyone can read it:
// samples wait in the queue until this is fixed.
std::string read_secret(const std::string &path);

}  // namespace atalaya::io
