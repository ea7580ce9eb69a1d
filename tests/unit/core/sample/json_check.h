// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cctype>
#include <string_view>

#include "core/base/text/safe_text.h"

namespace atalaya::core::testing {

// Whether a text is one value of JSON, strictly: an independent reader of the grammar.
class JsonCheck {
 public:
  static bool valid(std::string_view text) {
    JsonCheck check(text);
    return check.value(0) && check.text_.empty();
  }

 private:
  explicit JsonCheck(std::string_view text) : text_(text) {}

  bool take(std::string_view word) {
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  void blanks() {
    while (!text_.empty() && text_[0] == ' ') text_.remove_prefix(1);
  }
  bool digits() {
    size_t count = 0;
    for (; count < text_.size() && std::isdigit(static_cast<unsigned char>(text_[count])) != 0;) ++count;
    text_.remove_prefix(count);
    return count > 0;
  }
  bool number() {
    take("-");
    if (!take("0") && !digits()) return false;
    if (take(".") && !digits()) return false;
    if (!take("e") && !take("E")) return true;
    if (!take("+")) take("-");
    return digits();
  }
  bool string() {
    if (!take("\"")) return false;
    while (!text_.empty()) {
      if (take("\"")) return true;
      if (take("\\u")) {
        for (int i = 0; i < 4; ++i) {
          if (text_.empty() || std::isxdigit(static_cast<unsigned char>(text_[0])) == 0) return false;
          text_.remove_prefix(1);
        }
      } else if (take("\\")) {
        if (text_.empty() || std::string_view("\"\\/bfnrt").find(text_[0]) == std::string_view::npos) return false;
        text_.remove_prefix(1);
      } else {
        const CodePoint point = first_code_point(text_);
        if (point.size == 0 || point.value < 0x20) return false;
        text_.remove_prefix(point.size);
      }
    }
    return false;
  }
  bool members(bool keys, char close, int depth) {
    const std::string_view end(&close, 1);
    blanks();
    if (take(end)) return true;
    for (;;) {
      blanks();
      if (keys && !string()) return false;
      blanks();
      if (keys && !take(":")) return false;
      if (!value(depth + 1)) return false;
      blanks();
      if (take(end)) return true;
      if (!take(",")) return false;
    }
  }
  bool value(int depth) {
    if (depth > 16) return false;
    blanks();
    if (take("{")) return members(true, '}', depth);
    if (take("[")) return members(false, ']', depth);
    if (text_.starts_with('"')) return string();
    return take("true") || take("false") || take("null") || number();
  }

  std::string_view text_;
};

}  // namespace atalaya::core::testing
