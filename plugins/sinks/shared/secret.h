// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace atalaya::sinks {

// The one line of a file with credentials. Throws Failure: bad_config for a file that everyone can read, retry for one that cannot
// be read now.
std::string read_secret(const std::string &path);

}  // namespace atalaya::sinks
