// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace atalaya::http_client {

constexpr size_t kMaxWords = 500;

// The server's error message in one line: the message of its JSON, else the beginning of its text.
std::string words_of(std::string_view body);

}  // namespace atalaya::http_client
