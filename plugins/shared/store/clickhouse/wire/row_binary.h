// SPDX-License-Identifier: Apache-2.0
// ClickHouse's format RowBinary: little-endian numbers, texts and arrays behind a LEB128 length.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace atalaya::store::clickhouse {

template <class T>
void append_number(std::string &out, T value) {
  static_assert(std::is_arithmetic_v<T>);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}
void append_length(std::string &out, uint64_t length);
void append_text(std::string &out, std::string_view text);

enum class Type { u8, u64, i64, f64, text, texts, u8s, i64s, f64s };

// One value of a row. Its members are views of the bytes that were read.
struct Cell {
  uint64_t bits = 0;
  std::string_view text;
  std::vector<std::string_view> texts;
  std::vector<uint64_t> numbers;  // bits of the numbers

  int64_t integer() const { return static_cast<int64_t>(bits); }
  double real() const { return real_of(bits); }
  static double real_of(uint64_t bits) {
    double value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
};

enum class Parsed { row, incomplete, damaged };
// Reads one row from the front of `bytes`, and removes it if it is complete. Rejects a length beyond kMaxTextLength.
Parsed parse_row(std::string_view &bytes, std::span<const Type> types, std::vector<Cell> &row);

constexpr uint64_t kMaxTextLength = uint64_t{16} << 20;
constexpr uint64_t kMaxArrayLength = uint64_t{1} << 16;

}  // namespace atalaya::store::clickhouse
