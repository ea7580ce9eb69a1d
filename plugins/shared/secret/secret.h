// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace atalaya {

// The one line of a file with credentials. Throws Failure (retry) for one that cannot be read now, and for one that everyone can
// read: what waits is not lost while somebody mends that.
std::string read_secret(const std::string &path);

}  // namespace atalaya
