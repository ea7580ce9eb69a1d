// SPDX-License-Identifier: Apache-2.0
#include "core/config/functions/sample_edit.h"

#include <cstring>
#include <exception>

namespace atalaya::core {
namespace {

template <class T>
void erase(T *items, uint32_t &count, uint32_t index) {
  std::memmove(items + index, items + index + 1, (--count - index) * sizeof(T));
}

}  // namespace

// Calls `add`, which adds `bytes` to the batch, if the limit allows it.
template <class Addition>
SampleEdit::Change SampleEdit::spend(size_t bytes, Addition add) noexcept {
  if (bytes > max_bytes_ || batch_->used_bytes() > max_bytes_ - bytes) return Change::too_much;
  try {
    add();
    return Change::done;
  } catch (const std::exception &) {
    return Change::no_room;
  }
}

// Copies the sample's tags before their first change: samples may share an array that the engine did not allocate (capacity 0).
SampleEdit::Change SampleEdit::own_tags(bool add_one) noexcept {
  const uint32_t capacity = sample_->capacity & 0xffffu;
  if (capacity != 0 && (!add_one || sample_->tag_count < capacity)) return Change::done;
  const uint32_t required = sample_->tag_count + 4;
  return spend(required * sizeof(atalaya_tag), [&] { batch_->reserve(*sample_, required, 0); });
}

SampleEdit::Change SampleEdit::own_fields(bool add_one) noexcept {
  const uint32_t capacity = sample_->capacity >> 16;
  if (capacity != 0 && (!add_one || sample_->field_count < capacity)) return Change::done;
  const uint32_t required = sample_->field_count + 8;
  return spend(required * sizeof(atalaya_field), [&] { batch_->reserve(*sample_, 0, required); });
}

SampleEdit::Change SampleEdit::copy(std::string_view text, atalaya_str &to) noexcept {
  return spend(text.size(), [&] { to = batch_->copy(text); });
}

uint32_t SampleEdit::tag_index(uint32_t id) const {
  uint32_t i = 0;
  while (i < sample_->tag_count && sample_->tags[i].key != id) ++i;
  return i;
}

uint32_t SampleEdit::field_index(uint32_t id) const {
  uint32_t i = 0;
  while (i < sample_->field_count && sample_->fields[i].name != id) ++i;
  return i;
}

// Compares type and bits, so that NaN equals itself.
bool SampleEdit::contains(const atalaya_field &field) const {
  const uint32_t i = field_index(field.name);
  return i < sample_->field_count && sample_->fields[i].type == field.type && sample_->fields[i].value.i64 == field.value.i64;
}

SampleEdit::Change SampleEdit::set_tag(uint32_t id, std::string_view value) noexcept {
  const uint32_t i = tag_index(id);
  const bool added = i == sample_->tag_count;
  atalaya_tag tag{id, 0, {}};
  Change change = own_tags(added);
  if (change == Change::done) change = copy(value, tag.value);
  if (change != Change::done) return change;
  sample_->tags[i] = tag;
  if (added) ++sample_->tag_count;
  return Change::done;
}

SampleEdit::Change SampleEdit::set_field(const atalaya_field &field) noexcept {
  const uint32_t i = field_index(field.name);
  const bool added = i == sample_->field_count;
  const Change change = own_fields(added);
  if (change != Change::done) return change;
  sample_->fields[i] = field;
  if (added) ++sample_->field_count;
  return Change::done;
}

SampleEdit::Change SampleEdit::remove_tag(uint32_t id) noexcept {
  const uint32_t i = tag_index(id);
  if (i == sample_->tag_count) return Change::done;
  const Change change = own_tags(false);
  if (change != Change::done) return change;
  erase(sample_->tags, sample_->tag_count, i);
  return Change::done;
}

SampleEdit::Change SampleEdit::remove_field(uint32_t id) noexcept {
  const uint32_t i = field_index(id);
  if (i == sample_->field_count) return Change::done;
  const Change change = own_fields(false);
  if (change != Change::done) return change;
  erase(sample_->fields, sample_->field_count, i);
  return Change::done;
}

SampleEdit::Change SampleEdit::set_text(std::string_view text) noexcept {
  return copy(text, sample_->text);
}

}  // namespace atalaya::core
