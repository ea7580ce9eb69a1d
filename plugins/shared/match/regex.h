// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/byte_set.h"
#include "core/base/result.h"

namespace atalaya::core {

// Extended regular expressions on bytes: . [set] ( ) | * + ? {m,n} ^ $ \d \w \s and \ before any other punctuation. Searches (use ^
// and $ for the whole text). Time is linear in the text whatever the expression is, and a search allocates nothing: patterns come
// from operators and from the network, the C library's regexec promises neither.
class Regex {
 public:
  static constexpr size_t kMaxProgram = 1024;

  static Result<Regex> parse(std::string_view pattern);
  bool search(std::string_view text) const;

 private:
  friend class RegexParser;
  enum class Op : uint8_t { byte, split, begin, end };
  // Jumps are relative, so that a piece of program can be copied. Running off the end is a match.
  struct Instruction {
    Op op;
    uint16_t set;  // byte: which of sets_
    int32_t a, b;  // where to go on; split: both
  };

  std::vector<Instruction> program_;
  std::vector<ByteSet> sets_;
};

}  // namespace atalaya::core
