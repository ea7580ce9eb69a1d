// SPDX-License-Identifier: Apache-2.0
// Changes of a sample by an inline function, up to a limit of bytes. Arrays that samples share are copied before a change.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/sample/batch.h"

namespace atalaya::core {

class SampleEdit {
 public:
  enum class Change { done, no_room, too_much };

  // Starts the changes of a batch, which may use at most `max_bytes`.
  void start(Batch &batch, size_t max_bytes) {
    batch_ = &batch;
    max_bytes_ = max_bytes;
  }
  void select(atalaya_sample &sample) { sample_ = &sample; }  // the sample to change

  uint32_t tag_index(uint32_t id) const;    // tag_count if the tag is missing
  uint32_t field_index(uint32_t id) const;  // field_count if the field is missing
  bool contains(const atalaya_field &field) const;

  Change set_tag(uint32_t id, std::string_view value) noexcept;
  Change set_field(const atalaya_field &field) noexcept;
  Change remove_tag(uint32_t id) noexcept;
  Change remove_field(uint32_t id) noexcept;
  Change set_text(std::string_view text) noexcept;

 private:
  Change own_tags(bool add_one) noexcept;
  Change own_fields(bool add_one) noexcept;
  Change copy(std::string_view text, atalaya_str &to) noexcept;
  template <class Addition>
  Change spend(size_t bytes, Addition add) noexcept;

  Batch *batch_ = nullptr;
  size_t max_bytes_ = 0;
  atalaya_sample *sample_ = nullptr;
};

}  // namespace atalaya::core
