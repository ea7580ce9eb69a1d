// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace atalaya::http_client {

constexpr size_t kMaxErrorMessage = 500;  // bytes

// The error message in the body of a server's answer, as one line: the message member of its JSON, else the start of its text.
std::string error_message(std::string_view body);

}  // namespace atalaya::http_client
