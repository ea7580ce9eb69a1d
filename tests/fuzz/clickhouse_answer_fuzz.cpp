// SPDX-License-Identifier: Apache-2.0
// Responses of a server: rows in RowBinary, read whole and piece by piece; its errors; its version.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/clickhouse/wire/client.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace atalaya::store::clickhouse;
  constexpr std::array types = {Type::u8, Type::text, Type::u64, Type::texts, Type::f64s, Type::u8s};
  const std::string_view all(reinterpret_cast<const char *>(data), size);
  std::vector<Cell> row;
  std::string_view rest = all;
  while (!rest.empty()) {
    const std::string_view before = rest;
    if (parse_row(rest, types, row) != Parsed::row) {
      if (rest != before) std::abort();
      break;
    }
    if (row[1].text.size() > before.size() || row[3].texts.size() > before.size()) std::abort();
    // An incomplete row is not returned.
    std::string_view part = before.substr(0, before.size() - rest.size() - 1);
    if (parse_row(part, types, row) == Parsed::row) std::abort();
  }
  // In pieces, whose lengths the input decides, the rows are the same, and no more is kept than came.
  const auto read = [&](size_t piece, std::string &said) {
    size_t rows = 0;
    const RowVisitor count = [&](const std::vector<Cell> &) { return ++rows, true; };
    RowStream stream({types.begin() + 1, types.end()}, count);
    for (std::string_view left = all; !left.empty() && stream.take(left.substr(0, piece));
         left.remove_prefix(std::min(piece, left.size())))
      if (stream.held() > all.size()) std::abort();
    try {
      stream.finish("x");
    } catch (const atalaya::store::Error &error) {
      said = error.what();
    }
    return rows;
  };
  std::string whole;
  std::string pieces;
  if (read(all.size(), whole) != read(size == 0 ? 1 : data[0] % 7U + 1, pieces) || whole.empty() != pieces.empty()) std::abort();
  (void)refusal_of(all);
  (void)server_version(all);
  return 0;
}
