// SPDX-License-Identifier: Apache-2.0
// What Riemann answers. Foreign bytes: bounded before they are looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace atalaya::riemann_sink {

// An answer says ok, or what went wrong: nothing that is longer is one.
constexpr size_t kLongestAnswer = 65536;

struct Answer {
  bool accepted = false;
  std::string words;  // why not; one line
};

// The length that stands before a message.
uint32_t length_of(std::span<const unsigned char, 4> header);
// Nothing: that is no answer of Riemann.
std::optional<Answer> read_answer(std::string_view body);

}  // namespace atalaya::riemann_sink
