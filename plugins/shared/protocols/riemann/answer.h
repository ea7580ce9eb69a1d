// SPDX-License-Identifier: Apache-2.0
// Parses Riemann's answers, which are untrusted input: their length is checked before they are parsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace atalaya::protocols {

// Maximum bytes of an answer, which is "ok" or an error text.
constexpr size_t kMaxAnswerLength = 65536;

struct Answer {
  bool accepted = false;
  std::string server_message;  // error text; one line
};

// The length of a message, from the 4 bytes before it (big-endian).
uint32_t length_of(std::span<const unsigned char, 4> header);
// Parses an answer. Returns nothing if the bytes are not an answer of Riemann.
std::optional<Answer> read_answer(std::string_view body);

}  // namespace atalaya::protocols
