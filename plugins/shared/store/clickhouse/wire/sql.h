// SPDX-License-Identifier: Apache-2.0
// Statements for ClickHouse. Input is never part of their text: servers since 19.14 get it as bound parameters,
// older ones as quoted literals.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atalaya::store::clickhouse {

struct ServerVersion {
  int major = 0, minor = 0;
  bool binds() const { return std::pair(major, minor) >= std::pair(19, 14); }
  // Whether the server has the setting async_insert.
  bool collects_inserts() const { return std::pair(major, minor) >= std::pair(21, 11); }
};
// Parses "18.16.1"; nothing for other texts.
std::optional<ServerVersion> server_version(std::string_view text);

// A string literal that means exactly these bytes.
std::string quote(std::string_view text);
// Escapes a text as in ClickHouse's TSV, which is also the form of a parameter's value.
std::string escape(std::string_view text);
// Escapes a text for a URL.
std::string url_encode(std::string_view text);

class Sql {
 public:
  Sql() = default;
  Sql(const char *text) : text_(text) {}  // NOLINT(google-explicit-constructor): a literal of this program

  Sql &operator<<(const char *text) { return text_ += text, *this; }
  Sql &operator<<(int64_t number);
  Sql &operator<<(uint64_t number);
  Sql &operator<<(const Sql &other);
  // Appends a value from outside as a parameter.
  Sql &bind(std::string_view value);

  struct Rendered {
    std::string text;
    std::string parameters;  // "&param_p0=...", for the URL
  };
  Rendered render(ServerVersion version) const;

 private:
  std::string text_;
  std::vector<std::pair<size_t, std::string>> values_;  // positions of values in the text, and the values, in order
};

}  // namespace atalaya::store::clickhouse
