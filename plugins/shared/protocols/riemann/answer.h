// SPDX-License-Identifier: Apache-2.0
// Riemann's answers. Untrusted bytes: their length is limited before they are parsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace atalaya::protocols {

// An answer is ok or an error text; a longer one is not valid.
constexpr size_t kMaxAnswerLength = 65536;

struct Answer {
  bool accepted = false;
  std::string words;  // error text; one line
};

// The length before a message.
uint32_t length_of(std::span<const unsigned char, 4> header);
// Nothing: not an answer of Riemann.
std::optional<Answer> read_answer(std::string_view body);

}  // namespace atalaya::protocols
