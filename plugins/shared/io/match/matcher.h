// SPDX-License-Identifier: Apache-2.0
// The grammar of patterns for names and values, everywhere in Atalaya:
//   java      exactly this            java*  h?st[0-9]   a glob: * any text, ? any byte, [set], \ escapes the next byte
//   ~^exec.*  a regular expression (RE2's syntax, on bytes, anywhere in the text)    !java*  !~exec     not that
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "plugins/shared/io/match/byte_set.h"

namespace re2 {
class RE2;
}

namespace atalaya::io {

class Matcher {
 public:
  static core::Result<Matcher> parse(std::string_view pattern);

  // Time is linear in the subject. Nothing is allocated, except while a regular expression meets new texts: at most 256 KiB.
  bool matches(std::string_view subject) const { return found(subject) != negated_; }
  bool negated() const { return negated_; }
  // Without metacharacters, not negated: it can match one text only.
  bool exact() const { return kind_ == Kind::exact && !negated_; }
  const std::string &exact_text() const { return text_; }  // if it is exact

 private:
  enum class Kind { exact, prefix, glob, regex };  // prefix: "java*"
  struct Token {
    enum class Type : uint8_t { byte, any, star, set } type;
    char byte;
    uint16_t set;
  };

  Matcher() = default;
  core::Status parse_glob(std::string_view pattern);
  core::Status parse_regex(std::string_view pattern);
  bool found(std::string_view subject) const;
  bool found_glob(std::string_view subject) const;
  bool accepts(const Token &token, char c) const;

  Kind kind_ = Kind::exact;
  bool negated_ = false;
  std::string text_;  // exact, prefix
  std::vector<Token> tokens_;
  std::vector<ByteSet> sets_;
  std::shared_ptr<const re2::RE2> regex_;
};

// A list of patterns: matches any of those without "!" (all texts, if there is none), and none that "!" excludes. So {"a*", "b*"}
// is either, {"!a*", "!b*"} is neither, and {"a*", "!ab*"} is the first without the second.
class MatcherList {
 public:
  MatcherList() = default;
  static core::Result<MatcherList> parse(std::span<const std::string> patterns);

  bool matches(std::string_view subject) const;
  // Whether a missing text passes: only if every pattern is negated.
  bool matches_absent() const { return !any_positive_; }
  bool empty() const { return matchers_.empty(); }

 private:
  std::vector<Matcher> matchers_;
  bool any_positive_ = false;
};

}  // namespace atalaya::io
