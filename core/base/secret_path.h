// SPDX-License-Identifier: Apache-2.0
// Paths of credential files in messages. An operator may write the credentials themselves as the value of such a parameter;
// messages must then not show the value.
#pragma once

#include <string>

namespace atalaya::core {

// The path if its folder exists; else a text that does not contain it.
std::string shown_secret_path(const std::string &path);

}  // namespace atalaya::core
