// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/rows/row_functions.h"

#include "plugins/shared/store/sqlite/rows/block.h"

namespace atalaya::store {
namespace {

std::string_view text_of(sqlite3_value *value) {
  const auto *text = reinterpret_cast<const char *>(sqlite3_value_text(value));
  return text == nullptr ? std::string_view{} : std::string_view(text, static_cast<size_t>(sqlite3_value_bytes(value)));
}

// No exception may pass through SQLite.
template <int64_t count(BlockReader &samples, sqlite3_value **arguments)>
void answer(sqlite3_context *context, int, sqlite3_value **arguments) {
  try {
    BlockReader samples(text_of(arguments[0]));
    sqlite3_result_int64(context, count(samples, arguments));
  } catch (...) {
    sqlite3_result_error_nomem(context);  // there is no other reason
  }
}

int64_t has_sample(BlockReader &samples, sqlite3_value **arguments) {
  const int64_t entity = sqlite3_value_int64(arguments[1]);
  while (samples.next() && samples.entity() <= entity)
    if (samples.entity() == entity) return 1;
  return 0;
}

int64_t count_samples(BlockReader &samples, sqlite3_value **) {
  int64_t count = 0;
  while (samples.next()) ++count;
  return count;
}

}  // namespace

void add_row_functions(Database &database) {
  database.add_function("has_sample", 2, answer<has_sample>);
  database.add_function("count_samples", 1, answer<count_samples>);
}

}  // namespace atalaya::store
