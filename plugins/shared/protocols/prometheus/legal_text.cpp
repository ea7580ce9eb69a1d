// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/prometheus/legal_text.h"

#include <algorithm>

#include "core/base/text/safe_text.h"
#include "core/base/text/text.h"

namespace atalaya::prometheus {
namespace {

bool is_word(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || core::is_digit(byte) || byte == '_';
}

bool plain(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value < 0x80 && byte != '\n' && byte != '\\' && byte != '"';
}

enum class Escape : uint8_t { all, all_but_quotes, none };

void append_special(std::string &out, char byte, Escape escape) {
  if (escape == Escape::none) {
    out += byte;
  } else if (byte == '\n') {
    out += "\\n";
  } else if (byte == '\\') {
    out += "\\\\";
  } else {
    out += escape == Escape::all ? "\\\"" : "\"";
  }
}

void append_text(std::string &out, std::string_view text, Escape escape) {
  while (!text.empty()) {
    const auto run = static_cast<size_t>(std::find_if_not(text.begin(), text.end(), plain) - text.begin());
    out.append(text.substr(0, run));
    text.remove_prefix(run);
    if (text.empty()) break;
    const core::CodePoint point = core::first_code_point(text);
    if (point.size == 1) {
      append_special(out, text[0], escape);
    } else {
      out += point.size == 0 ? core::kReplacement : text.substr(0, point.size);
    }
    text.remove_prefix(std::max<size_t>(point.size, 1));
  }
}

}  // namespace

std::string legal_metric(std::string_view name) {
  std::string legal(name);
  for (char &byte : legal)
    if (!is_word(byte)) byte = '_';
  if (legal.empty() || core::is_digit(legal[0])) legal.insert(legal.begin(), '_');
  return legal;
}

std::string legal_label(std::string_view name) {
  std::string legal = legal_metric(name);
  while (legal.starts_with("__")) legal.erase(legal.begin());
  return legal;
}

void append_escaped(std::string &out, std::string_view text) {
  append_text(out, text, Escape::all);
}

void append_help(std::string &out, std::string_view text) {
  append_text(out, text, Escape::all_but_quotes);
}

void append_utf8(std::string &out, std::string_view text) {
  append_text(out, text, Escape::none);
}

}  // namespace atalaya::prometheus
