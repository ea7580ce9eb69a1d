// SPDX-License-Identifier: Apache-2.0
// Paths of files with credentials in messages. An operator may write the credentials themselves where their file is meant; then
// nothing of the value may reach a terminal or a log.
#pragma once

#include <string>

namespace atalaya::core {

// The path, or words in its place unless it names something in an existing folder.
std::string shown_secret_path(const std::string &path);

}  // namespace atalaya::core
