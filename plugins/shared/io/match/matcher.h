// SPDX-License-Identifier: Apache-2.0
// Patterns for names and values, with one syntax in all of Atalaya:
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

  // Needs time linear in the subject. Allocates nothing, except for states of a regular expression (at most 256 KiB).
  bool matches(std::string_view subject) const { return found(subject) != negated_; }
  bool negated() const { return negated_; }
  // Whether the pattern matches exactly one text: it has no metacharacters and is not negated.
  bool exact() const { return kind_ == Kind::exact && !negated_; }
  const std::string &exact_text() const { return text_; }  // call it only if exact()

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
  std::string text_;  // text of an exact pattern, or its prefix
  std::vector<Token> tokens_;
  std::vector<ByteSet> sets_;
  std::shared_ptr<const re2::RE2> regex_;
};

// A list of patterns. A text matches if it matches a pattern without "!", or if all patterns have "!", and no pattern with "!"
// excludes it. {"a*", "b*"}: a or b; {"!a*", "!b*"}: neither; {"a*", "!ab*"}: a, but not ab.
class MatcherList {
 public:
  MatcherList() = default;
  static core::Result<MatcherList> parse(std::span<const std::string> patterns);

  bool matches(std::string_view subject) const;
  // Whether a missing text matches: only if every pattern is negated.
  bool matches_absent() const { return !any_positive_; }
  bool empty() const { return matchers_.empty(); }

 private:
  std::vector<Matcher> matchers_;
  bool any_positive_ = false;
};

}  // namespace atalaya::io
