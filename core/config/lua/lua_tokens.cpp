// SPDX-License-Identifier: Apache-2.0
#include "core/config/lua/lua_tokens.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

namespace atalaya::core {
namespace {

using Token = LuaToken;
using Tokens = LuaTokens;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Splits a file that compiles into names, strings and single characters, without comments.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Tokens run() {
    while (at_ < text_.size()) next();
    return std::move(tokens_);
  }

 private:
  char at(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void next() {
    if (std::isspace(static_cast<unsigned char>(at())) != 0) {
      line_ += at() == '\n' ? 1 : 0;
      ++at_;
    } else if (at() == '-' && at(1) == '-') {
      at_ += 2;
      if (!long_bracket()) at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (at() == '"' || at() == '\'') {
      quoted(at());
    } else if (const auto content = long_bracket()) {
      add(Token::Type::string, *content);
    } else if (is_word(at())) {
      const size_t begin = at_;
      while (is_word(at())) ++at_;
      add(Token::Type::name, text_.substr(begin, at_ - begin));
    } else {
      add(Token::Type::other, text_.substr(at_++, 1));
    }
  }

  void quoted(char quote) {
    const size_t begin = ++at_;
    while (at_ < text_.size() && at() != quote) at_ += at() == '\\' ? 2 : 1;
    const std::string_view content = text_.substr(begin, std::min(at_, text_.size()) - begin);
    add(Token::Type::string, content);
    line_ += static_cast<int>(std::count(content.begin(), content.end(), '\n'));
    ++at_;
  }

  // Reads the content of [[...]] or [==[...]==] at the current position and moves after it.
  std::optional<std::string_view> long_bracket() {
    if (at() != '[') return std::nullopt;
    size_t level = 1;
    while (at(level) == '=') ++level;
    if (at(level) != '[') return std::nullopt;
    const std::string end = "]" + std::string(level - 1, '=') + "]";
    const size_t begin = at_ + level + 1;
    const size_t stop = std::min(text_.find(end, begin), text_.size());
    const std::string_view content = text_.substr(begin, stop - begin);
    line_ += static_cast<int>(std::count(content.begin(), content.end(), '\n'));
    at_ = stop + end.size();
    return content;
  }

  void add(Token::Type type, std::string_view text) { tokens_.push_back({type, text, line_}); }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  Tokens tokens_;
};

}  // namespace

LuaTokens lua_tokens(std::string_view text) {
  return Lexer(text).run();
}

bool is(const LuaTokens &tokens, size_t at, std::string_view text) {
  return at < tokens.size() && tokens[at].type != LuaToken::Type::string && tokens[at].text == text;
}

bool is_string(const LuaTokens &tokens, size_t at) {
  return at < tokens.size() && tokens[at].type == LuaToken::Type::string;
}

// The change of nesting at a token: brackets, and blocks of functions and loops.
int nesting(const LuaToken &token) {
  static constexpr std::string_view kOpen[] = {"{", "(", "[", "function", "if", "do", "repeat"};
  static constexpr std::string_view kClose[] = {"}", ")", "]", "end", "until"};
  if (token.type == LuaToken::Type::string) return 0;
  if (std::find(std::begin(kOpen), std::end(kOpen), token.text) != std::end(kOpen)) return 1;
  return std::find(std::begin(kClose), std::end(kClose), token.text) != std::end(kClose) ? -1 : 0;
}

}  // namespace atalaya::core
