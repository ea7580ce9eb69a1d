// SPDX-License-Identifier: Apache-2.0
// Short ways to make samples in tests.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "core/base/sample/batch.h"
#include "core/base/sample/name_cache.h"
#include "core/base/sample/symbols.h"

namespace atalaya::core::testing {

struct Maker {
  Symbols symbols;
  Batch batch;

  NameOf name_of() {
    return [this](uint32_t id) { return symbols.name(id); };
  }

  using Tags = std::vector<std::pair<std::string_view, std::string_view>>;
  // A five-second window that ends at 1795219532.123456789.
  atalaya_sample &add(uint32_t kind, const Tags &tags, std::string_view text = {}) {
    atalaya_sample &sample = batch.add_sample(kind);
    sample.time_ns = 1'795'219'532'123'456'789;
    sample.duration_ns = 5'000'000'000;
    sample.text = batch.copy(text);
    for (const auto &[key, value] : tags) batch.add_tag(sample, symbols.intern(key), value);
    return sample;
  }
  void field(atalaya_sample &sample, std::string_view name, double value) {
    atalaya_field field{symbols.intern(name), ATALAYA_F64, {}};
    field.value.f64 = value;
    batch.add_field(sample, field);
  }
  void count(atalaya_sample &sample, std::string_view name, int64_t value) {
    atalaya_field field{symbols.intern(name), ATALAYA_I64, {}};
    field.value.i64 = value;
    batch.add_field(sample, field);
  }
};

}  // namespace atalaya::core::testing
