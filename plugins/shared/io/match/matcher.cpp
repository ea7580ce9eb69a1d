// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/match/matcher.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

namespace atalaya::io {
namespace {

constexpr int64_t kRegexMemory = 256 << 10;  // maximum memory of one expression

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

core::Result<Matcher> Matcher::parse(std::string_view pattern) {
  static constexpr size_t kMaxPattern = 4096;
  const std::string quoted = "pattern \"" + std::string(pattern.substr(0, 80)) + "\"";
  if (pattern.size() > kMaxPattern) return core::Error{quoted + " is longer than 4096 bytes"};
  Matcher matcher;
  std::string_view rest = pattern;
  if (!rest.empty() && rest.front() == '!') {
    matcher.negated_ = true;
    rest.remove_prefix(1);
  }
  if (rest.empty()) return core::Error{quoted + " is empty; write \"*\" for any text"};
  if (rest.front() == '~') {
    if (const core::Status parsed = matcher.parse_regex(rest.substr(1)); !parsed) return core::Error{parsed.error()};
    return matcher;
  }
  if (const core::Status parsed = matcher.parse_glob(rest); !parsed) return core::Error{quoted + ": " + parsed.error()};
  return matcher;
}

core::Status Matcher::parse_regex(std::string_view pattern) {
  re2::RE2::Options options(re2::RE2::Latin1);  // matches bytes, because names need not be UTF-8
  options.set_dot_nl(true);
  options.set_never_capture(true);
  options.set_log_errors(false);
  options.set_max_mem(kRegexMemory);
  regex_ = std::make_shared<const re2::RE2>(piece(pattern), options);
  if (!regex_->ok()) return core::Error{"regular expression \"" + std::string(pattern) + "\": " + regex_->error()};
  kind_ = Kind::regex;
  return core::Done{};
}

core::Status Matcher::parse_glob(std::string_view pattern) {
  using Type = Token::Type;
  for (size_t at = 0; at < pattern.size();) {
    const char c = pattern[at++];
    switch (c) {
      case '*':
        // Successive stars are merged to one.
        if (tokens_.empty() || tokens_.back().type != Type::star) tokens_.push_back({Type::star, 0, 0});
        break;
      case '?':
        tokens_.push_back({Type::any, 0, 0});
        break;
      case '[': {
        ByteSet set;
        at = parse_byte_set(pattern, at, set);
        if (at == std::string_view::npos)
          return core::Error{"[ is not closed or contains a descending range; write \\[ for the character"};
        tokens_.push_back({Type::set, 0, static_cast<uint16_t>(sets_.size())});
        sets_.push_back(set);
        break;
      }
      case '\\':
        if (at == pattern.size()) return core::Error{"\\ at the end; write \\\\ for the character"};
        tokens_.push_back({Type::byte, pattern[at++], 0});
        break;
      default:
        tokens_.push_back({Type::byte, c, 0});
    }
  }
  const auto end = std::find_if(tokens_.begin(), tokens_.end(), [](const Token &token) { return token.type != Type::byte; });
  if (end != tokens_.end()) {
    kind_ = end->type == Type::star && end + 1 == tokens_.end() ? Kind::prefix : Kind::glob;
    if (kind_ == Kind::glob) return core::Done{};
    tokens_.pop_back();
  }
  for (const Token &token : tokens_) text_ += token.byte;
  tokens_.clear();
  return core::Done{};
}

bool Matcher::found(std::string_view subject) const {
  switch (kind_) {
    case Kind::exact:
      return subject == text_;
    case Kind::prefix:
      return subject.starts_with(text_);
    case Kind::glob:
      return found_glob(subject);
    case Kind::regex:
      return regex_->Match(piece(subject), 0, subject.size(), re2::RE2::UNANCHORED, nullptr, 0);
  }
  return false;
}

bool Matcher::accepts(const Token &token, char c) const {
  switch (token.type) {
    case Token::Type::byte:
      return token.byte == c;
    case Token::Type::any:
      return true;
    case Token::Type::set:
      return sets_[token.set].test(static_cast<unsigned char>(c));
    case Token::Type::star:
      return false;
  }
  return false;
}

// Backtracking: after a mismatch the last star matches one more byte; earlier stars need no other attempt.
bool Matcher::found_glob(std::string_view subject) const {
  size_t token = 0, at = 0;
  size_t behind_star = 0, star_end = 0;  // 0: no star yet
  while (at < subject.size()) {
    if (token < tokens_.size() && tokens_[token].type == Token::Type::star) {
      behind_star = ++token;
      star_end = at;
      if (token == tokens_.size()) return true;
    } else if (token < tokens_.size() && accepts(tokens_[token], subject[at])) {
      ++token;
      ++at;
    } else if (behind_star > 0) {
      token = behind_star;
      at = ++star_end;
    } else {
      return false;
    }
  }
  while (token < tokens_.size() && tokens_[token].type == Token::Type::star) ++token;
  return token == tokens_.size();
}

core::Result<MatcherList> MatcherList::parse(std::span<const std::string> patterns) {
  MatcherList list;
  for (const std::string &pattern : patterns) {
    auto matcher = Matcher::parse(pattern);
    if (!matcher) return core::Error{matcher.error()};
    list.any_positive_ |= !matcher->negated();
    list.matchers_.push_back(std::move(*matcher));
  }
  return list;
}

bool MatcherList::matches(std::string_view subject) const {
  bool wanted = !any_positive_;
  for (const Matcher &matcher : matchers_) {
    if (matcher.negated()) {
      if (!matcher.matches(subject)) return false;
    } else {
      wanted = wanted || matcher.matches(subject);
    }
  }
  return wanted;
}

}  // namespace atalaya::io
