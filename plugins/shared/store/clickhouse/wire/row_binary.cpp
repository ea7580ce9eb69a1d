// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/clickhouse/wire/row_binary.h"

#include <bit>

namespace atalaya::store::clickhouse {
namespace {

static_assert(std::endian::native == std::endian::little);

size_t width_of(Type type) {
  return type == Type::u8 || type == Type::u8s ? 1 : 8;
}

// Reads from the front; the first thing that is not whole or not sound ends it.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  std::string_view rest() const { return rest_; }
  Parsed state() const { return state_; }

  uint64_t number(size_t width) {
    uint64_t value = 0;
    if (has(width)) {
      std::memcpy(&value, rest_.data(), width);
      rest_.remove_prefix(width);
    }
    return value;
  }
  std::string_view text() {
    const uint64_t size = length(kMaxTextLength);
    if (!has(size)) return {};
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return text;
  }
  uint64_t length(uint64_t maximum) {
    uint64_t value = 0;
    for (unsigned shift = 0; has(1); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= uint64_t{byte & 0x7fU} << shift;
      if (value > maximum || shift > 28) state_ = Parsed::damaged;
      if (byte < 0x80) break;
    }
    return state_ == Parsed::row ? value : 0;
  }
  void read(Type type, Cell &cell) {
    cell.texts.clear();
    cell.numbers.clear();
    switch (type) {
      case Type::u8:
      case Type::u64:
      case Type::i64:
      case Type::f64:
        cell.bits = number(width_of(type));
        break;
      case Type::text:
        cell.text = text();
        break;
      case Type::texts:
        for (uint64_t left = length(kMaxArrayLength); left > 0 && state_ == Parsed::row; --left) cell.texts.push_back(text());
        break;
      case Type::u8s:
      case Type::i64s:
      case Type::f64s:
        for (uint64_t left = length(kMaxArrayLength); left > 0 && state_ == Parsed::row; --left)
          cell.numbers.push_back(number(width_of(type)));
        break;
    }
  }

 private:
  bool has(uint64_t size) {
    if (state_ == Parsed::row && rest_.size() < size) state_ = Parsed::incomplete;
    return state_ == Parsed::row;
  }
  std::string_view rest_;
  Parsed state_ = Parsed::row;
};

}  // namespace

void append_length(std::string &out, uint64_t length) {
  for (; length >= 0x80; length >>= 7) out += static_cast<char>(0x80 | (length & 0x7f));
  out += static_cast<char>(length);
}

void append_text(std::string &out, std::string_view text) {
  append_length(out, text.size());
  out += text;
}

Parsed parse_row(std::string_view &bytes, std::span<const Type> types, std::vector<Cell> &row) {
  row.resize(types.size());
  Reader reader(bytes);
  for (size_t i = 0; i < types.size() && reader.state() == Parsed::row; ++i) reader.read(types[i], row[i]);
  if (reader.state() == Parsed::row) bytes = reader.rest();
  return reader.state();
}

}  // namespace atalaya::store::clickhouse
