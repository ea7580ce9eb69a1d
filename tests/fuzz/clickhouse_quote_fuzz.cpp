// SPDX-License-Identifier: Apache-2.0
// Texts as literals of ClickHouse, read back: the same bytes, and nothing of them outside the quotes. And literals of strangers.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "plugins/shared/store/clickhouse/wire/sql.h"
#include "tests/fuzz/clickhouse_literal.h"

namespace {

// A reader that knows only how a literal ends: at the first quote that no backslash precedes.
size_t end_of(std::string_view literal) {
  for (size_t i = 1; i < literal.size(); ++i) {
    if (literal[i] == '\\') {
      ++i;
    } else if (literal[i] == '\'') {
      return i + 1;
    }
  }
  return 0;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace atalaya::store::clickhouse;
  using testing::unquote;
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const std::string literal = quote(text);
  if (end_of(literal) != literal.size()) std::abort();
  if (unquote(literal) != text) std::abort();
  for (const char byte : literal)
    if (static_cast<unsigned char>(byte) < 0x20) std::abort();
  (void)unquote(text);

  const std::string escaped = escape(text);
  if (escaped.find_first_of("\t\n") != std::string::npos) std::abort();
  Sql sql("SELECT ");
  sql.bind(text) << ", 1";
  if (sql.render({18, 16}).text != "SELECT " + literal + ", 1") std::abort();
  const Sql::Rendered bound = sql.render({24, 8});
  if (bound.text != "SELECT {p0:String}, 1" || bound.parameters.find_first_of(" '\\#&\n", 1) != std::string::npos) std::abort();
  return 0;
}
