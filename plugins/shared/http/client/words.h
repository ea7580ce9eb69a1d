// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace atalaya::http_client {

constexpr size_t kLongestWords = 500;

// What the server says is wrong, for people: its JSON's message if it has one, else the beginning of its text. One line.
std::string words_of(std::string_view body);

}  // namespace atalaya::http_client
