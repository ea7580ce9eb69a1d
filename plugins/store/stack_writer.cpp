// SPDX-License-Identifier: Apache-2.0
#include "plugins/store/stack_writer.h"

#include <algorithm>

#include "core/sample/json.h"

namespace atalaya::store {

StackWriter::StackWriter(Database &database)
    : put_(database,
           "INSERT INTO stacks(window, entity, field, numbers) VALUES(?1, ?2, ?3, ?4) "
           "ON CONFLICT DO UPDATE SET numbers = json_patch(numbers, excluded.numbers)"),
      remove_(database, "UPDATE stacks SET numbers = json_patch(numbers, ?3) WHERE window = ?1 AND entity = ?2") {}

void StackWriter::add(int64_t window, int64_t entity, int64_t stack, std::string_view fields) {
  for (FieldReader reader(fields); reader.next();) rows_[{window, entity, reader.metric()}].emplace_back(stack, reader.value());
}

void StackWriter::remove(int64_t window, int64_t entity, int64_t stack) {
  flush();
  remove_.run(window, entity, std::string_view("{\"" + std::to_string(stack) + "\":null}"));
}

void StackWriter::flush() {
  for (auto &[key, numbers] : rows_) {
    render(numbers);
    put_.run(key.window, key.entity, key.field, std::string_view(text_));
  }
  rows_.clear();
}

void StackWriter::render(Numbers &numbers) {
  std::stable_sort(numbers.begin(), numbers.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  text_ = '{';
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto &[stack, number] = numbers[i];
    if (i + 1 < numbers.size() && numbers[i + 1].first == stack) continue;
    text_ += text_.size() > 1 ? ",\"" : "\"";
    core::append_integer(text_, stack);
    text_ += "\":";
    if (number.is_count) {
      core::append_integer(text_, number.count);
    } else {
      core::append_real(text_, number.real);
    }
  }
  text_ += '}';
}

}  // namespace atalaya::store
