// SPDX-License-Identifier: Apache-2.0
// Changes of a sample by an inline function. Arrays that others share are copied first, and a limit of bytes holds.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/sample/batch.h"

namespace atalaya::core {

class SampleEdit {
 public:
  enum class Change { done, no_room, too_much };

  // The batch may hold this many bytes from here on.
  void begin(Batch &batch, size_t most_bytes) {
    batch_ = &batch;
    most_bytes_ = most_bytes;
  }
  void show(atalaya_sample &sample) { sample_ = &sample; }

  uint32_t tag_index(uint32_t id) const;    // tag_count if there is none
  uint32_t field_index(uint32_t id) const;  // field_count if there is none
  bool holds(const atalaya_field &field) const;

  Change set_tag(uint32_t id, std::string_view value) noexcept;
  Change set_field(const atalaya_field &field) noexcept;
  Change remove_tag(uint32_t id) noexcept;
  Change remove_field(uint32_t id) noexcept;
  Change set_text(std::string_view text) noexcept;

 private:
  Change own_tags(bool one_more) noexcept;
  Change own_fields(bool one_more) noexcept;
  Change copy(std::string_view text, atalaya_str &to) noexcept;
  template <class Addition>
  Change spend(size_t bytes, Addition add) noexcept;

  Batch *batch_ = nullptr;
  size_t most_bytes_ = 0;
  atalaya_sample *sample_ = nullptr;
};

}  // namespace atalaya::core
