// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/clickhouse/wire/sql.h"

#include <cctype>
#include <charconv>

namespace atalaya::store::clickhouse {
namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

// A byte that may stand for itself between quotes: visible ASCII, and the bytes of UTF-8's longer sequences.
bool is_plain(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  return code >= 0x20 && code != 0x7f && byte != '\'' && byte != '\\';
}

void append_hex(std::string &out, char byte) {
  const auto code = static_cast<unsigned char>(byte);
  out += kHexDigits[code >> 4];
  out += kHexDigits[code & 15];
}

}  // namespace

std::optional<ServerVersion> server_version(std::string_view text) {
  ServerVersion version;
  const char *const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return std::nullopt;
  if (std::from_chars(major.ptr + 1, end, version.minor).ec != std::errc{}) return std::nullopt;
  if (version.major < 0 || version.minor < 0) return std::nullopt;
  return version;
}

std::string quote(std::string_view text) {
  std::string literal = "'";
  for (const char byte : text) {
    if (is_plain(byte)) {
      literal += byte;
    } else if (byte == '\'' || byte == '\\') {
      literal += '\\';
      literal += byte;
    } else {
      literal += "\\x";
      append_hex(literal, byte);
    }
  }
  return literal += '\'';
}

std::string escape(std::string_view text) {
  std::string out;
  for (const char byte : text) {
    if (byte == '\\') {
      out += "\\\\";
    } else if (byte == '\t') {
      out += "\\t";
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\0') {
      out += "\\0";
    } else {
      out += byte;
    }
  }
  return out;
}

std::string url_encode(std::string_view text) {
  std::string out;
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x80 && (std::isalnum(code) != 0 || byte == '-' || byte == '_' || byte == '.')) {
      out += byte;
    } else {
      out += '%';
      append_hex(out, byte);
    }
  }
  return out;
}

Sql &Sql::operator<<(int64_t number) {
  text_ += std::to_string(number);
  return *this;
}

Sql &Sql::operator<<(uint64_t number) {
  text_ += std::to_string(number);
  return *this;
}

Sql &Sql::operator<<(const Sql &other) {
  for (const auto &[place, value] : other.values_) values_.emplace_back(text_.size() + place, value);
  text_ += other.text_;
  return *this;
}

Sql &Sql::bind(std::string_view value) {
  values_.emplace_back(text_.size(), value);
  return *this;
}

Sql::Rendered Sql::render(ServerVersion version) const {
  Rendered rendered;
  size_t done = 0;
  for (size_t i = 0; i < values_.size(); ++i) {
    const auto &[place, value] = values_[i];
    rendered.text.append(text_, done, place - done);
    done = place;
    if (version.binds()) {
      const std::string name = "p" + std::to_string(i);
      rendered.text += "{" + name + ":String}";
      rendered.parameters += "&param_" + name + "=" + url_encode(escape(value));
    } else {
      rendered.text += quote(value);
    }
  }
  rendered.text.append(text_, done);
  return rendered;
}

}  // namespace atalaya::store::clickhouse
