// SPDX-License-Identifier: Apache-2.0
// What a server answers: rows in RowBinary, read whole and piece by piece; its errors; its version.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "plugins/store/clickhouse/client.h"

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
    // Of a part of it there is no row.
    std::string_view part = before.substr(0, before.size() - rest.size() - 1);
    if (parse_row(part, types, row) == Parsed::row) std::abort();
  }
  (void)refusal_of(all);
  (void)server_version(all);
  return 0;
}
